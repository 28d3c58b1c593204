#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <limits>
#include <string>

#include <cohort/numerics.h>
#include <cohort/safetensors.h>

#include "numerics/quantize.h"
#include "numerics/slow.h"

namespace cohort::test {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kMax = std::numeric_limits<float>::max();

struct Quantised {
  std::vector<std::byte> codes;
  std::vector<std::byte> scales;
  int code(size_t i) const { return static_cast<int>(codes[i]); }
  int scale(size_t i = 0) const { return static_cast<int>(scales[i]); }
};

// One row of at most 16 values, the others 0.
Quantised row_of(QuantizeSpec spec, std::vector<float> x) {
  spec.layout = ScaleLayout::linear;
  const auto n = static_cast<int64_t>(x.size());
  Quantised q{std::vector<std::byte>(x.size(), std::byte{0xAA}),
              std::vector<std::byte>(16 + x.size(), std::byte{0xAA})};
  const Status s = quantize_rows(spec, x.data(), 1, n, q.codes.data(), q.scales.data());
  EXPECT_TRUE(s) << s.findings().text();
  return q;
}

TEST(QuantizeEdge, Zero) {
  const Quantised q = row_of({}, {0, -0.0f});
  EXPECT_EQ(q.scale(), 0);
  EXPECT_EQ(q.code(0), 0);
  EXPECT_EQ(q.code(1), 0x80);
  const Quantised f = row_of({.format = Format::nvfp4}, {0, 0});
  EXPECT_EQ(f.scale(), 0);
  EXPECT_EQ(f.code(0), 0);
}

TEST(QuantizeEdge, DenormalsAreNotFlushed) {
  // q = 448 * 2^-130 / 448 lies below 2^-127, the smallest scale: codes are x * 2^127.
  const Quantised q = row_of({}, {448 * 0x1p-130f, 0x1p-130f});
  EXPECT_EQ(q.scale(), 0);
  EXPECT_EQ(numerics::decode(numerics::kE4m3, static_cast<uint32_t>(q.code(0))), 56.0f);
  EXPECT_EQ(numerics::decode(numerics::kE4m3, static_cast<uint32_t>(q.code(1))), 0.125f);
  const Quantised tiny = row_of({}, {0x1p-136f, 0x1p-137f});
  EXPECT_EQ(tiny.code(0), 1);  // 2^-9, the smallest e4m3
  EXPECT_EQ(tiny.code(1), 0);  // a tie, to even
}

TEST(QuantizeEdge, PowersTimesTheLargestNeedNoLargerScale) {
  for (int k = -100; k < 119; ++k) {
    const float x = std::ldexp(448.0f, k);
    const Quantised exact = row_of({}, {x, -x});
    // 1/448 rounds up in f32, so that q is exactly 2^k after rounding.
    EXPECT_EQ(exact.scale(), 127 + k) << k;
    EXPECT_EQ(exact.code(0), 0x7E);
    EXPECT_EQ(exact.code(1), 0xFE);
    const Quantised above = row_of({}, {x * (1 + 0x1p-7f)});
    EXPECT_EQ(above.scale(), 128 + k);
  }
}

TEST(QuantizeEdge, Infinity) {
  const Quantised q = row_of({}, {kInf, 1, -kInf, 1e30f});
  EXPECT_EQ(q.scale(), 254);
  EXPECT_EQ(q.code(0), 0x7E);
  EXPECT_EQ(q.code(1), 0);
  EXPECT_EQ(q.code(2), 0xFE);
  EXPECT_EQ(q.code(3), 0);
  const Quantised f = row_of({.format = Format::nvfp4}, {kInf, 1});
  EXPECT_EQ(f.scale(), 0x7E);
  EXPECT_EQ(f.code(0), 0x07);
}

TEST(QuantizeEdge, Nan) {
  const Quantised q = row_of({}, {1, kNan, -2, kInf});
  EXPECT_EQ(q.scale(), 0xFF);
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(q.code(i), 0x7F);
  EXPECT_EQ(row_of({.format = Format::nvfp4}, {1, kNan}).scale(), 0x7F);
  EXPECT_EQ(row_of({.format = Format::mxfp4}, {1, -kNan}).scale(), 0xFF);
  EXPECT_EQ(row_of({.format = Format::mxfp8_e5m2}, {1, kNan}).code(0), 0x7F);
}

TEST(QuantizeEdge, NormOtherThanAPowerOfTwo) {
  // q = (amax * (1/448)) * 3 in this order; f = 3 / scale.
  const float x = 1.3f;
  const float q = (x * (1.0f / 448)) * 3.0f;
  const Quantised r = row_of({.norm = 3}, {x});
  EXPECT_EQ(r.scale(), numerics::encode_e8m0(q, numerics::Round::up));
  const float f = 3.0f / numerics::decode_e8m0(static_cast<uint8_t>(r.scale()));
  EXPECT_EQ(static_cast<uint32_t>(r.code(0)), numerics::encode(numerics::kE4m3, x * f));
  const Quantised negative = row_of({.norm = -3}, {x});
  EXPECT_EQ(negative.scale(), r.scale());
  EXPECT_EQ(negative.code(0), r.code(0) | 0x80);
}

TEST(QuantizeEdge, OrderOfQIsFixed) {
  // A value for which (amax * r) * norm and amax * (r * norm) lie on two sides of a power of two.
  std::mt19937 engine(8);
  int found = 0;
  for (int i = 0; i < 2000000 && found < 3; ++i) {
    const float norm = 1 + static_cast<float>(engine() % 1000) / 1000;
    const float r = 1.0f / 448;
    const float x = std::nextafter(448.0f / norm, engine() % 2 ? kInf : 0.0f);
    const int one = numerics::encode_e8m0((x * r) * norm, numerics::Round::up);
    if (one == numerics::encode_e8m0(x * (r * norm), numerics::Round::up)) continue;
    ++found;
    EXPECT_EQ(row_of({.norm = norm}, {x}).scale(), one);
  }
  EXPECT_EQ(found, 3);
}

TEST(QuantizeEdge, ScaleRoundings) {
  const auto scale = [](ScaleRounding rounding, float x, Format format = Format::mxfp8_e4m3) {
    return row_of({.format = format, .scale_rounding = rounding}, {x, 0}).scale() - 127;
  };
  EXPECT_EQ(scale(ScaleRounding::up, 500), 1);
  EXPECT_EQ(scale(ScaleRounding::floor, 500), 0);
  EXPECT_EQ(scale(ScaleRounding::floor, 511.9f), 0);
  EXPECT_EQ(scale(ScaleRounding::floor, 512), 1);
  EXPECT_EQ(scale(ScaleRounding::even, 495.9f), 0);
  EXPECT_EQ(scale(ScaleRounding::even, 496), 1);  // 1.9375 rounds half up to 2 at 3 bits
  EXPECT_EQ(scale(ScaleRounding::floor, 65535, Format::mxfp8_e5m2), 0);
  EXPECT_EQ(scale(ScaleRounding::even, 61440, Format::mxfp8_e5m2), 1);
  EXPECT_EQ(scale(ScaleRounding::floor, 7.9f, Format::mxfp4), 0);
  EXPECT_EQ(scale(ScaleRounding::even, 7, Format::mxfp4), 1);
  EXPECT_EQ(scale(ScaleRounding::even, kMax), 120);  // to 2^128, which is no infinity
  EXPECT_EQ(scale(ScaleRounding::even, kInf), 127);
  EXPECT_EQ(scale(ScaleRounding::floor, 0x1p-140f), -127);
}

TEST(QuantizeEdge, QmaxAndReciprocal) {
  EXPECT_EQ(row_of({.format = Format::mxfp8_e5m2, .qmax = 128}, {128}).scale(), 127);
  EXPECT_EQ(row_of({.format = Format::mxfp8_e5m2}, {57344}).scale(), 127);
  // 3 * rounded(1 / s) and rounded(3 / s) differ for some E4M3 scale.
  int different = 0;
  for (int i = 1; i < 400; ++i) {
    const float x = static_cast<float>(i) * 0.37f;
    const QuantizeSpec exact{.format = Format::nvfp4, .norm = 2.9f};
    QuantizeSpec approx = exact;
    approx.reciprocal = Reciprocal::approx;
    const Quantised a = row_of(approx, {x, x / 12});
    const float s = numerics::decode(numerics::kE4m3, static_cast<uint32_t>(a.scale()));
    const float f = 2.9f * (1.0f / s);
    different += f != 2.9f / s ? 1 : 0;
    const uint32_t high = numerics::encode(numerics::kE2m1, (x / 12) * f);
    EXPECT_EQ(a.code(0), static_cast<int>(numerics::encode(numerics::kE2m1, x * f) | high << 4));
    EXPECT_EQ(a.scale(), row_of(exact, {x, x / 12}).scale());
  }
  EXPECT_GT(different, 0);
}

TEST(QuantizeEdge, NvScaleRoundsToEvenAndClamps) {
  // q = 6 * 1.0625 / 6 lies between 1 and 1.125.
  EXPECT_EQ(row_of({.format = Format::nvfp4, .qmax = 1}, {1.0625f, 0}).scale(), 0x38);
  EXPECT_EQ(row_of({.format = Format::nvfp4, .qmax = 1}, {1.1875f, 0}).scale(), 0x3A);
  EXPECT_EQ(row_of({.format = Format::nvfp4, .qmax = 1}, {1e6f, 0}).scale(), 0x7E);
}

TEST(QuantizeEdge, F32Scales) {
  std::vector<float> x(200, 1.0f);
  x[3] = -8;
  x[150] = 3;
  const auto scale = [](const Quantised& q, size_t i) {
    float f = 0;
    std::memcpy(&f, q.scales.data() + 4 * i, 4);
    return f;
  };
  const Quantised block = row_of({.format = Format::fp8_block128}, x);
  EXPECT_EQ(scale(block, 0), 8 * (1.0f / 448));
  EXPECT_EQ(scale(block, 1), 3 * (1.0f / 448));
  EXPECT_EQ(block.code(3), 0xFE);
  EXPECT_EQ(block.code(150), 0x7E);
  EXPECT_EQ(scale(row_of({.format = Format::fp8_row}, x), 0), 8 * (1.0f / 448));
  EXPECT_EQ(scale(row_of({.format = Format::fp8_tensor, .e5m2 = true}, x), 0), 8 * (1.0f / 57344));
  x[7] = kInf;
  EXPECT_EQ(scale(row_of({.format = Format::fp8_row}, x), 0), kMax);
  x[7] = kNan;
  EXPECT_TRUE(std::isnan(scale(row_of({.format = Format::fp8_row}, x), 0)));
  EXPECT_EQ(row_of({.format = Format::fp8_row}, x).code(0), 0x7F);
}

const std::byte* bytes_of(const TensorView& v) { return static_cast<const std::byte*>(v.data); }

struct Case {
  explicit Case(const std::string& name)
      : file(*TensorFile::read(std::string(COHORT_TEST_DATA) + "/vectors/" + name +
                               ".safetensors")) {}
  TensorView view(const char* name, DType type) const { return *file.view(file.find(name), type); }
  TensorFile file;
};

int64_t bytes_in(const TensorView& v, int rank) {
  int64_t n = 1;
  for (int i = 0; i < rank; ++i) n *= v.shape[i];
  return n * bits(v.dtype) / 8;
}

void expect_bytes(const std::vector<std::byte>& got, const TensorView& wanted, int rank) {
  ASSERT_EQ(static_cast<int64_t>(got.size()), bytes_in(wanted, rank));
  for (size_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i], bytes_of(wanted)[i]) << "byte " << i;
}

