// The model of a tensor core's sum: by hand, and against what an H200 gave.
#include "emu/mma/fused_dot.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace cohort::emu {
namespace {

Exact f32(float x) { return decode(Element::f32, std::bit_cast<uint32_t>(x)); }

// Operands are f32 here, so that a test can say what it means; products have 48 bits.
float dot(std::vector<float> a, std::vector<float> b, float c, DotRule rule = kDotF32) {
  std::vector<Exact> x;
  std::vector<Exact> y;
  for (float v : a) x.push_back(f32(v));
  for (float v : b) y.push_back(f32(v));
  return std::bit_cast<float>(fused_dot(x, y, std::bit_cast<uint32_t>(c), rule));
}

TEST(FusedDot, SmallIntegersAreExact) {
  EXPECT_EQ(dot({1, 2, -3, 4}, {5, 6, 7, -8}, 100), 100 + 5 + 12 - 21 - 32);
  EXPECT_EQ(dot({0, 0}, {1, 2}, 0), 0);
  EXPECT_EQ(dot({1, 1}, {7, -7}, 0), 0);
  EXPECT_FALSE(std::signbit(dot({-1}, {0}, -0.0f))) << "a sum of zeros is +0";
}

TEST(FusedDot, AddendsAreCutTwentyFiveBitsBelowTheLargest) {
  EXPECT_EQ(dot({1, 0x1p-23f}, {1, 1}, 0), 1 + 0x1p-23f);
  // Two bits below the last place of the result are added, though they are not kept by themselves.
  EXPECT_EQ(dot({1, 0x1p-24f, 0x1p-24f}, {1, 1, 1}, 0), 1 + 0x1p-23f);
  EXPECT_EQ(dot({1, 0x1p-25f, 0x1p-25f, 0x1p-25f, 0x1p-25f}, {1, 1, 1, 1, 1}, 0), 1 + 0x1p-23f);
  EXPECT_EQ(dot({1, 0x1.8p-25f, 0x1.8p-25f}, {1, 1, 1}, 0), 1);
  EXPECT_EQ(dot({1, 0x1p-26f, 0x1p-26f, 0x1p-26f, 0x1p-26f, 0x1p-26f, 0x1p-26f, 0x1p-26f, 0x1p-26f},
                {1, 1, 1, 1, 1, 1, 1, 1, 1}, 0),
            1);
}

TEST(FusedDot, TowardZeroInBothSigns) {
  EXPECT_EQ(dot({1, 0x1.8p-24f}, {1, 1}, 0), 1);
  EXPECT_EQ(dot({-1, -0x1.8p-24f}, {1, 1}, 0), -1);
  EXPECT_EQ(dot({1, -0x1p-24f}, {1, 1}, 0), 1 - 0x1p-24f) << "a place below 1 is half as large";
}

// 1.5 * 1.5 = 2.25 counts as 2^0 when places are cut, not as 2^1.
TEST(FusedDot, ExponentsOfProductsAreNotNormalised) {
  EXPECT_EQ(dot({1.5f, 0x1p-24f, 0x1p-25f, 0x1p-25f, 0x1p-23f}, {1.5f, 1, 1, 1, 1}, 0),
            2.25f + 0x1p-22f);
}

TEST(FusedDot, TheAccumulatorTakesPart) {
  EXPECT_EQ(dot({0x1p-30f}, {1}, 1), 1);
  EXPECT_EQ(dot({1}, {1}, 0x1p-25f), 1);
  EXPECT_EQ(dot({0x1p-70f}, {0x1p-70f}, std::bit_cast<float>(5U)), std::bit_cast<float>(517U));
  EXPECT_EQ(dot({0x1p-80f}, {0x1p-80f}, std::bit_cast<float>(5U)), std::bit_cast<float>(5U));
}

TEST(FusedDot, ResultsOfSpecialOperands) {
  const float inf = INFINITY;
  const auto bits = [](float x) { return std::bit_cast<uint32_t>(x); };
  EXPECT_EQ(dot({inf, 1}, {2, 3}, 1), inf);
  EXPECT_EQ(dot({inf, 1}, {-2, 3}, 1), -inf);
  EXPECT_EQ(bits(dot({inf, inf}, {1, -1}, 0)), 0x7FFFFFFFU);
  EXPECT_EQ(bits(dot({inf}, {0}, 0)), 0x7FFFFFFFU);
  EXPECT_EQ(bits(dot({1}, {1}, -NAN)), 0x7FFFFFFFU);
  EXPECT_EQ(bits(dot({inf}, {1}, -inf)), 0x7FFFFFFFU);
}

TEST(FusedDot, ScalesAreExponents) {
  const std::array a{f32(3)};
  const std::array b{f32(5)};
  const auto scaled = [&](BlockScale s) {
    return std::bit_cast<float>(fused_dot(a, b, std::bit_cast<uint32_t>(1.0f), kDotF32, s));
  };
  EXPECT_EQ(scaled({.exponent = 4}), 241);
  EXPECT_EQ(scaled({.exponent = -2}), 4.75f);
  EXPECT_TRUE(std::isnan(scaled({.not_a_number = true})));
}

TEST(FusedDot, HalfAccumulatorsRoundToNearestEven) {
  const std::array a{decode(Element::f16, 0x3C00), decode(Element::f16, 0x1000)};  // 1, 2^-11
  const std::array one{decode(Element::f16, 0x3C00), decode(Element::f16, 0x3C00)};
  EXPECT_EQ(fused_dot(a, one, 0, kDotF16), 0x3C00U) << "a tie goes to even";
  EXPECT_EQ(fused_dot(a, one, 0x0001, kDotF16), 0x3C01U);
  EXPECT_EQ(fused_dot(one, one, 0x7BFF, kDotF16), 0x7BFFU);
  const std::array large{decode(Element::f16, 0x5800)};  // 128
  EXPECT_EQ(fused_dot(large, large, 0x7BFF, kDotF16), 0x7C00U) << "past the largest: infinity";
}

// What a chip gave. A file: blocks of A (8 rows of 32 bytes), B (8 columns of 32 bytes), C, D of
// wgmma and D of mma.sync (8 by 8 words each).
struct Chip {
  const char* file;
  Element a;
  Element b;
  Accumulator accumulator;
};

std::vector<Exact> elements(const uint8_t* row, Element type) {
  constexpr size_t kRow = 32;
  const size_t bytes = static_cast<size_t>(bits_of(type)) / 8;
  std::vector<Exact> out;
  for (size_t at = 0; at < kRow; at += bytes) {
    uint32_t code = 0;
    std::memcpy(&code, row + at, bytes);
    out.push_back(decode(type, code));
  }
  return out;
}

void PrintTo(const Chip& chip, std::ostream* out) { *out << chip.file; }

class OnTheChip : public testing::TestWithParam<Chip> {};

TEST_P(OnTheChip, EveryBitIsEqual) {
  const Chip& chip = GetParam();
  std::ifstream in(std::string(COHORT_TEST_DATA) + "/tensor_core/" + chip.file + ".bin",
                   std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(in), {}};
  struct Block {
    uint8_t a[8][32];
    uint8_t b[8][32];
    uint32_t c[8][8];
    uint32_t wgmma[8][8];
    uint32_t mma[8][8];
  };
  ASSERT_EQ(bytes.size(), 32 * sizeof(Block));
  const bool half = chip.accumulator == Accumulator::f16;
  const bool is_fp8 = bits_of(chip.a) == 8;
  const DotRule rule = is_fp8 ? (half ? kHopperFp8F16 : kHopperFp8) : half ? kDotF16 : kDotF32;
  for (size_t at = 0; at < bytes.size(); at += sizeof(Block)) {
    Block block;
    std::memcpy(&block, bytes.data() + at, sizeof block);
    for (int m = 0; m < 8; ++m) {
      for (int n = 0; n < 8; ++n) {
        const std::vector<Exact> a = elements(block.a[m], chip.a);
        const std::vector<Exact> b = elements(block.b[n], chip.b);
        const uint32_t c = half ? block.c[m][n] & 0xFFFF : block.c[m][n];
        const uint32_t got = fused_dot(a, b, c, rule);
        ASSERT_EQ(got, block.wgmma[m][n])
            << "block " << at / sizeof block << ", " << m << ", " << n;
        const uint32_t mma =
            is_fp8 ? hopper_fp8_mma(std::span<const Exact, 32>(a), std::span<const Exact, 32>(b), c,
                                    chip.accumulator)
                   : got;
        ASSERT_EQ(mma, block.mma[m][n]) << "block " << at / sizeof block << ", " << m << ", " << n;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    H200, OnTheChip,
    testing::Values(Chip{"bf16", Element::bf16, Element::bf16, Accumulator::f32},
                    Chip{"f16", Element::f16, Element::f16, Accumulator::f32},
                    Chip{"f16.f16", Element::f16, Element::f16, Accumulator::f16},
                    Chip{"tf32", Element::tf32, Element::tf32, Accumulator::f32},
                    Chip{"e4m3", Element::e4m3, Element::e4m3, Accumulator::f32},
                    Chip{"e5m2", Element::e5m2, Element::e5m2, Accumulator::f32},
                    Chip{"e4m3.e5m2", Element::e4m3, Element::e5m2, Accumulator::f32},
                    Chip{"e5m2.e4m3", Element::e5m2, Element::e4m3, Accumulator::f32},
                    Chip{"e4m3.f16", Element::e4m3, Element::e4m3, Accumulator::f16},
                    Chip{"e5m2.f16", Element::e5m2, Element::e5m2, Accumulator::f16}));

}  // namespace
}  // namespace cohort::emu
