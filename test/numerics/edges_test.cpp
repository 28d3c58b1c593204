// The edges of block quantisation, each stated as a number. docs/numerics.md has the same table.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "definition.h"
#include "numerics/philox.h"
#include "numerics/quantize.h"

namespace cohort::numerics {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kMax = std::numeric_limits<float>::max();
constexpr float kTiny = std::numeric_limits<float>::denorm_min();

BlockSpec spec_of(Format format) {
  BlockSpec s;
  s.format = format;
  s.element = info(format).element;
  s.qmax = default_qmax(s.element);
  return s;
}

struct Row {
  std::vector<uint8_t> codes;   // one a byte
  std::vector<uint8_t> scales;  // 8-bit formats
  std::vector<float> factors;   // f32 formats
};

Row quantize(const BlockSpec& s, std::vector<float> x) {
  const auto n = static_cast<int64_t>(x.size());
  Row r;
  std::vector<uint8_t> packed(x.size() + 1);
  r.scales.resize(x.size());
  r.factors.resize(x.size());
  const bool f32 = info(s.format).scale == DType::f32;
  quantize_rows(s, {x.data(), n, 1, n, 0, static_cast<uint64_t>(n)}, {packed.data(), n, false, 0},
                {f32 ? nullptr : r.scales.data(), f32 ? r.factors.data() : nullptr, n});
  for (int64_t i = 0; i < n; ++i) {
    r.codes.push_back(static_cast<uint8_t>(get_code(s.element, packed.data(), i)));
  }
  return r;
}

TEST(QuantizeEdges, ZeroBlock) {
  for (Format f : {Format::mxfp8_e4m3, Format::mxfp8_e5m2, Format::mxfp4, Format::nvfp4,
                   Format::fp8_block128, Format::fp8_row}) {
    for (float norm : {1.0f, 4.0f, 0x1p-100f}) {
      BlockSpec s = spec_of(f);
      s.norm = norm;
      const Row r = quantize(s, {0.0f, -0.0f, 0.0f});
      const uint8_t sign = s.element == DType::e2m1 ? 0x8 : 0x80;
      EXPECT_EQ(r.codes, (std::vector<uint8_t>{0, sign, 0})) << name(f) << norm;
      EXPECT_EQ(r.scales[0], 0) << name(f);
      EXPECT_EQ(r.factors[0], 0) << name(f);
    }
  }
}

TEST(QuantizeEdges, ScaleStepsUpJustAbove448TimesAPowerOfTwo) {
  const BlockSpec s = spec_of(Format::mxfp8_e4m3);
  for (int k : {-100, -20, -1, 0, 1, 7, 60, 118}) {
    const float full = std::ldexp(448.0f, k);
    const Row at = quantize(s, {full, -full / 2});
    EXPECT_EQ(at.scales[0], 127 + k) << k;
    EXPECT_EQ(at.codes, (std::vector<uint8_t>{0x7E, 0xF6})) << k;
    // 448 * (1 + 2^-7) = 451.5: scale 2^(k+1), element 225.75 lies above the tie 216, below 232.
    const Row above = quantize(s, {std::ldexp(448.0f * (1 + 0x1p-7f), k)});
    EXPECT_EQ(above.scales[0], 127 + k + 1) << k;
    EXPECT_EQ(above.codes[0], 0x76) << k;
  }
}

TEST(QuantizeEdges, DenormalsAreNotFlushed) {
  const BlockSpec s = spec_of(Format::mxfp8_e4m3);
  // Scale 2^-127, factor 2^127: 2^-149 becomes 2^-22, below half of the least e4m3 (2^-9).
  const Row tiny = quantize(s, {kTiny, -kTiny});
  EXPECT_EQ(tiny.scales[0], 0);
  EXPECT_EQ(tiny.codes, (std::vector<uint8_t>{0, 0x80}));
  // A denormal of 2^-130: 2^-3 is representable.
  const Row denormal = quantize(s, {0x1p-130f, -0x1.8p-130f});
  EXPECT_EQ(denormal.scales[0], 0);
  EXPECT_EQ(denormal.codes, (std::vector<uint8_t>{0x20, 0xA4}));
  // q of e2m1 itself denormal: 6 * 2^-128 / 6 = 2^-128 -> 2^-127.
  const Row four = quantize(spec_of(Format::mxfp4), {6 * 0x1p-128f});
  EXPECT_EQ(four.scales[0], 0);
  EXPECT_EQ(four.codes[0], 5);  // 3
}

TEST(QuantizeEdges, InfinityBecomesTheLargestCode) {
  const Row mx = quantize(spec_of(Format::mxfp8_e4m3), {kInf, -kInf, 1, -1e30f, kMax});
  EXPECT_EQ(mx.scales[0], 254);
  // By the formula finite elements are x * 2^-127: zero, except those near the largest float.
  EXPECT_EQ(mx.codes, (std::vector<uint8_t>{0x7E, 0xFE, 0, 0x80, 0x40}));
  const Row e5 = quantize(spec_of(Format::mxfp8_e5m2), {kInf, -kInf, 1});
  EXPECT_EQ(e5.codes, (std::vector<uint8_t>{0x7B, 0xFB, 0}));
  const Row nv = quantize(spec_of(Format::nvfp4), {kInf, -kInf, 1});
  EXPECT_EQ(nv.scales[0], 0x7E);
  EXPECT_EQ(nv.codes, (std::vector<uint8_t>{7, 15, 0}));
  const Row block = quantize(spec_of(Format::fp8_block128), {kInf, -1});
  EXPECT_EQ(block.factors[0], kMax);
  EXPECT_EQ(block.codes, (std::vector<uint8_t>{0x7E, 0x80}));
}

TEST(QuantizeEdges, NanSpoilsItsBlockOnly) {
  for (Format f : {Format::mxfp8_e4m3, Format::mxfp8_e5m2}) {
    std::vector<float> x(40, 2.0f);
    x[3] = NAN;
    const Row r = quantize(spec_of(f), x);
    EXPECT_EQ(r.scales[0], 0xFF);
    EXPECT_NE(r.scales[1], 0xFF);
    for (size_t i = 0; i < 32; ++i) EXPECT_EQ(r.codes[i], 0x7F) << i;
    for (size_t i = 32; i < 40; ++i) EXPECT_LT(r.codes[i], 0x7F) << i;
  }
  std::vector<float> x(20, 2.0f);
  x[15] = -NAN;
  EXPECT_EQ(quantize(spec_of(Format::nvfp4), x).scales[0], 0x7F);
  EXPECT_EQ(quantize(spec_of(Format::nvfp4), x).scales[1], 0x2B);  // round(2/6) = 0.34375
  EXPECT_EQ(quantize(spec_of(Format::mxfp4), x).scales[0], 0xFF);
}

TEST(QuantizeEdges, LargestFloat) {
  const Row r = quantize(spec_of(Format::mxfp8_e4m3), {kMax});
  EXPECT_EQ(r.scales[0], 127 + 120);  // FLT_MAX / 448 lies between 2^119 and 2^120
  BlockSpec floor = spec_of(Format::mxfp8_e4m3);
  floor.scale_rounding = ScaleRounding::floor;
  EXPECT_EQ(quantize(floor, {kMax}).scales[0], 127 + 127 - 8);
  floor.scale_rounding = ScaleRounding::even;  // rounds to 2^128, which is not infinity
  EXPECT_EQ(quantize(floor, {kMax}).scales[0], 127 + 128 - 8);
  EXPECT_EQ(quantize(floor, {kInf}).scales[0], 254);
}

TEST(QuantizeEdges, OrderOfTheScaleIsAsWritten) {
  // Fixed: (amax * (1/qmax)) * norm. Another order gives another scale for some values.
  std::mt19937 engine(5);
  int differs = 0;
  for (int i = 0; i < 20000; ++i) {
    const float amax = std::ldexp(1 + static_cast<float>(engine() >> 9) * 0x1p-23f, 3);
    const float norm = 1.7f;
    BlockSpec s = spec_of(Format::fp8_row);
    s.norm = norm;
    const float r = 1.0f / 448.0f;
    const float scaled = amax * r;
    const float q = scaled * norm;
    const float other = r * norm;
    differs += amax * other != q;
    ASSERT_EQ(quantize(s, {amax}).factors[0], q);
  }
  EXPECT_GT(differs, 2000);
}

TEST(QuantizeEdges, FloorAndEvenAtTheirBorders) {
  BlockSpec s = spec_of(Format::mxfp8_e4m3);
  s.scale_rounding = ScaleRounding::floor;
  EXPECT_EQ(quantize(s, {256.0f}).scales[0], 127);
  EXPECT_EQ(quantize(s, {std::nextafter(512.0f, 0.0f)}).scales[0], 127);
  EXPECT_EQ(quantize(s, {512.0f}).scales[0], 128);
  EXPECT_EQ(quantize(s, {511.0f}).codes[0], 0x7E);  // saturates: 511 > 448
  s.scale_rounding = ScaleRounding::even;
  EXPECT_EQ(quantize(s, {std::nextafter(496.0f, 0.0f)}).scales[0], 127);  // 1.9375: half of 1/8
  EXPECT_EQ(quantize(s, {496.0f}).scales[0], 128);
  BlockSpec four = spec_of(Format::mxfp4);
  four.scale_rounding = ScaleRounding::even;
  EXPECT_EQ(quantize(four, {std::nextafter(7.0f, 0.0f)}).scales[0], 127);
  EXPECT_EQ(quantize(four, {7.0f}).scales[0], 128);
}

TEST(QuantizeEdges, QmaxOf128ForE5m2) {
  BlockSpec s = spec_of(Format::mxfp8_e5m2);
  EXPECT_EQ(quantize(s, {57344.0f}).scales[0], 127);
  s.qmax = 128;
  EXPECT_EQ(quantize(s, {128.0f}).scales[0], 127);
  EXPECT_EQ(quantize(s, {57344.0f}).scales[0], 127 + 9);  // 448 -> 512
}

TEST(QuantizeEdges, ApproximateReciprocalCanDiffer) {
  std::mt19937 engine(9);
  int differs = 0;
  for (int i = 0; i < 4000; ++i) {
    std::vector<float> x(16);
    for (float& v : x) v = std::normal_distribution<float>()(engine);
    BlockSpec exact = spec_of(Format::nvfp4);
    exact.norm = 1.3f;
    BlockSpec approx = exact;
    approx.reciprocal = Reciprocal::approx;
    const test::Block a = test::quantize(exact, x);
    const test::Block b = test::quantize(approx, x);
    EXPECT_EQ(quantize(exact, x).codes, a.codes);
    EXPECT_EQ(quantize(approx, x).codes, b.codes);
    differs += a.factor != b.factor;
  }
  EXPECT_GT(differs, 100);
}

TEST(QuantizeEdges, FourBitFormatsAreTheDefinition) {
  std::mt19937 engine(21);
  for (int i = 0; i < 6000; ++i) {
    const bool nv = i % 2 == 0;
    BlockSpec s = spec_of(nv ? Format::nvfp4 : Format::mxfp4);
    s.scale_rounding = static_cast<ScaleRounding>(engine() % 3);
    s.norm = engine() % 3 == 0 ? 2688.0f : 1.0f;
    std::vector<float> x(1 + engine() % (nv ? 16 : 32));
    const auto exponent = static_cast<int>(engine() % 60) - 40;
    for (float& v : x) {
      v = std::ldexp(static_cast<float>(static_cast<int>(engine() % 257) - 128), exponent);
    }
    const test::Block wanted = test::quantize(s, x);
    const Row got = quantize(s, x);
    ASSERT_EQ(got.scales[0], wanted.scale);
    ASSERT_EQ(got.codes, wanted.codes);
  }
}

TEST(QuantizeEdges, DequantisedErrorIsHalfALastPlace) {
  std::mt19937 engine(31);
  for (int i = 0; i < 2000; ++i) {
    std::vector<float> x(32);
    for (float& v : x) v = std::normal_distribution<float>(0, 100)(engine);
    const BlockSpec s = spec_of(Format::mxfp8_e4m3);
    const Row r = quantize(s, x);
    const float scale = decode_e8m0(r.scales[0]);
    for (size_t j = 0; j < x.size(); ++j) {
      const float back = decode(kE4m3, r.codes[j]) * scale;
      // 3 mantissa bits: half a place is 2^-4 of the value, or 2^-10 of a subnormal's unit.
      EXPECT_LE(std::fabs(back - x[j]), std::max(std::fabs(x[j]) * 0x1p-4f, scale * 0x1p-10f));
    }
  }
}

TEST(QuantizeStochastic, BitsBelongToElementsWhateverTheTiling) {
  BlockSpec s = spec_of(Format::mxfp8_e4m3);
  s.rounding = Rounding::stochastic;
  s.seed = 0x123456789ABCDEF0;
  s.offset = 77;
  std::mt19937 engine(41);
  std::vector<float> x(6 * 70);
  for (float& v : x) v = std::normal_distribution<float>()(engine);
  std::vector<uint8_t> whole(x.size());
  std::vector<uint8_t> scales(6 * 3);
  quantize_rows(s, {x.data(), 70, 6, 70, 0, 70}, {whole.data(), 70, false, 0},
                {scales.data(), nullptr, 3});
  std::vector<uint8_t> parts(x.size());
  for (int64_t r = 0; r < 6; ++r) {
    quantize_rows(s, {x.data() + r * 70, 70, 1, 70, static_cast<uint64_t>(r) * 70, 70},
                  {parts.data(), 70, false, r * 70}, {scales.data(), nullptr, 3});
  }
  EXPECT_EQ(whole, parts);
  // Element 3 of row 2 takes word 143 % 4 of counter 77 + 143 / 4.
  const uint64_t i = 2 * 70 + 3;
  const float factor = test::quantize(s, {x.begin() + 140, x.begin() + 172}).factor;
  const uint32_t random = philox4x32_10(s.seed, s.offset + i / 4)[i % 4];
  EXPECT_EQ(whole[i], encode(kE4m3, x[i] * factor, Round::random, Overflow::saturate, random));
  s.seed ^= 1;
  quantize_rows(s, {x.data(), 70, 6, 70, 0, 70}, {parts.data(), 70, false, 0},
                {scales.data(), nullptr, 3});
  EXPECT_NE(whole, parts);
}

TEST(QuantizeStochastic, MeanIsTheValue) {
  BlockSpec s = spec_of(Format::mxfp8_e4m3);
  s.rounding = Rounding::stochastic;
  std::vector<float> x(32 * 4096, 17.25f);  // between 16 and 18
  for (size_t i = 0; i < x.size(); i += 32) x[i] = 448;
  const Row r = quantize(s, x);
  double sum = 0;
  int64_t count = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    if (i % 32 == 0) continue;
    sum += static_cast<double>(decode(kE4m3, r.codes[i]));
    ++count;
  }
  // Standard deviation of the mean: 2 * sqrt(0.625 * 0.375 / count) = 0.0027.
  EXPECT_NEAR(sum / static_cast<double>(count), 17.25, 0.011);
}

}  // namespace
}  // namespace cohort::numerics
