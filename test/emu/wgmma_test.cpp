// wgmma: products of a warpgroup, their groups, and registers that are in flight.
#include <bit>
#include <cmath>

#include "emu/mma/fragment.h"
#include "emu/tensor_fixture.h"

namespace cohort::emu::test {
namespace {

constexpr uint32_t kBaseB = 16384;

uint32_t f32_code(int v) { return std::bit_cast<uint32_t>(static_cast<float>(v)); }
uint32_t bf16(int v) { return f32_code(v) >> 16; }
uint32_t f16(int v) {
  if (v == 0) return 0;
  const auto m = static_cast<uint32_t>(std::abs(v));
  const auto e = static_cast<uint32_t>(std::bit_width(m)) - 1;
  return (v < 0 ? 0x8000u : 0) | (e + 15) << 10 | ((m << (10 - e)) & 0x3FF);
}
uint32_t e5m2(int v) { return f16(v) >> 8; }
uint32_t byte(int v) { return static_cast<uint8_t>(v); }
uint32_t s32(int v) { return static_cast<uint32_t>(v); }

int a_value(uint32_t m, uint32_t k) { return static_cast<int>((m * 7 + k * 3) % 4) - 1; }
int b_value(uint32_t k, uint32_t n) { return static_cast<int>((k * 5 + n * 2 + k * n) % 4) - 1; }
int product(uint32_t m, uint32_t n, uint32_t length) {
  int sum = 0;
  for (uint32_t k = 0; k < length; ++k) sum += a_value(m, k) * b_value(k, n);
  return sum;
}

struct Case {
  std::string types;  // ".f32.bf16.bf16"
  uint32_t k = 16;
  uint32_t bytes = 2;
  uint32_t (*code)(int) = bf16;
  std::string flags = ", 1, 1, 0, 0";
  bool half = false;
  bool transposed = false;  // B
};
constexpr uint32_t kN = 64;

// K-major lines of 128 bytes, swizzled; or MN-major, whose lines of 128 bytes are k.
uint32_t place(uint32_t base, uint32_t line, uint32_t k, uint32_t bytes, bool transposed) {
  const uint32_t at = transposed ? base + line * bytes % 128 + line * bytes / 128 * 4096 + k * 128
                                 : base + line * 128 + k * bytes;
  return at ^ (at >> 7 & 7) << 4;
}

std::vector<uint32_t> image_of(const Case& c) {
  std::vector<uint32_t> words(32768 / 4);
  const auto put = [&](uint32_t at, uint32_t code) {
    for (uint32_t i = 0; i < c.bytes; ++i) {
      words[(at + i) / 4] |= (code >> (8 * i) & 255) << (8 * ((at + i) % 4));
    }
  };
  for (uint32_t line = 0; line < 64; ++line) {
    for (uint32_t k = 0; k < c.k; ++k) {
      put(place(0, line, k, c.bytes, false), c.code(a_value(line, k)));
      put(place(kBaseB, line, k, c.bytes, c.transposed), c.code(b_value(k, line)));
    }
  }
  return words;
}

// 128 threads copy the image; %d0 and %d1 are descriptors of A and B: 128 byte swizzle.
std::string kernel(const std::string& code) {
  return ".version 8.4\n.target sm_90a\n.address_size 64\n"
         ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n"
         ".shared .align 1024 .b8 s[32768];\n.reg .b32 %i, %s, %r<100>;\n"
         ".reg .b64 %in, %out, %to, %d<8>;\n.reg .pred %p, %u<2>;\n"
         "ld.param.u64 %in, [in];\nld.param.u64 %out, [out];\nmov.u32 %i, %tid.x;\n"
         "mad.wide.u32 %to, %i, 512, %out;\nmov.u32 %s, s;\nmov.u32 %r90, 0;\nCOPY:\n"
         "mad.lo.u32 %r91, %r90, 2048, 0;\nmad.lo.u32 %r91, %i, 16, %r91;\n"
         "cvt.u64.u32 %d2, %r91;\nadd.u64 %d2, %d2, %in;\n"
         "ld.global.v4.u32 {%r92, %r93, %r94, %r95}, [%d2];\nadd.u32 %r96, %s, %r91;\n"
         "st.shared.v4.u32 [%r96], {%r92, %r93, %r94, %r95};\nadd.u32 %r90, %r90, 1;\n"
         "setp.lt.u32 %p, %r90, 16;\n@%p bra COPY;\nfence.proxy.async.shared::cta;\nbar.sync 0;\n"
         "shr.u32 %r90, %s, 4;\ncvt.u64.u32 %d0, %r90;\nadd.u64 %d0, %d0, 0x4000004000010000;\n"
         "add.u64 %d1, %d0, " +
         std::to_string(kBaseB / 16) +
         ";\n"
         "setp.ne.u32 %u0, %i, %i;\nsetp.eq.u32 %u1, %i, %i;\n" +
         code + "ret;\n}\n";
}

uint32_t registers_of(const Case& c) { return c.half ? kN / 4 : kN / 2; }

std::string multiply(const Case& c, const std::string& scale_d, const std::string& a = "%d0") {
  return "wgmma.mma_async.sync.aligned.m64n64k" + std::to_string(c.k) + c.types + " " +
         registers(0, registers_of(c)) + ", " + a + ", %d1, " + scale_d + c.flags + ";\n";
}
const std::string kFence = "wgmma.fence.sync.aligned;\n";
const std::string kCommit = "wgmma.commit_group.sync.aligned;\n";
const std::string kWait = "wgmma.wait_group.sync.aligned 0;\n";

void check(const Case& c, const std::string& code, uint32_t (*result)(int), int times = 1) {
  SCOPED_TRACE(c.types);
  for (const ScheduleSpec& s : some_schedules()) {
    TensorOptions o;
    o.schedule = s;
    const auto r = run_tensor(kernel(code + store_words(0, registers_of(c))), image_of(c), o);
    ASSERT_TRUE(r.completed) << r.text();
    EXPECT_TRUE(r.faults.empty()) << r.text();
    for (uint32_t thread = 0; thread < 128; ++thread) {
      for (uint32_t e = 0; e < kN / 2; ++e) {
        const Place p = fragment_c(thread % 32, e);
        const int want = times * product(thread / 32 * 16 + p.row, p.column, c.k);
        const uint32_t word = r.out[thread * 128 + (c.half ? e / 2 : e)];
        const uint32_t got = c.half ? word >> (16 * (e % 2)) & 0xFFFF : word;
        ASSERT_EQ(got, result(want)) << thread << " " << e;
      }
    }
  }
}

std::string whole(const Case& c) { return kFence + multiply(c, "%u0") + kCommit + kWait; }

TEST(Wgmma, MultipliesExactNumbers) {
  const Case bf{.types = ".f32.bf16.bf16"};
  check(bf, whole(bf), f32_code);
  const Case half{.types = ".f16.f16.f16", .code = f16, .half = true};
  check(half, whole(half), f16);
  const Case tf{.types = ".f32.tf32.tf32", .k = 8, .bytes = 4, .code = f32_code, .flags = ", 1, 1"};
  check(tf, whole(tf), f32_code);
  const Case fp8{.types = ".f32.e5m2.e5m2", .k = 32, .bytes = 1, .code = e5m2, .flags = ", 1, 1"};
  check(fp8, whole(fp8), f32_code);
  const Case s8{.types = ".s32.s8.s8", .k = 32, .bytes = 1, .code = byte, .flags = ""};
  check(s8, whole(s8), s32);
}

TEST(Wgmma, AddsNegatesAndTransposes) {
  Case c{.types = ".f32.bf16.bf16"};
  // Products on one accumulator need no wait between them.
  check(c,
        kFence + multiply(c, "%u0") + multiply(c, "%u1") + kCommit + multiply(c, "1") + kCommit +
            kWait,
        f32_code, 3);
  c.flags = ", -1, 1, 0, 0";
  check(c, whole(c), f32_code, -1);
  c.flags = ", 1, 1, 0, 1";
  c.transposed = true;
  check(c, whole(c), f32_code);
}

TEST(Wgmma, TakesAFromRegisters) {
  Case c{.types = ".f32.bf16.bf16"};
  c.flags = ", 1, 1, 0";
  // Register r of a lane: row lane / 4 + 8 (r % 2) of its warp, bytes 4 (lane % 4) + 16 (r / 2).
  std::string load =
      "and.b32 %r90, %i, 31;\nshr.u32 %r91, %r90, 2;\nand.b32 %r90, %r90, 3;\n"
      "shr.u32 %r92, %i, 5;\nmad.lo.u32 %r91, %r92, 16, %r91;\n"
      "mad.lo.u32 %r93, %r91, 128, %s;\nand.b32 %r94, %r91, 7;\n"
      "shl.b32 %r94, %r94, 4;\nmad.lo.u32 %r93, %r90, 4, %r93;\n"
      "xor.b32 %r95, %r93, %r94;\nld.shared.u32 %r80, [%r95];\n"
      "ld.shared.u32 %r81, [%r95+1024];\nadd.u32 %r93, %r93, 16;\n"
      "xor.b32 %r95, %r93, %r94;\nld.shared.u32 %r82, [%r95];\n"
      "ld.shared.u32 %r83, [%r95+1024];\n";
  check(c, load + kFence + multiply(c, "%u0", "{%r80, %r81, %r82, %r83}") + kCommit + kWait,
        f32_code);
}

TEST(Wgmma, RegistersInFlightAreNotToBeTouched) {
  const Case c{.types = ".f32.bf16.bf16"};
  const auto run = [&](const std::string& code) { return run_tensor(kernel(code), image_of(c)); };
  const std::string use = "st.global.u32 [%to], %r3;\n";
  EXPECT_FALSE(run(whole(c) + use).has(FaultCode::product_register));
  const auto early = run(kFence + multiply(c, "%u0") + kCommit + use + kWait);
  EXPECT_TRUE(early.has(FaultCode::product_register)) << early.text();
  // One group may stay open: that is the later one.
  const std::string second = [&] {
    std::string m = multiply(c, "%u0");
    return m.replace(m.find(registers(0, 32)), registers(0, 32).size(), registers(40, 32));
  }();
  const std::string two = kFence + multiply(c, "%u0") + kCommit + second + kCommit +
                          "wgmma.wait_group.sync.aligned 1;\n";
  EXPECT_FALSE(run(two + use + kWait).has(FaultCode::product_register));
  EXPECT_TRUE(run(two + "st.global.u32 [%to], %r41;\n" + kWait).has(FaultCode::product_register));
}

TEST(Wgmma, MisuseIsReported) {
  const Case c{.types = ".f32.bf16.bf16"};
  const auto run = [&](const std::string& text) { return run_tensor(text, image_of(c)); };
  EXPECT_TRUE(run(kernel(multiply(c, "%u0") + kCommit + kWait)).has(FaultCode::misuse));
  const auto bits = run(kernel("or.b64 %d0, %d0, 0x4000;\n" + whole(c)));
  EXPECT_TRUE(bits.has(FaultCode::descriptor)) << bits.text();
  std::string proxy = kernel(whole(c));
  const std::string fence = "fence.proxy.async.shared::cta;\n";
  EXPECT_TRUE(run(proxy.erase(proxy.find(fence), fence.size())).has(FaultCode::proxy));
  // The operands overwritten before the product has read them.
  const std::string over = "st.shared.u32 [%s], %i;\n";
  EXPECT_FALSE(run(kernel(whole(c) + "bar.sync 0;\n@%u0 " + over)).has(FaultCode::incomplete));
  const auto early = run(kernel(kFence + multiply(c, "%u0") + kCommit + over + kWait));
  EXPECT_TRUE(early.has(FaultCode::incomplete) || early.has(FaultCode::race)) << early.text();
}

}  // namespace
}  // namespace cohort::emu::test