TEST(QuantizeVector, Mxfp8RowsAndColumns) {
  const Case c("quantize_mxfp8_row_col");
  const auto* x = static_cast<const float*>(c.view("in.x", DType::f32).data);
  const auto* counts = static_cast<const int32_t*>(c.view("in.groups", DType::i32).data);
  const int64_t boundaries[] = {0, counts[0], counts[0] + counts[1], 161};
  std::vector<std::byte> codes(161 * 48);
  std::vector<std::byte> scales(1024, std::byte{0xAA});
  ASSERT_TRUE(quantize_rows({}, x, 161, 48, codes.data(), scales.data()));
  expect_bytes(codes, c.view("out.q", DType::e4m3), 2);
  expect_bytes(scales, c.view("out.s", DType::e8m0), 1);
  ASSERT_TRUE(quantize_columns({}, x, 161, 48, boundaries, codes.data(), scales.data()));
  expect_bytes(codes, c.view("out.qt", DType::e4m3), 2);
  expect_bytes(scales, c.view("out.st", DType::e8m0), 1);
}

TEST(QuantizeVector, Nvfp4WithNorm) {
  const Case c("quantize_nvfp4_norm");
  const auto* x = static_cast<const float*>(c.view("in.x", DType::f32).data);
  const auto* norm = static_cast<const float*>(c.view("in.norm", DType::f32).data);
  std::vector<std::byte> codes(24 * 48);
  std::vector<std::byte> scales(24 * 6);
  const QuantizeSpec spec{.format = Format::nvfp4, .layout = ScaleLayout::linear, .norm = norm[0]};
  ASSERT_TRUE(quantize_rows(spec, x, 24, 96, codes.data(), scales.data()));
  expect_bytes(codes, c.view("out.q", DType::e2m1), 2);
  expect_bytes(scales, c.view("out.s", DType::e4m3), 2);
}

}  // namespace
}  // namespace cohort::test
