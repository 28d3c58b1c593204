// Gated activations on one core, as the reference engine calls them: a panel of f32 rows that stay
// in the second cache; and over rows that come from memory and go there. docs/benchmarks.md records
// the figures.
#include <benchmark/benchmark.h>

#include <limits>
#include <random>
#include <vector>

#include "numerics/glu.h"

namespace {

using cohort::GluAct;
using cohort::Packing;
namespace numerics = cohort::numerics;

constexpr int64_t kCachedRows = 16;
// 64 MB in and 32 MB out, of d_glu 96 MB each: beyond the caches that a core can fill.
constexpr int64_t kMemoryRows = 4096;
constexpr int64_t kCount = 2048;

std::vector<float> values(int64_t count, unsigned seed) {
  std::mt19937 engine(seed);
  std::normal_distribution<float> normal;
  std::vector<float> x(static_cast<size_t>(count));
  for (float& v : x) v = normal(engine);
  return x;
}

numerics::GluSpec spec(const benchmark::State& state) {
  numerics::GluSpec s;
  s.act = static_cast<GluAct>(state.range(0));
  s.packing = static_cast<Packing>(state.range(1));
  s.alpha = 1.702f;
  s.beta = 1;
  s.limit = 7;
  return s;
}

// Items are activated features.
void glu(benchmark::State& state, int64_t rows) {
  const auto x = values(rows * 2 * kCount, 1);
  std::vector<float> y(static_cast<size_t>(rows * kCount));
  const numerics::GluSpec s = spec(state);
  for (auto _ : state) {
    for (int64_t r = 0; r < rows; ++r) {
      numerics::glu_kernels().forward(s, x.data() + r * 2 * kCount, kCount, y.data() + r * kCount);
    }
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * rows * kCount);
}

// All three results.
void d_glu(benchmark::State& state, int64_t rows) {
  const auto c = values(rows * 2 * kCount, 1);
  const auto acc = values(rows * kCount, 2);
  std::vector<float> d(c.size()), act(acc.size());
  const numerics::GluSpec s = spec(state);
  for (auto _ : state) {
    for (int64_t r = 0; r < rows; ++r) {
      double sum = 0;
      numerics::glu_kernels().backward(
          s, {c.data() + r * 2 * kCount, acc.data() + r * kCount, true, 0.5f, kCount,
              d.data() + r * 2 * kCount, act.data() + r * kCount, &sum});
      benchmark::DoNotOptimize(sum);
    }
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * rows * kCount);
}

void arguments(benchmark::internal::Benchmark* b) {
  b->ArgNames({"act", "packing"})->Unit(benchmark::kMicrosecond);
  for (int64_t packing = 0; packing < 4; ++packing) b->Args({0, packing});
  b->Args({2, 0});
}
void in_cache(benchmark::State& state) { glu(state, kCachedRows); }
void from_memory(benchmark::State& state) { glu(state, kMemoryRows); }
void d_in_cache(benchmark::State& state) { d_glu(state, kCachedRows); }
void d_from_memory(benchmark::State& state) { d_glu(state, kMemoryRows); }
BENCHMARK(in_cache)->Name("glu")->Apply(arguments);
BENCHMARK(d_in_cache)->Name("d_glu")->Apply(arguments);
BENCHMARK(from_memory)->Name("glu_from_memory")->Apply(arguments);
BENCHMARK(d_from_memory)->Name("d_glu_from_memory")->Apply(arguments);

}  // namespace
