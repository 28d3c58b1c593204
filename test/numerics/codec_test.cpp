#include <gtest/gtest.h>

#include <cstddef>
#include <limits>

#include <cohort/numerics.h>

#include "numerics/philox.h"
#include "numerics/slow.h"

namespace cohort::test {
namespace {

using numerics::Overflow;
using numerics::Round;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

TEST(Codec, EveryCodeHasTheValueOfItsStandard) {
  for (const SlowFormat& f : slow_formats()) {
    const uint32_t sign = 1u << (f.exponent + f.mantissa);
    for (uint32_t code = 0; code < 2 * sign; ++code) {
      const float got = numerics::decode(*numerics::find_spec(f.type), code);
      const uint32_t magnitude = code & (sign - 1);
      if (magnitude > f.max_code) {
        const bool inf = static_cast<int>(magnitude) == f.inf;
        EXPECT_TRUE(inf ? std::isinf(got) : std::isnan(got)) << name(f.type) << " " << code;
        if (inf) {
          EXPECT_EQ(std::signbit(got), code != magnitude);
        }
        continue;
      }
      const double wanted = slow_value(f, magnitude) * (code == magnitude ? 1 : -1);
      ASSERT_EQ(got, wanted) << name(f.type) << " " << code;
      ASSERT_EQ(std::signbit(got), code != magnitude);
      for (Round round : {Round::nearest_even, Round::zero, Round::up, Round::random}) {
        ASSERT_EQ(
            numerics::encode(*numerics::find_spec(f.type), got, round, Overflow::ieee, 0xFFFFFFFF),
            code)
            << name(f.type);
      }
    }
  }
}

TEST(Codec, LargestValues) {
  const auto largest = [](DType type) {
    const numerics::Spec& s = *numerics::find_spec(type);
    return numerics::decode(s, s.max_code);
  };
  EXPECT_EQ(largest(DType::e4m3), 448.0f);
  EXPECT_EQ(largest(DType::e5m2), 57344.0f);
  EXPECT_EQ(largest(DType::e3m2), 28.0f);
  EXPECT_EQ(largest(DType::e2m3), 7.5f);
  EXPECT_EQ(largest(DType::e2m1), 6.0f);
  EXPECT_EQ(largest(DType::f16), 65504.0f);
}

void expect_slow(const SlowFormat& f, double x, uint32_t random) {
  for (Round round : {Round::nearest_even, Round::zero, Round::up, Round::random}) {
    for (bool saturate : {true, false}) {
      const Overflow overflow = saturate ? Overflow::saturate : Overflow::ieee;
      ASSERT_EQ(numerics::encode(*numerics::find_spec(f.type), x, round, overflow, random),
                slow_encode(f, x, round, saturate, random))
          << name(f.type) << " x " << x << " rounding " << static_cast<int>(round) << " saturate "
          << saturate;
    }
  }
}

TEST(Codec, RoundsAsTheSearchDoes) {
  std::mt19937 engine(3);
  for (const SlowFormat& f : slow_formats()) {
    for (uint32_t code = 0; code <= f.max_code; code += f.mantissa > 3 ? 7 : 1) {
      const double a = slow_value(f, code);
      const double middle = (a + slow_value(f, code + 1)) / 2;
      for (double x : {a, middle, std::nextafter(middle, 0), std::nextafter(middle, 1e300),
                       std::nextafter(a, 0), std::nextafter(a, 1e300)}) {
        expect_slow(f, x, static_cast<uint32_t>(engine()));
        expect_slow(f, -x, static_cast<uint32_t>(engine()));
      }
    }
    for (int i = 0; i < 20000; ++i) {
      expect_slow(f, random_bits(engine), static_cast<uint32_t>(engine()));
    }
    for (double x :
         {0.0, -0.0, 1e300, -1e300, 1e-300, 5e-324, double{kInf}, double{-kInf}, double{kNan}}) {
      expect_slow(f, x, 0xFFFFFFFF);
      expect_slow(f, x, 0);
    }
  }
}

TEST(Codec, F16AndBf16ShortcutsAgreeWithTheGeneralForm) {
  std::mt19937 engine(4);
  for (uint32_t code = 0; code < 65536; ++code) {
    const auto c = static_cast<uint16_t>(code);
    const float half = numerics::decode(numerics::kF16, code);
    const float brain = numerics::decode(numerics::kBf16, code);
    if (std::isnan(half)) {
      ASSERT_TRUE(std::isnan(numerics::decode_f16(c)));
    } else {
      ASSERT_EQ(std::bit_cast<uint32_t>(numerics::decode_f16(c)), std::bit_cast<uint32_t>(half));
    }
    if (!std::isnan(brain)) {
      ASSERT_EQ(numerics::decode_bf16(c), brain);
    }
  }
  for (int i = 0; i < 200000; ++i) {
    const float x = random_bits(engine);
    ASSERT_EQ(numerics::encode_bf16(x),
              numerics::encode(numerics::kBf16, x, Round::nearest_even, Overflow::ieee))
        << x;
  }
}

TEST(Codec, E8m0IsAPowerOfTwo) {
  for (int code = 0; code < 255; ++code) {
    const float value = numerics::decode_e8m0(static_cast<uint8_t>(code));
    ASSERT_EQ(static_cast<double>(value), std::pow(2.0, code - 127));
    for (Round round : {Round::nearest_even, Round::zero, Round::up}) {
      ASSERT_EQ(numerics::encode_e8m0(value, round), code);
      ASSERT_EQ(numerics::encode_e8m0(-value, round), code);
    }
    const float above = std::nextafter(value, kInf);
    const int next = code < 254 ? code + 1 : 254;
    ASSERT_EQ(numerics::encode_e8m0(above, Round::up), next);
    ASSERT_EQ(numerics::encode_e8m0(above, Round::zero), code);
    ASSERT_EQ(numerics::encode_e8m0(1.5f * value, Round::nearest_even), next);
    ASSERT_EQ(numerics::encode_e8m0(std::nextafter(1.5f * value, 0.0f), Round::nearest_even), code);
  }
  EXPECT_TRUE(std::isnan(numerics::decode_e8m0(0xFF)));
  EXPECT_EQ(numerics::encode_e8m0(kNan), 0xFF);
  EXPECT_EQ(numerics::encode_e8m0(kInf), 254);
  EXPECT_EQ(numerics::encode_e8m0(0.0f), 0);
  EXPECT_EQ(numerics::encode_e8m0(1e-45f, Round::up), 0);
}

TEST(Codec, PhiloxMatchesThePublishedAnswer) {
  const std::array<uint32_t, 4> wanted{0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8};
  EXPECT_EQ(numerics::philox4x32_10(0, 0), wanted);
}

TEST(Codec, RowsOfEveryTypeStartAnywhere) {
  std::mt19937 engine(5);
  for (DType type : {DType::f32, DType::f16, DType::bf16, DType::e4m3, DType::e5m2, DType::e3m2,
                     DType::e2m3, DType::e2m1, DType::i32, DType::i64}) {
    std::vector<float> x(41);
    constexpr float kShared[] = {-3, -2, -1.5f, -1, -0.5f, 0, 0.5f, 1, 1.5f, 2, 3};  // of all
    for (float& v : x) v = kShared[engine() % 11];
    if (type == DType::i32 || type == DType::i64) {
      for (float& v : x) v *= 2;
    }
    std::vector<uint64_t> memory(64, 0xAAAAAAAAAAAAAAAA);
    numerics::encode_row(type, x.data(), 3, 41, memory.data());
    numerics::encode_row(type, x.data() + 5, 8, 7, memory.data());  // again, inside of the row
    std::vector<float> back(41);
    numerics::decode_row(type, memory.data(), 3, 41, back.data());
    EXPECT_EQ(back, x) << name(type);
    std::vector<float> one(1);
    numerics::decode_row(type, memory.data(), 3 + 17, 1, one.data());
    EXPECT_EQ(one[0], x[17]) << name(type);
  }
}

TEST(CodecApi, PacksFp4AndFp6LowBitsFirst) {
  const float x[] = {1, -2, 3};
  std::byte codes[3];
  ASSERT_TRUE(encode({.type = DType::e2m1}, x, std::span(codes, 2)));
  EXPECT_EQ(codes[0], std::byte{0xC2});
  EXPECT_EQ(codes[1], std::byte{0x05});
  const float six[] = {1, 0, 0, -28};  // e3m2 codes 0x0C, 0, 0, 0x3F
  ASSERT_TRUE(encode({.type = DType::e3m2}, six, codes));
  EXPECT_EQ(codes[0], std::byte{0x0C});
  EXPECT_EQ(codes[1], std::byte{0x00});
  EXPECT_EQ(codes[2], std::byte{0xFC});
  float back[4];
  ASSERT_TRUE(decode(DType::e3m2, codes, back));
  EXPECT_EQ(back[3], -28.0f);
  EXPECT_EQ(*code_bytes(DType::e3m2, 5), 4);
}

TEST(CodecApi, SaturatesOrNot) {
  const float x[] = {1e9f, -kInf, kNan};
  std::byte c[3];
  ASSERT_TRUE(encode({.type = DType::e4m3}, x, c));
  EXPECT_EQ(c[0], std::byte{0x7E});
  EXPECT_EQ(c[1], std::byte{0xFE});
  EXPECT_EQ(c[2], std::byte{0x7F});
  ASSERT_TRUE(encode({.type = DType::e4m3, .saturate = false}, x, c));
  EXPECT_EQ(c[0], std::byte{0x7F});
  ASSERT_TRUE(encode({.type = DType::e5m2, .saturate = false}, x, c));
  EXPECT_EQ(c[1], std::byte{0xFC});
}

TEST(CodecApi, NamesWhatIsWrong) {
  const float x[4] = {};
  std::byte codes[4];
  EXPECT_EQ(encode({.type = DType::i32}, x, codes).findings()[0].code, "E-DTYPE");
  const Status size = encode({.type = DType::e2m1}, x, codes);
  ASSERT_FALSE(size);
  EXPECT_EQ(size.findings()[0].code, "E-SIZE");
  EXPECT_EQ(size.findings()[0].wanted, "2 bytes");
  EXPECT_FALSE(encode({.type = DType::e8m0, .rounding = CodeRounding::stochastic}, x, codes));
  EXPECT_EQ(code_bytes(DType::e2m1, -1).findings()[0].code, "E-SHAPE");
  EXPECT_EQ(code_bytes(DType::f16, int64_t{1} << 62).findings()[0].code, "E-OVERFLOW");
}

}  // namespace
}  // namespace cohort::test
