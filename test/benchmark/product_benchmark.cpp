// The reference product, operands dequantised tile by tile, against Eigen's own dgemm of the same
// size: same instruction set, same threads, runs taken in turn.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <vector>

#include "base/parallel.h"
#include "benchmark/fc1.h"
#include "engine/reference/product.h"

namespace {

using namespace cohort;
using benchmarks::Memory;
using Clock = std::chrono::steady_clock;

constexpr int64_t kExperts = 4;

double seconds_since(Clock::time_point t) {
  return std::chrono::duration<double>(Clock::now() - t).count();
}

Graph product(int64_t size, bool quantised) {
  Builder g("product");
  const Dim t = g.dynamic("T", 65536);
  const auto ends = g.groups("ends", kExperts, GroupForm::ends);
  if (quantised) {
    const auto x = g.scaled_input("x", {t, size}, Format::mxfp8_e4m3);
    const auto w = g.scaled_weights("w", {kExperts, size, size}, Format::mxfp8_e4m3);
    g.output("y", g.add(GroupedGemm{.a = x, .b = w, .groups = ends}));
  } else {
    const auto x = g.input("x", {t, size}, DType::bf16);
    const auto w = g.weights("w", {kExperts, size, size}, DType::bf16);
    g.output("y", g.add(GroupedGemm{.a = x, .b = w, .groups = ends}));
  }
  return *std::move(g).finish();
}

// f64 operands of one expert and room for all rows. The product of whole matrices is what
// isa_product.cpp hands to Eigen, compiled for this processor's level; threads share the rows.
class Dgemm {
 public:
  explicit Dgemm(int64_t size)
      : n_(size), a_(elements(), 0.5), b_(elements(), 0.25), c_(elements(), 0) {}
  void run(int64_t rows_each, int64_t groups) {
    const int threads = base::thread_count(0);
    for (int64_t g = 0; g < groups; ++g) {
      const int64_t share = (rows_each + threads - 1) / threads;
      base::parallel_for(
          threads, threads,
          [&](int64_t i, int) {
            const int64_t first = std::min(rows_each, i * share);
            const int64_t rows = std::min(share, rows_each - first);
            const int64_t at = (g * rows_each + first) * n_;
            engine::reference::product_tile()(a_.data() + at, n_, b_.data(), n_, c_.data() + at, n_,
                                              rows, n_, n_);
          },
          nullptr);
    }
    benchmark::DoNotOptimize(c_.data());
  }

 private:
  [[nodiscard]] size_t elements() const { return static_cast<size_t>(n_ * n_); }
  int64_t n_;
  std::vector<double> a_;
  std::vector<double> b_;
  std::vector<double> c_;
};

// T = N = K = size, `kExperts` groups of as many rows each.
void against_eigen(benchmark::State& state, bool quantised) {
  const int64_t size = state.range(0);
  const Graph graph = product(size, quantised);
  const Plan plan = *make_plan(graph, Device::cpu());
  const std::vector<Size> sizes{{"T", size}};
  Memory m(graph, plan, sizes);
  if (quantised) {
    benchmarks::fill_fc1(m, size, kExperts, size, size);
  } else {  // 0x3F3F is 0.7 in bf16
    benchmarks::random_codes(m["x"], 2 * size * size, 0x3F, 0, 1);
    benchmarks::random_codes(m["w"], 2 * kExperts * size * size, 0x3F, 0, 2);
    benchmarks::even_groups(m, size, kExperts);
  }
  const Execution run = *plan.bind(graph, sizes, m.tensors);
  Dgemm eigen(size);
  eigen.run(size / kExperts, kExperts);  // threads and pages are warm for both
  double ours = 0;
  double theirs = 0;
  for (auto _ : state) {
    Clock::time_point begin = Clock::now();
    if (!run.run(nullptr)) std::abort();
    ours = seconds_since(begin);
    begin = Clock::now();
    eigen.run(size / kExperts, kExperts);
    theirs = seconds_since(begin);
    state.SetIterationTime(ours);
  }
  const double flops = 2e-9 * static_cast<double>(size) * static_cast<double>(size * size);
  state.counters["GFLOPS"] = flops / ours;
  state.counters["eigen_GFLOPS"] = flops / theirs;
  state.counters["share"] = theirs / ours;
}
void bf16(benchmark::State& state) { against_eigen(state, false); }
void mxfp8(benchmark::State& state) { against_eigen(state, true); }
BENCHMARK(bf16)->Arg(2048)->Iterations(1)->UseManualTime()->Unit(benchmark::kMillisecond);
BENCHMARK(mxfp8)->Arg(2048)->Iterations(1)->UseManualTime()->Unit(benchmark::kMillisecond);

}  // namespace
