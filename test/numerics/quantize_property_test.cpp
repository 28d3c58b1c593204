#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

#include <cohort/numerics.h>

#include "base/isa_level.h"
#include "numerics/isa.h"
#include "numerics/quantize.h"
#include "numerics/slow.h"

namespace cohort::test {
namespace {

constexpr Format kBlockFormats[] = {Format::mxfp8_e4m3, Format::mxfp8_e5m2, Format::mxfp4,
                                    Format::nvfp4};

std::vector<float> normal_values(size_t n, unsigned seed) {
  std::mt19937 engine(seed);
  std::normal_distribution<float> normal;
  std::vector<float> x(n);
  for (float& v : x) v = normal(engine) * std::ldexp(1.0f, static_cast<int>(engine() % 9) - 4);
  return x;
}

// Every kind of float, blocks of one magnitude among them.
std::vector<float> wild_values(size_t n, unsigned seed) {
  std::mt19937 engine(seed);
  std::vector<float> x(n);
  for (size_t i = 0; i < n; ++i) {
    const uint32_t kind = static_cast<uint32_t>(i / 64 % 4);
    uint32_t b = static_cast<uint32_t>(engine());
    if (kind == 1) b = (b & 0x80FFFFFF) | 0x3F000000;  // about 1
    if (kind == 2) b &= 0x80FFFFFF;                    // denormals and their neighbours
    if (kind == 3 && engine() % 100 != 0) b = (b & 0x83FFFFFF) | 0x7C000000;  // huge
    x[i] = std::bit_cast<float>(b);
  }
  return x;
}

std::vector<const numerics::QuantizeKernels*> levels() {
  std::vector<const numerics::QuantizeKernels*> all{&numerics::v1::kQuantizeKernels};
  if (base::isa_level() >= base::IsaLevel::v3) all.push_back(&numerics::v3::kQuantizeKernels);
  if (base::isa_level() >= base::IsaLevel::v4) all.push_back(&numerics::v4::kQuantizeKernels);
  return all;
}

numerics::BlockSpec block_spec(DType element, ScaleRounding rounding, float norm) {
  numerics::BlockSpec s;
  s.format = element == DType::e5m2 ? Format::mxfp8_e5m2 : Format::mxfp8_e4m3;
  s.element = element;
  s.qmax = numerics::default_qmax(element);
  s.scale_rounding = rounding;
  s.norm = norm;
  return s;
}

// A transposed target takes the scalar form, which the kernels have to match bit for bit.
void expect_levels_agree(const numerics::BlockSpec& s, const std::vector<float>& x, int64_t rows,
                         int64_t columns) {
  const auto n = static_cast<size_t>(rows * columns);
  const int64_t blocks = (columns + 31) / 32;
  std::vector<uint8_t> wanted(n), codes(n), wanted_scales(n), scales(n);
  const numerics::Source source{x.data(), columns, rows, columns, 0, 0};
  numerics::quantize_rows(s, source, {wanted.data(), rows, true, 0},
                          {wanted_scales.data(), nullptr, blocks});
  for (const auto* level : levels()) {
    std::fill(scales.begin(), scales.end(), uint8_t{0});
    for (int64_t r = 0; r < rows; ++r) {
      level->mx8_row(s, x.data() + r * columns, columns, codes.data() + r * columns,
                     scales.data() + r * blocks);
      for (int64_t c = 0; c < columns; ++c) {
        ASSERT_EQ(codes[static_cast<size_t>(r * columns + c)],
                  wanted[static_cast<size_t>(c * rows + r)])
            << x[static_cast<size_t>(r * columns + c)];
      }
    }
    ASSERT_EQ(scales, wanted_scales);
  }
  numerics::quantize_column_block(s, source, {wanted.data(), rows, true, 0},
                                  {wanted_scales.data(), nullptr, 1});
  for (const auto* level : levels()) {
    level->mx8_column_block(s, x.data(), columns, rows, columns, codes.data(), columns,
                            scales.data());
    for (int64_t c = 0; c < columns; ++c) {
      ASSERT_EQ(scales[static_cast<size_t>(c)], wanted_scales[static_cast<size_t>(c)]);
      for (int64_t r = 0; r < rows; ++r) {
        ASSERT_EQ(codes[static_cast<size_t>(r * columns + c)],
                  wanted[static_cast<size_t>(c * rows + r)]);
      }
    }
  }
}

TEST(QuantizeKernels, EveryLevelGivesTheBitsOfTheScalarForm) {
  unsigned seed = 0;
  for (DType element : {DType::e4m3, DType::e5m2}) {
    for (ScaleRounding rounding : {ScaleRounding::up, ScaleRounding::floor, ScaleRounding::even}) {
      for (float norm : {1.0f, 0.3f, -2.7f, 1e30f}) {
        for (int64_t columns : {1, 31, 64, 97, 333}) {
          expect_levels_agree(block_spec(element, rounding, norm),
                              wild_values(static_cast<size_t>(32 * columns), ++seed), 32, columns);
        }
      }
    }
  }
}

TEST(QuantizeKernels, EveryCodeBoundaryOfEachElement) {
  for (const SlowFormat& f : slow_formats()) {
    if (f.type != DType::e4m3 && f.type != DType::e5m2) continue;
    std::vector<float> x;
    for (uint32_t code = 0; code < f.max_code; ++code) {
      const auto middle = static_cast<float>((slow_value(f, code) + slow_value(f, code + 1)) / 2);
      for (float v : {middle, std::nextafter(middle, 0.0f), std::nextafter(middle, 1e30f)}) {
        std::vector<float> block(32, -v);
        block[0] = static_cast<float>(slow_value(f, f.max_code));  // fixes the scale at 1
        x.insert(x.end(), block.begin(), block.end());
      }
    }
    const auto s = block_spec(f.type, ScaleRounding::up, 1);
    std::vector<uint8_t> codes(x.size()), scales(x.size() / 32);
    for (const auto* level : levels()) {
      level->mx8_row(s, x.data(), static_cast<int64_t>(x.size()), codes.data(), scales.data());
      for (size_t i = 0; i < x.size(); ++i) {
        ASSERT_EQ(scales[i / 32], 127);
        ASSERT_EQ(codes[i], slow_encode(f, x[i], numerics::Round::nearest_even, true, 0)) << x[i];
      }
    }
  }
}

struct Sides {
  std::vector<std::byte> codes = std::vector<std::byte>(1 << 16);
  std::vector<std::byte> scales = std::vector<std::byte>(1 << 16);
};

TEST(Quantize, ReadBackLiesWithinHalfAStep) {
  constexpr int64_t kRows = 40;
  constexpr int64_t kColumns = 72;
  const auto x = normal_values(kRows * kColumns, 21);
  constexpr Format kAll[] = {Format::mxfp8_e4m3,  Format::mxfp8_e5m2, Format::mxfp4,
                             Format::nvfp4,       Format::fp8_tensor, Format::fp8_row,
                             Format::fp8_block128};
  for (Format format : kAll) {
    Sides q;
    const QuantizeSpec spec{.format = format, .norm = 1.7f};
    ASSERT_TRUE(quantize_rows(spec, x.data(), kRows, kColumns, q.codes.data(), q.scales.data()));
    std::vector<float> back(x.size());
    ASSERT_TRUE(
        dequantize_rows(spec, q.codes.data(), q.scales.data(), kRows, kColumns, back.data()));
    const DType element = info(format).element;
    const double relative = std::ldexp(1.0, element == DType::e2m1   ? -2
                                            : element == DType::e5m2 ? -3
                                                                     : -4);
    float amax = 0;
    for (float v : x) amax = std::max(amax, std::fabs(v));
    // Half a step: relative for normal codes, else of the smallest code of the coarsest scale; an
    // E4M3 scale may be 1/16 too small, which saturates.
    const double smallest = amax * (element == DType::e2m1   ? 0.25 / 3
                                    : element == DType::e5m2 ? 1e-9
                                                             : 0x1p-9 / 448);
    const double saturation = format == Format::nvfp4 ? 1.0 / 16 : 0;
    for (size_t i = 0; i < x.size(); ++i) {
      ASSERT_LE(std::fabs(back[i] - x[i]),
                std::fabs(x[i]) * (relative * 1.001 + saturation) + smallest)
          << name(format) << " " << x[i];
    }
  }
}

TEST(Quantize, ColumnsAreTheRowsOfTheTransposed) {
  constexpr int64_t kRows = 96;
  constexpr int64_t kColumns = 70;
  const auto x = wild_values(kRows * kColumns, 22);
  std::vector<float> t(x.size());
  for (size_t r = 0; r < kRows; ++r) {
    for (size_t c = 0; c < kColumns; ++c) t[c * kRows + r] = x[r * kColumns + c];
  }
  for (Format format : kBlockFormats) {
    for (Rounding rounding : {Rounding::nearest_even}) {
      Sides row, column;
      const QuantizeSpec spec{.format = format,
                              .rounding = rounding,
                              .col_layout = ScaleLayout::global,
                              .col_storage = ColStorage::transposed};
      ASSERT_TRUE(
          quantize_rows(spec, t.data(), kColumns, kRows, row.codes.data(), row.scales.data()));
      ASSERT_TRUE(quantize_columns(spec, x.data(), kRows, kColumns, {}, column.codes.data(),
                                   column.scales.data()));
      EXPECT_EQ(row.codes, column.codes) << name(format);
      EXPECT_EQ(row.scales, column.scales) << name(format);
    }
  }
}

TEST(Quantize, ColumnBlocksStartAnewAtEachGroup) {
  constexpr int64_t kColumns = 33;
  const int64_t boundaries[] = {4, 50, 50, 98};
  const auto x = normal_values(100 * kColumns, 23);
  for (Format format : kBlockFormats) {
    Sides whole;
    std::fill(whole.codes.begin(), whole.codes.end(), std::byte{0xAA});
    QuantizeSpec spec{.format = format};
    ASSERT_TRUE(quantize_columns(spec, x.data(), 100, kColumns, boundaries, whole.codes.data(),
                                 whole.scales.data()));
    std::vector<float> back(x.size(), 77.0f);
    ASSERT_TRUE(dequantize_columns(spec, whole.codes.data(), whole.scales.data(), 100, kColumns,
                                   boundaries, back.data()));
    int64_t base = 0;
    for (int g = 0; g < 3; ++g) {
      const int64_t first = boundaries[g];
      const int64_t rows = boundaries[g + 1] - first;
      Sides part;
      std::vector<float> alone(static_cast<size_t>(rows * kColumns));
      ASSERT_TRUE(quantize_columns(spec, x.data() + first * kColumns, rows, kColumns, {},
                                   part.codes.data(), part.scales.data()));
      ASSERT_TRUE(dequantize_columns(spec, part.codes.data(), part.scales.data(), rows, kColumns,
                                     {}, alone.data()));
      const auto same = back.begin() + first * kColumns;
      EXPECT_TRUE(std::equal(alone.begin(), alone.end(), same));
      const int64_t bytes = *scale_bytes({.layout = ScaleLayout::per_group,
                                          .rows = rows,
                                          .columns = kColumns,
                                          .block = info(format).block});
      EXPECT_EQ(
          std::memcmp(part.scales.data(), whole.scales.data() + base, static_cast<size_t>(bytes)),
          0);
      base += bytes;
    }
    EXPECT_EQ(back[0], 77.0f);
    EXPECT_EQ(back[98 * kColumns], 77.0f);
    if (info(format).element != DType::e2m1) {
      EXPECT_EQ(whole.codes[0], std::byte{0xAA});
    }
  }
}

TEST(Quantize, StochasticBitsDoNotDependOnTiling) {
  constexpr int64_t kColumns = 64;
  const auto x = normal_values(32 * kColumns, 24);
  const QuantizeSpec spec{.rounding = Rounding::stochastic, .seed = 0x123456789ABC, .offset = 1000};
  Sides row, again, other;
  ASSERT_TRUE(quantize_rows(spec, x.data(), 32, kColumns, row.codes.data(), row.scales.data()));
  QuantizeSpec shifted = spec;
  shifted.offset += 10 * kColumns / 4;
  ASSERT_TRUE(quantize_rows(shifted, x.data() + 10 * kColumns, 22, kColumns, again.codes.data(),
                            again.scales.data()));
  EXPECT_EQ(std::memcmp(row.codes.data() + 10 * kColumns, again.codes.data(), 22 * kColumns), 0);
  shifted.seed ^= 1;
  ASSERT_TRUE(
      quantize_rows(shifted, x.data(), 32, kColumns, other.codes.data(), other.scales.data()));
  EXPECT_NE(std::memcmp(row.codes.data(), other.codes.data(), 32 * kColumns), 0);
}

TEST(Quantize, StochasticRoundingIsRightOnAverage) {
  // Scale 1: 17.25 lies between the e4m3 codes of 16 and 18; 5/8 of the elements round up.
  constexpr int64_t kColumns = 32 * 1024;
  std::vector<float> x(kColumns, 17.25f);
  for (size_t i = 0; i < x.size(); i += 32) x[i] = 448;
  Sides q;
  const QuantizeSpec spec{
      .layout = ScaleLayout::linear, .rounding = Rounding::stochastic, .seed = 9};
  ASSERT_TRUE(quantize_rows(spec, x.data(), 1, kColumns, q.codes.data(), q.scales.data()));
  int up = 0;
  int all = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    if (i % 32 == 0) continue;
    const float v = numerics::decode(numerics::kE4m3, static_cast<uint32_t>(q.codes[i]));
    ASSERT_TRUE(v == 16 || v == 18);
    up += v == 18 ? 1 : 0;
    ++all;
  }
  EXPECT_NEAR(static_cast<double>(up) / all, 0.625, 0.012);  // 4 standard deviations
}

TEST(Quantize, ShiftedRowsReadBack) {
  const int64_t boundaries[] = {0, 5, 135, 135, 200};
  const auto x = normal_values(200 * 48, 25);
  Sides plain, shifted;
  const QuantizeSpec tiled{};
  const QuantizeSpec spec{.layout = ScaleLayout::shifted_128};
  ASSERT_TRUE(quantize_rows(tiled, x.data(), 200, 48, plain.codes.data(), plain.scales.data()));
  ASSERT_TRUE(quantize_rows(spec, x.data(), 200, 48, shifted.codes.data(), shifted.scales.data(),
                            boundaries));
  EXPECT_EQ(plain.codes, shifted.codes);
  std::vector<float> a(x.size()), b(x.size());
  ASSERT_TRUE(dequantize_rows(tiled, plain.codes.data(), plain.scales.data(), 200, 48, a.data()));
  ASSERT_TRUE(dequantize_rows(spec, shifted.codes.data(), shifted.scales.data(), 200, 48, b.data(),
                              boundaries));
  EXPECT_EQ(a, b);
  const ScaleMatrix m{
      .layout = ScaleLayout::shifted_128, .rows = 200, .columns = 48, .boundaries = boundaries};
  const ScaleMatrix t{.rows = 200, .columns = 48};
  for (int64_t r = 0; r < 200; ++r) {
    ASSERT_EQ(shifted.scales[static_cast<size_t>(*scale_offset(m, r, 32))],
              plain.scales[static_cast<size_t>(*scale_offset(t, r, 32))]);
  }
}

TEST(Quantize, NamesWhatIsWrong) {
  float x[8] = {};
  std::byte b[1024];
  const auto code = [&](const QuantizeSpec& s, int64_t rows = 1, int64_t columns = 8) {
    const Status status = quantize_rows(s, x, rows, columns, b, b);
    return status ? std::string("none") : std::string(status.findings()[0].code);
  };
  EXPECT_EQ(code({.layout = ScaleLayout::global}), "E-LAYOUT");
  EXPECT_EQ(code({.e5m2 = true}), "E-ATTRIBUTE");
  EXPECT_EQ(code({.qmax = -1}), "E-ATTRIBUTE");
  EXPECT_EQ(code({.format = Format::fp8_row, .reciprocal = Reciprocal::approx}), "E-ATTRIBUTE");
  EXPECT_EQ(code({.reciprocal = Reciprocal::approx}), "E-ATTRIBUTE");
  EXPECT_EQ(code({.format = Format::nvfp4, .reciprocal = Reciprocal::approx}), "none");
  for (const Format f : {Format::nvfp4, Format::fp8_tensor, Format::fp8_row}) {
    EXPECT_EQ(code({.format = f, .scale_rounding = ScaleRounding::even}), "E-ATTRIBUTE");
  }
  EXPECT_EQ(code({.qmax = 100, .scale_rounding = ScaleRounding::floor}), "E-ATTRIBUTE");
  EXPECT_EQ(code({.format = Format::nvfp4}, 1, 7), "E-SHAPE");
  EXPECT_EQ(code({}, -1, 8), "E-SHAPE");
  EXPECT_EQ(code({}, int64_t{1} << 40, int64_t{1} << 40), "E-OVERFLOW");
  EXPECT_EQ(code({}), "none");
  const int64_t boundaries[] = {0, 3, 8};
  EXPECT_FALSE(quantize_columns({.col_layout = ScaleLayout::global}, x, 8, 1, boundaries, b, b));
  EXPECT_FALSE(quantize_columns({.format = Format::fp8_row}, x, 8, 1, boundaries, b, b));
}

}  // namespace
}  // namespace cohort::test
