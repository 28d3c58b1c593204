// Reading, writing and planning of graphs with thousands of ops: speed, and how time grows.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <string>

#include <cohort/cohort.h>
#include <cohort/json.h>

#include "benchmark/cpu_clock.h"

namespace {

using namespace cohort;

// Layers of four ops, each fed with the codes of the one before; every layer has weights of its
// own, so inputs grow with the ops.
Graph layers(int64_t ops) {
  constexpr int64_t kHidden = 256;
  constexpr int64_t kExperts = 8;
  Builder g("layers");
  const Dim t = g.dynamic("T", 65536);
  const auto ends = g.groups("ends", kExperts, GroupForm::ends);
  const auto prob = g.row_input("prob", t);
  ScaledTensor x = g.scaled_input("x", {t, kHidden}, Format::mxfp8_e4m3);
  for (int64_t i = 0; i < ops / 4; ++i) {
    const auto w = g.scaled_weights("layers." + std::to_string(i) + ".w",
                                    {kExperts, kHidden, kHidden}, Format::mxfp8_e4m3);
    x = g.add(GroupedGemm{.a = x, .b = w, .groups = ends})
            .then(ReluSquared{})
            .then(RowGate{.by = prob})
            .then(Quantize{.to = Format::mxfp8_e4m3, .axes = Axes::row})
            .row;
  }
  g.output("y", x);
  return *std::move(g).finish();
}

void read(benchmark::State& state) {
  const std::string text(layers(state.range(0)).json());
  for (auto _ : state) {
    const Result<Graph> g = parse_json(text);
    if (!g) std::abort();
    benchmark::DoNotOptimize(&g);
  }
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(text.size()));
}

// A graph keeps its text, so each iteration writes a new one.
void write(benchmark::State& state) {
  const std::string text(layers(state.range(0)).json());
  for (auto _ : state) {
    const Graph g = *parse_json(text);
    const double begin = benchmarks::thread_seconds();
    benchmark::DoNotOptimize(g.json());
    state.SetIterationTime(benchmarks::thread_seconds() - begin);
    if (g.json() != text) state.SkipWithError("written differently");
  }
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(text.size()));
}

void plan(benchmark::State& state) {
  const Graph g = layers(state.range(0));
  for (auto _ : state) {
    clear_plan_cache();
    const Result<Plan> p = make_plan(g, Device::cpu());
    if (!p) std::abort();
    benchmark::DoNotOptimize(&p);
  }
}

constexpr auto kSizes = [](auto* b) {
  b->Arg(5000)->Arg(10000)->Arg(20000)->Iterations(5)->Unit(benchmark::kMillisecond);
};
BENCHMARK(read)->Apply(kSizes);
BENCHMARK(write)->Apply(kSizes)->UseManualTime();
BENCHMARK(plan)->Apply(kSizes);

}  // namespace
