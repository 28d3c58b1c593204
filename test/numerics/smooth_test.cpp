// sigmoid and tanh against long double, over the whole range of f32; the gated kernels of every
// instruction set level against each other.
#include "numerics/smooth.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "numerics/glu.h"

namespace cohort::numerics {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Units in the last place of the f32 nearest to `exact` that `got` is away.
double error(float got, long double exact) {
  int exponent = 0;
  std::frexp(exact, &exponent);
  const long double unit = std::ldexp(1.0L, std::max(exponent - 24, -149));
  return static_cast<double>(std::fabs(static_cast<long double>(got) - exact) / unit);
}

TEST(Smooth, IsWithinALittleMoreThanHalfAUnit) {
  double worst_sigmoid = 0;
  double worst_tanh = 0;
  for (uint64_t b = 0; b < uint64_t{1} << 32; b += 16381) {  // a prime: every exponent is met
    const float x = bits_float(static_cast<uint32_t>(b));
    if (!std::isfinite(x)) continue;
    const auto exact = static_cast<long double>(x);
    worst_sigmoid = std::max(worst_sigmoid, error(sigmoid(x), 1 / (1 + std::exp(-exact))));
    worst_tanh = std::max(worst_tanh, error(numerics::tanh(x), std::tanh(exact)));
  }
  EXPECT_LE(worst_sigmoid, 0.5001);
  EXPECT_LE(worst_tanh, 0.5001);
  EXPECT_GT(worst_sigmoid, 0.49);  // the measure measures
  EXPECT_GT(worst_tanh, 0.49);
}

TEST(Smooth, Edges) {
  EXPECT_EQ(sigmoid(-kInfinity), 0);
  EXPECT_EQ(sigmoid(kInfinity), 1);
  EXPECT_EQ(sigmoid(0), 0.5f);
  EXPECT_EQ(sigmoid(-100), 0x1.bp-145f);  // a denormal
  EXPECT_TRUE(std::isnan(sigmoid(std::numeric_limits<float>::quiet_NaN())));
  EXPECT_EQ(numerics::tanh(-kInfinity), -1);
  EXPECT_EQ(numerics::tanh(kInfinity), 1);
  EXPECT_TRUE(std::signbit(numerics::tanh(-0.0f)));
  EXPECT_FALSE(std::signbit(numerics::tanh(0.0f)));
  EXPECT_EQ(numerics::tanh(1e-40f), 1e-40f);
  EXPECT_TRUE(std::isnan(numerics::tanh(std::numeric_limits<float>::quiet_NaN())));
}

std::vector<std::pair<const char*, const GluKernels*>> levels() {
  std::vector<std::pair<const char*, const GluKernels*>> all{{"v1", &v1::kGluKernels}};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2")) {
    all.push_back({"v3", &v3::kGluKernels});
  }
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
    all.push_back({"v4", &v4::kGluKernels});
  }
  return all;
}

// The formulas of docs/ops, one element at a time.
struct Element {
  float y, d_gate, d_up, act, term;
};

Element by_definition(const GluSpec& k, float gate, float up, float acc, float p) {
  Element e{};
  if (k.act == GluAct::situ) {
    const float s = sigmoid(gate);
    const float tg = numerics::tanh(gate / k.gate_bound);
    const float tu = numerics::tanh(up / k.up_bound);
    const float left = k.gate_bound * tg * s;
    const float right = k.up_bound * tu;
    e.y = left * right;
    e.term = acc * right * left;
    const float slope = (1.0f - tg) * (1.0f + tg) + k.gate_bound * tg * (1.0f - s);
    e.d_gate = acc * p * right * s * slope;
    e.d_up = acc * p * left * ((1.0f - tu) * (1.0f + tu));
  } else {
    const float g = gate > k.limit ? k.limit : gate;
    float u = up > k.limit ? k.limit : up;
    u = u < -k.limit ? -k.limit : u;
    const float s = sigmoid(k.alpha * g);
    e.y = s * g * (u + k.beta);
    e.term = acc * (u + k.beta) * g * s;
    e.d_gate =
        gate > k.limit ? 0.0f : acc * p * (u + k.beta) * s * (1.0f + k.alpha * g * (1.0f - s));
    e.d_up = up > k.limit || up < -k.limit ? 0.0f : acc * p * (g * s);
  }
  e.act = e.y * p;
  return e;
}

