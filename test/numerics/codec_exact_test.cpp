// Every code of every narrow type, and every rounding, against a search over all codes.
#include "numerics/codec.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "numerics/philox.h"

namespace cohort::numerics {
namespace {

struct Layout {
  DType type;
  int exponent_bits;
  int mantissa_bits;
  int bias;
  double largest;
  bool has_infinity;
  uint32_t nan;  // 0: none
};

// Written from the OCP OFP8 and MX texts, not from the table under test.
constexpr std::array<Layout, 7> kLayouts{{{DType::e4m3, 4, 3, 7, 448, false, 0x7F},
                                          {DType::e5m2, 5, 2, 15, 57344, true, 0x7F},
                                          {DType::e3m2, 3, 2, 3, 28, false, 0},
                                          {DType::e2m3, 2, 3, 1, 7.5, false, 0},
                                          {DType::e2m1, 2, 1, 1, 6, false, 0},
                                          {DType::f16, 5, 10, 15, 65504, true, 0x7FFF},
                                          {DType::bf16, 8, 7, 127, 0x1.FEp127, true, 0x7FFF}}};

double value_of(const Layout& l, uint32_t magnitude) {
  const uint32_t e = magnitude >> l.mantissa_bits;
  const uint32_t m = magnitude - (e << l.mantissa_bits);
  const double fraction = std::ldexp(static_cast<double>(m), -l.mantissa_bits);
  if (e == 0) return std::ldexp(fraction, 1 - l.bias);
  return std::ldexp(1 + fraction, static_cast<int>(e) - l.bias);
}

// Values of all finite codes without sign, by code.
std::vector<double> finite_values(const Layout& l) {
  std::vector<double> values;
  const uint32_t count = 1u << (l.exponent_bits + l.mantissa_bits);
  for (uint32_t c = 0; c < count && value_of(l, c) <= l.largest; ++c) {
    values.push_back(value_of(l, c));
  }
  return values;
}

std::string text(const Layout& l, double x) {
  return std::string(name(l.type)) + " of " + std::to_string(x);
}

uint32_t sign_bit(const Layout& l) { return 1u << (l.exponent_bits + l.mantissa_bits); }

class EveryCode : public testing::TestWithParam<Layout> {};

TEST_P(EveryCode, DecodesEveryCode) {
  const Layout l = GetParam();
  const Spec& s = *find_spec(l.type);
  const std::vector<double> values = finite_values(l);
  EXPECT_EQ(values.back(), l.largest);
  for (uint32_t c = 0; c < 2 * sign_bit(l); ++c) {
    const uint32_t magnitude = c & (sign_bit(l) - 1);
    const float got = decode(s, c);
    if (magnitude < values.size()) {
      EXPECT_EQ(got, c >= sign_bit(l) ? -values[magnitude] : values[magnitude]) << c;
      EXPECT_EQ(std::signbit(got), c >= sign_bit(l)) << c;
    } else if (l.has_infinity && magnitude == values.size()) {
      EXPECT_TRUE(std::isinf(got)) << c;
    } else {
      EXPECT_TRUE(std::isnan(got)) << c;
    }
  }
}

TEST_P(EveryCode, EncodesEveryValueToItsCode) {
  const Layout l = GetParam();
  const std::vector<double> values = finite_values(l);
  for (uint32_t c = 0; c < values.size(); ++c) {
    for (Round round : {Round::nearest_even, Round::zero, Round::up, Round::random}) {
      EXPECT_EQ(encode(*find_spec(l.type), values[c], round, Overflow::saturate, 0xFFFFFFFF), c);
      EXPECT_EQ(encode(*find_spec(l.type), -values[c], round, Overflow::ieee, 0xFFFFFFFF),
                c | sign_bit(l));
    }
  }
}

// The code that a rounding means for lo < x < hi, codes c and c + 1.
uint32_t rounded(double lo, double hi, uint32_t c, double x, Round round, bool negative) {
  if (round == Round::zero) return c;
  if (round == Round::up) return negative ? c : c + 1;
  const double below = x - lo;
  const double above = hi - x;
  if (below != above) return below < above ? c : c + 1;
  return c % 2 == 0 ? c : c + 1;
}

TEST_P(EveryCode, RoundsBetweenEveryTwoCodes) {
  const Layout l = GetParam();
  const Spec& s = *find_spec(l.type);
  const std::vector<double> values = finite_values(l);
  for (uint32_t c = 0; c + 1 < values.size(); ++c) {
    const double lo = values[c];
    const double hi = values[c + 1];
    const double middle = lo + (hi - lo) / 2;
    for (double x : {std::nextafter(lo, hi), lo + (hi - lo) / 4, std::nextafter(middle, lo), middle,
                     std::nextafter(middle, hi), hi - (hi - lo) / 4, std::nextafter(hi, lo)}) {
      for (Round round : {Round::nearest_even, Round::zero, Round::up}) {
        ASSERT_EQ(encode(s, x, round), rounded(lo, hi, c, x, round, false)) << text(l, x);
        ASSERT_EQ(encode(s, -x, round), sign_bit(l) | rounded(lo, hi, c, x, round, true))
            << text(l, -x);
      }
    }
  }
}

TEST_P(EveryCode, StochasticRoundsUpFromTheExactThreshold) {
  const Layout l = GetParam();
  const Spec& s = *find_spec(l.type);
  const std::vector<double> values = finite_values(l);
  for (uint32_t c = 0; c + 1 < values.size(); ++c) {
    for (uint32_t eighths = 1; eighths < 8; ++eighths) {
      const double x = values[c] + (values[c + 1] - values[c]) * eighths / 8;
      const uint32_t threshold = (8 - eighths) << 29;
      ASSERT_EQ(encode(s, x, Round::random, Overflow::saturate, threshold), c + 1) << text(l, x);
      ASSERT_EQ(encode(s, -x, Round::random, Overflow::saturate, threshold - 1), c | sign_bit(l));
      ASSERT_EQ(encode(s, x, Round::random, Overflow::saturate, 0), c);
    }
  }
}

TEST_P(EveryCode, BeyondTheLargestValue) {
  const Layout l = GetParam();
  const Spec& s = *find_spec(l.type);
  const std::vector<double> values = finite_values(l);
  const auto max = static_cast<uint32_t>(values.size() - 1);
  const double step = values[max] - values[max - 1];
  const double tie = l.largest + step / 2;
  const uint32_t beyond = l.has_infinity || l.nan != 0 ? max + 1 : max;
  // Nearest even: the largest mantissa decides at the tie; e4m3 ends on an even code.
  const bool tie_stays = max % 2 == 0 || beyond == max;
  EXPECT_EQ(encode(s, std::nextafter(tie, 0), Round::nearest_even, Overflow::ieee), max);
  EXPECT_EQ(encode(s, tie, Round::nearest_even, Overflow::ieee), tie_stays ? max : beyond);
  EXPECT_EQ(encode(s, std::nextafter(tie, INFINITY), Round::nearest_even, Overflow::ieee), beyond);
  EXPECT_EQ(encode(s, tie, Round::zero, Overflow::ieee), max);
  EXPECT_EQ(encode(s, -tie, Round::up, Overflow::ieee), max | sign_bit(l));
  EXPECT_EQ(encode(s, tie, Round::up, Overflow::ieee), beyond);
  EXPECT_EQ(encode(s, 1e300, Round::zero, Overflow::ieee), max);
  EXPECT_EQ(encode(s, -INFINITY, Round::nearest_even, Overflow::ieee), beyond | sign_bit(l));
  for (double x : {tie, 2 * l.largest, 1e300, static_cast<double>(INFINITY)}) {
    for (Round round : {Round::nearest_even, Round::zero, Round::up, Round::random}) {
      EXPECT_EQ(encode(s, x, round, Overflow::saturate), max) << text(l, x);
      EXPECT_EQ(encode(s, -x, round, Overflow::saturate), max | sign_bit(l)) << text(l, x);
    }
  }
}

TEST_P(EveryCode, NanZeroAndTinyValues) {
  const Layout l = GetParam();
  const Spec& s = *find_spec(l.type);
  const uint32_t nan = l.nan != 0 ? l.nan : static_cast<uint32_t>(finite_values(l).size() - 1);
  EXPECT_EQ(encode(s, NAN), nan);
  EXPECT_EQ(encode(s, -NAN), nan);
  EXPECT_EQ(encode(s, 0.0), 0u);
  EXPECT_EQ(encode(s, -0.0), sign_bit(l));
  for (double x : {std::numeric_limits<double>::denorm_min(), 1e-300}) {
    EXPECT_EQ(encode(s, x), 0u);
    EXPECT_EQ(encode(s, -x), sign_bit(l));
    EXPECT_EQ(encode(s, x, Round::up), 1u);
    EXPECT_EQ(encode(s, -x, Round::up), sign_bit(l));
    EXPECT_EQ(encode(s, x, Round::random, Overflow::saturate, 0xFFFFFFFF), 0u);
  }
}

INSTANTIATE_TEST_SUITE_P(Types, EveryCode, testing::ValuesIn(kLayouts),
                         [](const auto& i) { return std::string(name(i.param.type)); });

TEST(CodecFast, HalfTypesAgreeWithTheirDefinition) {
  for (uint32_t c = 0; c < 65536; ++c) {
    const float f16 = decode(kF16, c);
    const float bf16 = decode(kBf16, c);
    const auto code = static_cast<uint16_t>(c);
    if (std::isnan(f16)) {
      EXPECT_TRUE(std::isnan(decode_f16(code))) << c;
    } else {
      EXPECT_EQ(std::bit_cast<uint32_t>(decode_f16(code)), std::bit_cast<uint32_t>(f16)) << c;
    }
    if (std::isnan(bf16)) {
      EXPECT_TRUE(std::isnan(decode_bf16(code))) << c;
    } else {
      EXPECT_EQ(std::bit_cast<uint32_t>(decode_bf16(code)), std::bit_cast<uint32_t>(bf16)) << c;
    }
  }
  std::mt19937 engine(3);
  for (int i = 0; i < 200000; ++i) {
    const float x = std::bit_cast<float>(static_cast<uint32_t>(engine()));
    EXPECT_EQ(encode_bf16(x), encode(kBf16, x, Round::nearest_even, Overflow::ieee)) << x;
  }
}

TEST(CodecE8m0, EveryCodeAndEveryBorder) {
  for (uint32_t c = 0; c < 255; ++c) {
    const auto code = static_cast<uint8_t>(c);
    const float x = decode_e8m0(code);
    EXPECT_EQ(x, std::ldexp(1.0f, static_cast<int>(c) - 127));
    for (Round round : {Round::nearest_even, Round::zero, Round::up}) {
      EXPECT_EQ(encode_e8m0(x, round), c);
    }
    const auto next = static_cast<uint8_t>(c < 254 ? c + 1 : 254);
    EXPECT_EQ(encode_e8m0(std::nextafter(x, INFINITY), Round::up), next);
    EXPECT_EQ(encode_e8m0(std::nextafter(2 * x, 0.0f), Round::zero), c);
    EXPECT_EQ(encode_e8m0(1.5f * x, Round::nearest_even), next);
    EXPECT_EQ(encode_e8m0(std::nextafter(1.5f * x, 0.0f), Round::nearest_even), c);
  }
  EXPECT_TRUE(std::isnan(decode_e8m0(0xFF)));
  EXPECT_EQ(encode_e8m0(NAN), 0xFF);
  EXPECT_EQ(encode_e8m0(INFINITY), 254);
  EXPECT_EQ(encode_e8m0(0.0f, Round::up), 0);
  EXPECT_EQ(encode_e8m0(std::numeric_limits<float>::denorm_min(), Round::up), 0);
}

TEST(CodecRows, PackedRowsAgreeWithCodes) {
  std::mt19937 engine(11);
  for (DType type : {DType::e4m3, DType::e5m2, DType::e3m2, DType::e2m3, DType::e2m1}) {
    std::vector<float> x(67);
    for (float& v : x) v = std::normal_distribution<float>(0, 3)(engine);
    std::vector<uint8_t> packed(80, 0xA5);
    encode_row(type, x.data(), 4, 63, packed.data());
    std::vector<float> back(63);
    decode_row(type, packed.data(), 4, 63, back.data());
    for (size_t i = 0; i < 63; ++i) {
      const uint32_t code = encode(*find_spec(type), x[i]);
      EXPECT_EQ(get_code(type, packed.data(), static_cast<int64_t>(i) + 4), code);
      EXPECT_EQ(back[i], decode(*find_spec(type), code));
    }
    // Neighbours keep their bits: element 3 before and element 67 after.
    std::vector<uint8_t> untouched(80, 0xA5);
    EXPECT_EQ(get_code(type, packed.data(), 3), get_code(type, untouched.data(), 3));
    EXPECT_EQ(get_code(type, packed.data(), 67), get_code(type, untouched.data(), 67));
  }
}

TEST(CodecRows, FourAndSixBitElementsStandLowestBitsFirst) {
  std::array<uint8_t, 3> four{};
  for (uint32_t i = 0; i < 6; ++i) put_code(DType::e2m1, four.data(), i, i + 1);
  EXPECT_EQ(four, (std::array<uint8_t, 3>{0x21, 0x43, 0x65}));
  std::array<uint8_t, 3> six{};
  const std::array<uint32_t, 4> codes{0x01, 0x23, 0x3F, 0x15};
  for (uint32_t i = 0; i < 4; ++i) put_code(DType::e3m2, six.data(), i, codes[i]);
  const uint32_t word = 0x01 | 0x23 << 6 | 0x3F << 12 | 0x15u << 18;
  EXPECT_EQ(six[0] | six[1] << 8 | six[2] << 16, static_cast<int>(word));
}

// First known answer of the authors' Random123 package, and a step in each word of the key.
TEST(Philox, KnownAnswer) {
  EXPECT_EQ(philox4x32_10(0, 0),
            (std::array<uint32_t, 4>{0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8}));
  EXPECT_NE(philox4x32_10(1, 0), philox4x32_10(0, 0));
  EXPECT_NE(philox4x32_10(uint64_t{1} << 32, 0), philox4x32_10(0, 0));
  EXPECT_NE(philox4x32_10(0, uint64_t{1} << 32), philox4x32_10(0, 0));
}

}  // namespace
}  // namespace cohort::numerics
