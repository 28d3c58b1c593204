// The cost of everything around the arithmetic: describing a graph, its key, finding its plan,
// running, another T. Counts what is allocated.
#include "plan/allocations.h"

#include <benchmark/benchmark.h>

#include <array>
#include <cstdlib>
#include <vector>

#include "benchmark/cpu_clock.h"
#include "benchmark/fc1.h"
#include "benchmark/model.h"
#include "plan/access.h"
#include "plan/fake_engine.h"

namespace {

using namespace cohort;
using benchmarks::Memory;

constexpr int64_t kExperts = 8;
constexpr int64_t kInter = 512;
constexpr int64_t kHidden = 256;
constexpr int64_t kTokens = 512;

// Sample 01.
Graph demo() { return benchmarks::fc1(kExperts, kInter, kHidden); }

void build_and_finish(benchmark::State& state) {
  for (auto _ : state) {
    const Graph g = demo();
    benchmark::DoNotOptimize(&g);
  }
}
BENCHMARK(build_and_finish);

void build_and_finish_model(benchmark::State& state) {
  const benchmarks::ModelShape shape;
  state.counters["nodes"] = static_cast<double>(benchmarks::model(shape).node_count());
  for (auto _ : state) {
    const Graph g = benchmarks::model(shape);
    benchmark::DoNotOptimize(&g);
  }
}
BENCHMARK(build_and_finish_model)->Unit(benchmark::kMillisecond);

// A key is made once a graph, so each iteration takes a batch of new graphs and times the keys.
void key_first(benchmark::State& state) {
  constexpr int64_t kBatch = 64;
  for (auto _ : state) {
    std::vector<Graph> graphs;
    for (int64_t i = 0; i < kBatch; ++i) graphs.push_back(demo());
    const double begin = benchmarks::thread_seconds();
    for (const Graph& g : graphs) benchmark::DoNotOptimize(g.key());
    state.SetIterationTime((benchmarks::thread_seconds() - begin) / kBatch);
  }
}
BENCHMARK(key_first)->Iterations(100)->UseManualTime();

void key_later(benchmark::State& state) {
  const Graph g = demo();
  benchmark::DoNotOptimize(g.key());
  for (auto _ : state) benchmark::DoNotOptimize(g.key());
}
BENCHMARK(key_later);

void plan_cache_hit(benchmark::State& state) {
  const Graph planned = demo();
  const Plan plan = *make_plan(planned, Device::cpu());
  const Graph g = demo();  // equal, but not the same: its text is compared with the planned one's
  benchmark::DoNotOptimize(g.key());
  const int64_t misses = plan_cache_stats().misses;
  for (auto _ : state) {
    const Result<Plan> hit = make_plan(g, Device::cpu());
    benchmark::DoNotOptimize(&hit);
  }
  if (plan_cache_stats().misses != misses) state.SkipWithError("the plan was not in the cache");
}
BENCHMARK(plan_cache_hit);

// A plan that does nothing: what remains is the library's own part of a run.
class EmptyPlan {
 public:
  EmptyPlan() : graph(demo()), plan(make()), memory(graph, plan, sizes) {}
  const test::FakeEngine engine{"empty"};
  const std::vector<Size> sizes{{"T", kTokens}};
  Graph graph;
  Plan plan;
  Memory memory;

 private:
  Plan make() {
    const std::array<const engine::Engine*, 1> engines{&engine};
    return detail::PlanAccess::plan(
        plan::plan_graph(*detail::Access::graph(graph), 0, {}, engines));
  }
};

void finish_count(benchmark::State& state, int64_t before) {
  state.counters["allocations"] =
      benchmark::Counter(static_cast<double>(test::allocations - before));
}

void run_empty_plan(benchmark::State& state) {
  EmptyPlan x;
  const Execution run = *x.plan.bind(x.graph, x.sizes, x.memory.tensors);
  int64_t failures = 0;
  const int64_t before = test::allocations;
  for (auto _ : state) failures += run.run(nullptr) ? 0 : 1;
  finish_count(state, before);
  if (failures != 0) state.SkipWithError("a run failed");
}
BENCHMARK(run_empty_plan);

// The same through the public interface alone: the reference engine without a token. It checks the
// groups and writes nothing.
void run_no_tokens(benchmark::State& state) {
  const Graph graph = demo();
  const Plan plan = *make_plan(graph, Device::cpu());
  const std::vector<Size> sizes{{"T", 0}};
  Memory memory(graph, plan, sizes);
  const Execution run = *plan.bind(graph, sizes, memory.tensors);
  int64_t failures = 0;
  const int64_t before = test::allocations;
  for (auto _ : state) failures += run.run(nullptr) ? 0 : 1;
  finish_count(state, before);
  if (failures != 0) state.SkipWithError("a run failed");
}
BENCHMARK(run_no_tokens);

void bind_other_tokens(benchmark::State& state) {
  const Graph graph = demo();
  const Plan plan = *make_plan(graph, Device::cpu());
  const std::vector<Size> sizes{{"T", kTokens}};
  Memory memory(graph, plan, sizes);
  Execution run = *plan.bind(graph, sizes, memory.tensors);
  int64_t failures = 0;
  int64_t t = 0;
  const int64_t before = test::allocations;
  for (auto _ : state) {
    t = t == kTokens ? kTokens / 2 : kTokens;
    failures += run.resize({{"T", t}}) ? 0 : 1;
  }
  finish_count(state, before);
  if (failures != 0) state.SkipWithError("a size did not fit");
}
BENCHMARK(bind_other_tokens);

void bind_other_pointer(benchmark::State& state) {
  EmptyPlan x;
  Execution run = *x.plan.bind(x.graph, x.sizes, x.memory.tensors);
  const int32_t index = x.graph.tensor_index("x");
  void* const data = x.memory["x"].data;
  int64_t failures = 0;
  const int64_t before = test::allocations;
  for (auto _ : state) failures += run.rebind(index, data) ? 0 : 1;
  finish_count(state, before);
  if (failures != 0) state.SkipWithError("a pointer did not fit");
}
BENCHMARK(bind_other_pointer);

}  // namespace
