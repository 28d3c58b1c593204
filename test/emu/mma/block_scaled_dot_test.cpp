// Block-scaled sums, integers and scaled accumulators, worked out by hand.
#include "emu/mma/block_scaled_dot.h"

#include <array>
#include <bit>
#include <cmath>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "emu/mma/integer_dot.h"

namespace cohort::emu {
namespace {

constexpr uint8_t kOne = 127;       // UE8M0
constexpr uint8_t kOneE4m3 = 0x38;  // UE4M3
constexpr uint32_t kNan = 0x7FFFFFFF;

uint32_t bits(float x) { return std::bit_cast<uint32_t>(x); }

// e2m1 codes: 2 is 1, 7 is 6, 10 is -1.
struct Operands {
  std::array<uint8_t, kFp4Length> a{};
  std::array<uint8_t, kFp4Length> b{};

  [[nodiscard]] uint32_t dot(float c, ScaleFormat format, std::vector<uint8_t> sa,
                             std::vector<uint8_t> sb) const {
    std::array<Exact, kFp4Length> x;
    std::array<Exact, kFp4Length> y;
    for (size_t k = 0; k < x.size(); ++k) {
      x[k] = decode(Element::e2m1, a[k]);
      y[k] = decode(Element::e2m1, b[k]);
    }
    return fp4_dot(x, y, bits(c), format, sa, sb);
  }
  [[nodiscard]] float value(float c, ScaleFormat format, std::vector<uint8_t> sa,
                            std::vector<uint8_t> sb) const {
    return std::bit_cast<float>(dot(c, format, std::move(sa), std::move(sb)));
  }
};

Operands all(uint8_t a, uint8_t b) {
  Operands o;
  o.a.fill(a);
  o.b.fill(b);
  return o;
}

TEST(Fp4Dot, EveryElementCounts) {
  EXPECT_EQ(all(2, 2).value(3, ScaleFormat::ue8m0, {kOne, kOne}, {kOne, kOne}), 67);
  EXPECT_EQ(all(7, 15).value(0, ScaleFormat::ue8m0, {kOne, kOne}, {kOne, kOne}), -36 * 64);
  EXPECT_EQ(all(1, 1).value(0, ScaleFormat::ue8m0, {kOne, kOne}, {kOne, kOne}), 16) << "0.5 * 0.5";
}

TEST(Fp4Dot, EachBlockHasItsScales) {
  // 16 products of 1 in each group.
  EXPECT_EQ(all(2, 2).value(0, ScaleFormat::ue8m0, {128, 126}, {kOne, 129}), 32 * 2 + 32 * 2);
  EXPECT_EQ(all(2, 2).value(0, ScaleFormat::ue8m0, {127, 128, 129, 130}, {127, 127, 127, 126}),
            16 * (1 + 2 + 4 + 4));
  // 1.5, 1.125, 0.875 (a subnormal, 7 * 2^-9, times 64), 448.
  EXPECT_EQ(all(2, 2).value(0, ScaleFormat::ue4m3, {0x3C, 0x39, 0x07, 0x7E}, {0x3C, 0x38, 0x68, 8}),
            16 * (2.25f + 1.125f + 0.875f + 7));
}

TEST(Fp4Dot, TheSignOfAScaleIsNotRead) {
  const std::vector<uint8_t> one(4, kOneE4m3);
  const std::vector<uint8_t> minus_one(4, kOneE4m3 | 0x80);
  EXPECT_EQ(all(2, 2).value(0, ScaleFormat::ue4m3, minus_one, one), 64);
}

TEST(Fp4Dot, NanScalesAndAccumulators) {
  const std::vector<uint8_t> one(4, kOneE4m3);
  for (size_t at = 0; at < 4; ++at) {
    std::vector<uint8_t> nan = one;
    for (const int code : {0x7F, 0xFF}) {
      nan[at] = static_cast<uint8_t>(code);
      EXPECT_EQ(all(2, 2).dot(0, ScaleFormat::ue4m3, nan, one), kNan);
      EXPECT_EQ(all(0, 2).dot(0, ScaleFormat::ue4m3, one, nan), kNan);
    }
  }
  EXPECT_EQ(all(2, 2).dot(0, ScaleFormat::ue8m0, {kOne, 0xFF}, {kOne, kOne}), kNan);
  EXPECT_EQ(all(2, 2).dot(NAN, ScaleFormat::ue8m0, {kOne, kOne}, {kOne, kOne}), kNan);
  EXPECT_EQ(all(2, 2).value(-INFINITY, ScaleFormat::ue8m0, {kOne, kOne}, {kOne, kOne}), -INFINITY);
}

TEST(Fp4Dot, GroupsAreCutThirtyFiveBitsBelowTheLargest) {
  Operands o;
  o.a[5] = 10;  // -1
  o.b[5] = 2;
  const auto below_one = [&](uint8_t scale) {
    return o.value(1, ScaleFormat::ue8m0, {scale, scale}, {kOne, kOne});
  };
  EXPECT_EQ(below_one(kOne - 35), std::nextafter(1.0f, 0.0f));
  EXPECT_EQ(below_one(kOne - 36), 1);
  // The elements of a group are added before it is cut: 16 * 36 * 2^-44 is more than 2^-35.
  o.a.fill(15);
  o.b.fill(7);
  EXPECT_EQ(below_one(kOne - 35 - 9), std::nextafter(1.0f, 0.0f));
  o.a.fill(0);
  o.a[0] = 15;
  EXPECT_EQ(below_one(kOne - 36 - 5), 1);
  EXPECT_EQ(below_one(kOne - 35 - 5), std::nextafter(1.0f, 0.0f));
}

TEST(Fp4Dot, AGroupCountsByItsScales) {
  Operands o;
  o.a[0] = 2;
  o.a[1] = 10;
  o.b[0] = o.b[1] = 2;
  EXPECT_EQ(o.value(1, ScaleFormat::ue8m0, {kOne + 35, 0, 0, 0}, {kOne, 0, 0, 0}), 1);
  EXPECT_EQ(o.value(1, ScaleFormat::ue8m0, {kOne + 36, 0, 0, 0}, {kOne, 0, 0, 0}), 0);
  // A scale of 0 does not count.
  EXPECT_EQ(o.value(0x1p-60f, ScaleFormat::ue4m3, {0, 0, 0, 0}, {0x7E, 0x7E, 0x7E, 0x7E}),
            0x1p-60f);
  EXPECT_EQ(all(0, 0).dot(-0.0f, ScaleFormat::ue4m3, {0, 0, 0, 0}, {0, 0, 0, 0}), 0U);
}

// Where nothing is cut, the sum is what any exact arithmetic gives.
TEST(Fp4Dot, RandomSumsThatAreExact) {
  std::mt19937 random(7);
  for (int trial = 0; trial < 2000; ++trial) {
    Operands o;
    for (uint8_t& x : o.a) x = random() % 16;
    for (uint8_t& x : o.b) x = random() % 16;
    std::vector<uint8_t> sa(4);
    std::vector<uint8_t> sb(4);
    for (uint8_t& x : sa) x = static_cast<uint8_t>(0x30 + random() % 16);  // 0.5 to 1.875
    for (uint8_t& x : sb) x = static_cast<uint8_t>(0xB0 + random() % 16);
    const float c = static_cast<float>(random() % 200) - 100;
    double sum = c;
    for (size_t k = 0; k < kFp4Length; ++k) {
      const auto value = [](Exact x) {
        return (x.negative ? -1.0 : 1.0) * std::ldexp(x.significand, x.exponent - x.fraction_bits);
      };
      sum += value(decode(Element::e2m1, o.a[k])) * value(decode(Element::e2m1, o.b[k])) *
             value(decode(Element::e4m3, sa[k / 16])) *
             value(decode(Element::e4m3, sb[k / 16] & 0x7F));
    }
    ASSERT_EQ(o.value(c, ScaleFormat::ue4m3, sa, sb), sum) << trial;
  }
}

TEST(Mxf8f6f4Dot, ScalesAreExponents) {
  const std::vector<Exact> a(32, decode(Element::e2m3, 0x0C));  // 1.5
  const std::vector<Exact> b(32, decode(Element::e5m2, 0xC0));  // -2
  const auto value = [&](float c, uint8_t sa, uint8_t sb) {
    return std::bit_cast<float>(mxf8f6f4_dot(a, b, bits(c), sa, sb));
  };
  EXPECT_EQ(value(1, kOne, kOne), -95);
  EXPECT_EQ(value(1, kOne + 3, kOne - 1), 1 - 96 * 4);
  EXPECT_EQ(value(0, 254, 0), -96);
  EXPECT_EQ(value(0, 0, 0), 0) << "2^-254 is far below the subnormals";
  EXPECT_EQ(value(0, 254, 254), -INFINITY);
  EXPECT_EQ(mxf8f6f4_dot(a, b, 0, 0xFF, kOne), kNan);
  EXPECT_EQ(mxf8f6f4_dot(a, b, 0, kOne, 0xFF), kNan);
  // -2^1 * 1.5 = -3 * 2^0, exponent 1: with scales it is cut 25 bits below C.
  const std::vector<Exact> one_a(1, a[0]);
  const std::vector<Exact> one_b(1, b[0]);
  EXPECT_EQ(mxf8f6f4_dot(one_a, one_b, bits(1), kOne - 26, kOne), bits(std::nextafter(1.0f, 0.0f)));
  EXPECT_EQ(mxf8f6f4_dot(one_a, one_b, bits(1), kOne - 27, kOne), bits(1));
}

TEST(Accumulator, ScaleInputD) {
  const std::array zero{decode(Element::f32, 0)};
  const auto scaled = [&](float c, int scale) {
    return std::bit_cast<float>(
        fused_dot(zero, zero, decode_accumulator(Accumulator::f32, bits(c), scale), kDotF32));
  };
  EXPECT_EQ(scaled(8, 0), 8);
  EXPECT_EQ(scaled(8, 15), 0x1p-12f);
  EXPECT_EQ(scaled(-INFINITY, 3), -INFINITY);
  EXPECT_EQ(scaled(0x3p-149f, 1), 0x1p-149f);
}

TEST(IntegerDot, WrapsOrSaturates) {
  const std::vector<int16_t> a(32, 255);
  const std::vector<int16_t> b(32, -128);
  constexpr int32_t kSum = 32 * 255 * -128;
  EXPECT_EQ(integer_dot(a, b, 5, false), kSum + 5);
  EXPECT_EQ(integer_dot(a, b, 5, true), kSum + 5);
  EXPECT_EQ(integer_dot(a, b, INT32_MIN, true), INT32_MIN);
  EXPECT_EQ(integer_dot(a, b, INT32_MIN, false), INT32_MAX + kSum + 1);
  EXPECT_EQ(integer_dot(a, a, INT32_MAX, true), INT32_MAX);
  EXPECT_EQ(integer_dot(a, b, INT32_MAX, true), INT32_MAX + kSum) << "cut at the end alone";
}

}  // namespace
}  // namespace cohort::emu