// As bits, with one NaN.
uint32_t bits_of(float x) { return std::isnan(x) ? 0x7FC00000 : float_bits(x); }

std::vector<float> numbers(std::mt19937& engine, int64_t count) {
  std::normal_distribution<float> normal(0, 6);
  std::vector<float> v(static_cast<size_t>(count));
  for (float& x : v) {
    const auto kind = engine() % 40;
    x = kind == 0   ? bits_float(static_cast<uint32_t>(engine()))
        : kind == 1 ? 7.0f
        : kind == 2 ? -7.0f
        : kind == 3 ? -0.0f
                    : normal(engine);
  }
  return v;
}

TEST(GluKernels, EveryLevelAndPackingGivesTheBitsOfTheDefinition) {
  std::mt19937 engine(3);
  const GluSpec specs[] = {{GluAct::swiglu, Packing::split, 1, 0, kInfinity, 4, 25},
                           {GluAct::swiglu, Packing::split, 1.702f, 1, 7, 4, 25},
                           {GluAct::situ, Packing::split, 1, 0, kInfinity, 4, 25}};
  for (const auto& [level, kernels] : levels()) {
    for (GluSpec k : specs) {
      for (const Packing packing :
           {Packing::split, Packing::interleaved, Packing::bands8, Packing::bands32}) {
        k.packing = packing;
        const int64_t unit = packing == Packing::split ? 1 : glu_band(packing, 0);
        for (const int64_t count : {unit, 3 * unit, int64_t{256}, 256 + unit, 1024 + 9 * unit}) {
          const auto c = numbers(engine, 2 * count);
          const auto acc = numbers(engine, count);
          std::vector<float> y(static_cast<size_t>(count)), d(c.size()), act(y.size());
          double sum = -1;
          GluGradRow row{c.data(), acc.data(), false, 0.7f, count, d.data(), act.data(), &sum};
          kernels->forward(k, c.data(), count, y.data());
          kernels->backward(k, row);
          const int64_t band = glu_band(packing, 2 * count);
          double want_sum = 0;
          for (int64_t i = 0; i < count; ++i) {
            const auto g = static_cast<size_t>(i / band * 2 * band + i % band);
            const size_t u = g + static_cast<size_t>(band);
            const auto n = static_cast<size_t>(i);
            const Element e = by_definition(k, c[g], c[u], acc[n], 0.7f);
            ASSERT_EQ(bits_of(y[n]), bits_of(e.y)) << level << " " << i << " of " << count;
            ASSERT_EQ(bits_of(d[g]), bits_of(e.d_gate)) << level << " " << i << " of " << count;
            ASSERT_EQ(bits_of(d[u]), bits_of(e.d_up)) << level << " " << i << " of " << count;
            ASSERT_EQ(bits_of(act[n]), bits_of(e.act)) << level << " " << i << " of " << count;
            want_sum += static_cast<double>(e.term);
          }
          ASSERT_TRUE(sum == want_sum || (std::isnan(sum) && std::isnan(want_sum))) << level;
        }
      }
    }
  }
}

TEST(GluKernels, WhatIsNotWantedIsNotWritten) {
  const std::vector<float> c{1, 2, 3, 4};
  const std::vector<float> acc{1, 1};
  GluGradRow row{c.data(), acc.data(), false, 1, 2, nullptr, nullptr, nullptr};
  GluSpec k;
  k.limit = kInfinity;
  glu_kernels().backward(k, row);  // no result at all
  double sum = 0;
  row.sum = &sum;
  glu_kernels().backward(k, row);
  EXPECT_EQ(sum, static_cast<double>(3 * sigmoid(1)) + static_cast<double>(4 * 2 * sigmoid(2)));
}

}  // namespace
}  // namespace cohort::numerics
