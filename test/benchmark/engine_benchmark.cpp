// Speed and memory of the reference engine on the first layer of a mixture of experts. The program
// runs nothing else, so the peak of the process is that of the run.
#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include <cstdlib>
#include <vector>

#include "benchmark/fc1.h"

namespace {

using namespace cohort;
using benchmarks::Memory;

double peak_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) * 1024;
}

void fc1_4096(benchmark::State& state) {
  constexpr int64_t kSize = 4096;
  constexpr int64_t kExperts = 8;
  const Graph graph = benchmarks::fc1(kExperts, kSize, kSize);
  const Plan plan = *make_plan(graph, Device::cpu());
  const std::vector<Size> sizes{{"T", kSize}};
  Memory m(graph, plan, sizes);
  benchmarks::fill_fc1(m, kSize, kExperts, kSize, kSize);
  for (int64_t i = 0; i < kSize; ++i) static_cast<float*>(m["prob"].data)[i] = 0.5f;
  const Execution run = *plan.bind(graph, sizes, m.tensors);
  for (auto _ : state) {
    if (!run.run(nullptr)) std::abort();
  }
  state.counters["tensors_MB"] = static_cast<double>(m.total) / 1e6;
  state.counters["peak_MB"] = peak_bytes() / 1e6;
  state.counters["beyond_tensors_MB"] = (peak_bytes() - static_cast<double>(m.total)) / 1e6;
}
BENCHMARK(fc1_4096)->Unit(benchmark::kMillisecond)->Iterations(1)->UseRealTime();

}  // namespace
