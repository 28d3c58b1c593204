// The kernels of every instruction set level give the bits of the definition, whatever the input.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

#include "definition.h"
#include "numerics/isa.h"

namespace cohort::numerics {
namespace {

std::vector<std::pair<const char*, const QuantizeKernels*>> levels() {
  std::vector<std::pair<const char*, const QuantizeKernels*>> all{{"v1", &v1::kQuantizeKernels}};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2")) {
    all.push_back({"v3", &v3::kQuantizeKernels});
  }
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
    all.push_back({"v4", &v4::kQuantizeKernels});
  }
  return all;
}

// Blocks of one kind each: any bits at all; ordinary values; a narrow range that meets ties and
// subnormal codes; subnormal floats; a few special values among ordinary ones.
std::vector<float> values(std::mt19937& engine, size_t count) {
  std::vector<float> x(count);
  const auto kind = static_cast<int>(engine() % 5);
  const auto exponent = static_cast<int>(engine() % 250) - 126;
  for (float& v : x) {
    const auto bits = static_cast<uint32_t>(engine());
    switch (kind) {
      case 0:
        v = std::bit_cast<float>(bits);
        break;
      case 1:
        v = std::ldexp(static_cast<float>(static_cast<int32_t>(bits)) * 0x1p-31f, exponent);
        break;
      case 2:
        v = std::ldexp(static_cast<float>(static_cast<int>(bits % 4096) - 2048), exponent - 11);
        break;
      case 3:
        v = std::bit_cast<float>(bits & 0x80FFFFFF);
        break;
      default:
        v = bits % 97 == 0    ? std::numeric_limits<float>::infinity()
            : bits % 101 == 0 ? -std::numeric_limits<float>::quiet_NaN()
            : bits % 7 == 0   ? -0.0f
                              : std::ldexp(static_cast<float>(bits % 1000), exponent);
    }
  }
  return x;
}

BlockSpec spec(std::mt19937& engine) {
  BlockSpec s;
  const bool e5m2 = engine() % 2 == 0;
  s.format = e5m2 ? Format::mxfp8_e5m2 : Format::mxfp8_e4m3;
  s.element = e5m2 ? DType::e5m2 : DType::e4m3;
  s.qmax = engine() % 4 == 0 ? 128.0f : default_qmax(s.element);
  constexpr float kNorms[] = {1, 1, 3, 0.7f, 1e-30f, 1e30f, -2};
  s.norm = kNorms[engine() % 7];
  s.scale_rounding = static_cast<ScaleRounding>(engine() % 3);
  s.reciprocal = static_cast<Reciprocal>(engine() % 2);
  return s;
}

TEST(IsaLevels, RowsAreTheDefinition) {
  std::mt19937 engine(17);
  for (int round = 0; round < 4000; ++round) {
    const BlockSpec s = spec(engine);
    std::vector<float> x;
    for (int b = 0; b < 3; ++b) {
      const std::vector<float> part = values(engine, b < 2 ? 32 : 1 + engine() % 32);
      x.insert(x.end(), part.begin(), part.end());
    }
    for (const auto& [level, kernels] : levels()) {
      std::vector<uint8_t> codes(x.size() + 1, 0xCC);
      std::vector<uint8_t> scales(4, 0xCC);
      kernels->mx8_row(s, x.data(), static_cast<int64_t>(x.size()), codes.data(), scales.data());
      for (size_t b = 0; b < 3; ++b) {
        const auto begin = x.begin() + static_cast<std::ptrdiff_t>(b * 32);
        const test::Block wanted = test::quantize(s, {begin, b < 2 ? begin + 32 : x.end()});
        ASSERT_EQ(scales[b], wanted.scale) << level << " round " << round << " block " << b;
        for (size_t i = 0; i < wanted.codes.size(); ++i) {
          ASSERT_EQ(codes[b * 32 + i], wanted.codes[i])
              << level << " round " << round << " x " << x[b * 32 + i] << " f " << wanted.factor;
        }
      }
      ASSERT_EQ(codes.back(), 0xCC);
      ASSERT_EQ(scales[3], 0xCC);
    }
  }
}

TEST(IsaLevels, ColumnBlocksAreTheDefinition) {
  std::mt19937 engine(18);
  for (int round = 0; round < 150; ++round) {
    const BlockSpec s = spec(engine);
    const int64_t rows = round % 3 == 0 ? 1 + static_cast<int64_t>(engine() % 32) : 32;
    const int64_t width = 1 + static_cast<int64_t>(engine() % 150);
    const int64_t stride = width + static_cast<int64_t>(engine() % 5);
    std::vector<float> x(static_cast<size_t>(rows * stride), 1e38f);
    for (int64_t n = 0; n < width; ++n) {
      const std::vector<float> column = values(engine, static_cast<size_t>(rows));
      for (int64_t r = 0; r < rows; ++r) {
        x[static_cast<size_t>(r * stride + n)] = column[static_cast<size_t>(r)];
      }
    }
    for (const auto& [level, kernels] : levels()) {
      std::vector<uint8_t> codes(x.size(), 0xCC);
      std::vector<uint8_t> scales(static_cast<size_t>(width) + 1, 0xCC);
      kernels->mx8_column_block(s, x.data(), stride, rows, width, codes.data(), stride,
                                scales.data());
      for (int64_t n = 0; n < width; ++n) {
        std::vector<float> column;
        for (int64_t r = 0; r < rows; ++r) column.push_back(x[static_cast<size_t>(r * stride + n)]);
        const test::Block wanted = test::quantize(s, column);
        ASSERT_EQ(scales[static_cast<size_t>(n)], wanted.scale) << level << " round " << round;
        for (int64_t r = 0; r < rows; ++r) {
          ASSERT_EQ(codes[static_cast<size_t>(r * stride + n)],
                    wanted.codes[static_cast<size_t>(r)])
              << level << " round " << round << " x " << column[static_cast<size_t>(r)];
        }
      }
      ASSERT_EQ(scales.back(), 0xCC);
      if (stride > width) {
        ASSERT_EQ(codes[static_cast<size_t>(width)], 0xCC);
      }
    }
  }
}

}  // namespace
}  // namespace cohort::numerics
