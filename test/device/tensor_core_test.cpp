// The model of a tensor core's sum against a Hopper chip, on random operands.
#include "device/tensor_core.h"

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "emu/mma/fused_dot.h"

namespace cohort::device {
namespace {

using emu::Accumulator;
using emu::DotRule;
using emu::Element;
using emu::Exact;

struct Kind {
  const char* name;
  MmaType type;
  Element a;
  Element b;
  Accumulator accumulator;
};

void PrintTo(const Kind& k, std::ostream* out) { *out << k.name; }

class TensorCore : public testing::TestWithParam<Kind> {};

// Codes whose exponents spread over 2 * spread + 1 values around 1; `wild`: any codes.
void fill(std::vector<uint8_t>& bytes, size_t begin, size_t end, Element type, int spread,
          bool wild, std::mt19937& random) {
  const size_t size = static_cast<size_t>(emu::bits_of(type)) / 8;
  const auto exponent_of = [&](uint32_t code) { return emu::decode(type, code).exponent; };
  for (size_t at = begin; at < end; at += size) {
    uint32_t code = 0;
    do {
      code = static_cast<uint32_t>(random());
    } while (!wild && random() % 16 != 0 &&
             (exponent_of(code) < -spread || exponent_of(code) > spread ||
              emu::decode(type, code).kind != Exact::Kind::number));
    std::memcpy(bytes.data() + at, &code, size);
  }
}

std::vector<Exact> row(const uint8_t* bytes, Element type) {
  const size_t size = static_cast<size_t>(emu::bits_of(type)) / 8;
  std::vector<Exact> out;
  for (size_t at = 0; at < kRowBytes; at += size) {
    uint32_t code = 0;
    std::memcpy(&code, bytes + at, size);
    out.push_back(emu::decode(type, code));
  }
  return out;
}

TEST_P(TensorCore, GivesTheBitsOfTheModel) {
  char name[256];
  if (!has_hopper(name, sizeof name)) GTEST_SKIP() << "needs a GPU of compute capability 9.0";
  RecordProperty("device", name);
  const Kind& kind = GetParam();
  constexpr int kBlocks = 192;
  constexpr size_t kA = size_t{kRows} * kRowBytes;
  constexpr size_t kB = size_t{kColumns} * kRowBytes;
  constexpr size_t kC = size_t{kRows} * kColumns;
  std::vector<uint8_t> a(kBlocks * kA);
  std::vector<uint8_t> b(kBlocks * kB);
  std::vector<uint32_t> c(kBlocks * kC);
  std::mt19937 random(20261130);
  const bool half = kind.accumulator == Accumulator::f16;
  for (size_t i = 0; i < kBlocks; ++i) {
    const int spread = static_cast<int>(i % 8) * 2;
    const bool wild = i % 12 == 11;
    fill(a, i * kA, (i + 1) * kA, kind.a, spread, wild, random);
    fill(b, i * kB, (i + 1) * kB, kind.b, spread, wild, random);
    for (size_t j = i * kC; j < (i + 1) * kC; ++j) {
      const auto x = static_cast<uint32_t>(random());
      const uint32_t near = half ? (x & 0x83FF) | (11 + x / 65536 % 9) << 10
                                 : (x & 0x807FFFFF) | (117 + static_cast<uint32_t>(random()) % 21)
                                                          << 23;
      c[j] = i % 3 == 0 ? 0 : wild ? (half ? x & 0xFFFF : x) : near;
    }
  }
  std::vector<uint32_t> wgmma(c.size());
  std::vector<uint32_t> mma(c.size());
  const char* failure =
      run_mma(kind.type, kBlocks, a.data(), b.data(), c.data(), wgmma.data(), mma.data());
  ASSERT_EQ(failure, nullptr) << failure;

  const bool is_fp8 = emu::bits_of(kind.a) == 8;
  const DotRule& rule = is_fp8 ? (half ? emu::kHopperFp8F16 : emu::kHopperFp8)
                        : half ? emu::kDotF16
                               : emu::kDotF32;
  for (size_t i = 0; i < c.size(); ++i) {
    const size_t block = i / kC;
    const std::vector<Exact> x = row(a.data() + block * kA + i % kC / kColumns * kRowBytes, kind.a);
    const std::vector<Exact> y = row(b.data() + block * kB + i % kColumns * kRowBytes, kind.b);
    const uint32_t sum = emu::fused_dot(x, y, c[i], rule);
    ASSERT_EQ(wgmma[i], sum) << "wgmma, block " << block << ", element " << i % kC;
    if (is_fp8) {
      ASSERT_EQ(mma[i], emu::hopper_fp8_mma(std::span<const Exact, 32>(x),
                                            std::span<const Exact, 32>(y), c[i], kind.accumulator))
          << "mma.sync, block " << block << ", element " << i % kC;
    } else {
      ASSERT_EQ(mma[i], sum) << "mma.sync, block " << block << ", element " << i % kC;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Hopper, TensorCore,
    testing::Values(
        Kind{"bf16", MmaType::bf16, Element::bf16, Element::bf16, Accumulator::f32},
        Kind{"f16", MmaType::f16, Element::f16, Element::f16, Accumulator::f32},
        Kind{"f16_f16", MmaType::f16_f16, Element::f16, Element::f16, Accumulator::f16},
        Kind{"tf32", MmaType::tf32, Element::tf32, Element::tf32, Accumulator::f32},
        Kind{"e4m3", MmaType::e4m3, Element::e4m3, Element::e4m3, Accumulator::f32},
        Kind{"e5m2", MmaType::e5m2, Element::e5m2, Element::e5m2, Accumulator::f32},
        Kind{"e4m3_e5m2", MmaType::e4m3_e5m2, Element::e4m3, Element::e5m2, Accumulator::f32},
        Kind{"e5m2_e4m3", MmaType::e5m2_e4m3, Element::e5m2, Element::e4m3, Accumulator::f32},
        Kind{"e4m3_f16", MmaType::e4m3_f16, Element::e4m3, Element::e4m3, Accumulator::f16},
        Kind{"e5m2_f16", MmaType::e5m2_f16, Element::e5m2, Element::e5m2, Accumulator::f16}),
    [](const auto& kind) { return std::string(kind.param.name); });

}  // namespace
}  // namespace cohort::device
