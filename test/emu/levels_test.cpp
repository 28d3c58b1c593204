// The levels v1, v3 and v4 compute the same bits.
#include <random>

#include "base/isa_level.h"
#include "emu/fixture.h"
#include "emu/insn/table.h"

namespace cohort::emu::test {
namespace {

std::vector<In> numbers() {
  std::mt19937_64 random(21);
  std::vector<In> in;
  const uint64_t specials[] = {0,          0x80000000, 1,          0x7F800000, 0xFF800000,
                               0x7FC00000, 0x00800000, 0x7F7FFFFF, 0x3F800000, 0xFFC00001};
  for (const uint64_t a : specials) {
    for (const uint64_t b : specials) {
      in.push_back({a << 32 | b, b << 32 | a, (a ^ b) << 32 | (a & b)});
    }
  }
  while (in.size() < 960) {
    // Exponents close to each other, or anything.
    const uint64_t e = random() % 2 == 0 ? 0 : 0x3F0000003F000000;
    const uint64_t mask = e == 0 ? ~uint64_t{0} : 0x80FFFFFF80FFFFFF;
    in.push_back({(random() & mask) ^ e, (random() & mask) ^ e, (random() & mask) ^ e});
  }
  return in;
}

struct Case {
  const char* code;
  const char* d;
  const char* s;
};

constexpr Case kCases[] = {
    {"add.f32 %d, %a, %b;", "b32", "b32"},
    {"mul.ftz.f32 %d, %a, %b;", "b32", "b32"},
    {"fma.rn.f32 %d, %a, %b, %c;", "b32", "b32"},
    {"fma.rz.f32 %d, %a, %b, %c;", "b32", "b32"},
    {"fma.rn.ftz.f32 %d, %a, %b, %c;", "b32", "b32"},
    {"fma.rn.f32x2 %d, %a, %b, %c;", "b64", "b64"},
    {"min.f32 %d, %a, %b;", "b32", "b32"},
    {"max.NaN.f32 %d, %a, %b;", "b32", "b32"},
    {"add.f64 %d, %a, %b;", "b64", "b64"},
    {"fma.rn.f64 %d, %a, %b, %c;", "b64", "b64"},
    {"mul.rp.f64 %d, %a, %b;", "b64", "b64"},
    {"cvt.rn.bf16x2.f32 %d, %a, %b;", "b32", "b32"},
    {"cvt.rn.f16x2.f32 %d, %a, %b;", "b32", "b32"},
    {"cvt.rn.f32.u32 %d, %a;", "b32", "b32"},
    {"cvt.rzi.s32.f32 %d, %a;", "b32", "b32"},
    {"cvt.rm.f32.f64 %d, %a;", "b32", "b64"},
    {"fma.rn.f16x2 %d, %a, %b, %c;", "b32", "b32"},
    {"fma.rn.bf16x2 %d, %a, %b, %c;", "b32", "b32"},
    {"mad.lo.u64 %d, %a, %b, %c;", "b64", "b64"},
    {"shr.s64 %d, %a, 9;", "b64", "b64"},
    {"popc.b64 %i, %a;\nmov.b32 %d, %i;", "b32", "b64"},
    {"setp.ltu.f32 %p, %a, %b;\nselp.b32 %d, %a, %b, %p;", "b32", "b32"},
    {"setp.lt.s64 %p, %a, %b;\nselp.b64 %d, %a, %b, %p;", "b64", "b64"},
    {"lop3.b32 %d, %a, %b, %c, 0x1B;", "b32", "b32"},
};

std::vector<std::vector<uint64_t>> all_results(const Families& families) {
  const Table table(families);
  table_in_use() = &table;
  std::vector<std::vector<uint64_t>> results;
  for (const Case& c : kCases) results.push_back(apply(c.code, {c.d, c.s, c.s, c.s}, numbers()));
  table_in_use() = nullptr;
  return results;
}

TEST(Levels, ComputeTheSameBits) {
  if (base::isa_level() == base::IsaLevel::v1) GTEST_SKIP() << "this processor has level v1 alone";
  const auto one = all_results(v1::kFamilies);
  const auto compare = [&](const Families& families) {
    const auto other = all_results(families);
    for (size_t i = 0; i < one.size(); ++i) EXPECT_EQ(one[i], other[i]) << kCases[i].code;
  };
  compare(v3::kFamilies);
  if (base::isa_level() == base::IsaLevel::v4) compare(v4::kFamilies);
}

}  // namespace
}  // namespace cohort::emu::test
