// What many tensors cost: binding, other sizes, other pointers and a run, of graphs with thousands
// of inputs and outputs. What grows faster than the graph shows in the ratio of two sizes.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include <cohort/cohort.h>

namespace {

using namespace cohort;

constexpr int64_t kColumns = 4;
constexpr int64_t kTokens = 4;

// n chains, each of an input of its own to an output of its own: n regions of one panel.
Graph chains(int64_t n) {
  Builder g("chains");
  const Dim t = g.dynamic("T", 64);
  for (int64_t i = 0; i < n; ++i) {
    const std::string number = std::to_string(i);
    const auto x = g.input("x" + number, {t, kColumns}, DType::f32);
    g.output("y" + number, g.add(Load{.x = x}).then(ReluSquared{}));
  }
  return *std::move(g).finish();
}

// All tensors in one piece of memory, inputs and outputs in turns.
class Many {
 public:
  explicit Many(int64_t n)
      : graph(chains(n)),
        plan(*make_plan(graph, Device::cpu())),
        memory(static_cast<size_t>(2 * n + 1) * kFloats) {
    float* at = memory.data();
    while (reinterpret_cast<uintptr_t>(at) % 64 != 0) ++at;
    for (int32_t i = 0; i < graph.tensor_count(); ++i) {
      tensors.push_back({graph.tensor_name(i),
                         TensorView::packed(at + i * kFloats, DType::f32, {kTokens, kColumns})});
    }
  }
  [[nodiscard]] Execution bind() const { return *plan.bind(graph, {{"T", kTokens}}, tensors); }

  static constexpr int64_t kFloats = 64;  // 256 bytes
  Graph graph;
  Plan plan;
  std::vector<float> memory;
  std::vector<NamedTensor> tensors;
};

void bind(benchmark::State& state) {
  const Many m(state.range(0));
  for (auto _ : state) {
    const Execution e = m.bind();
    benchmark::DoNotOptimize(&e);
  }
}

void resize(benchmark::State& state) {
  const Many m(state.range(0));
  Execution e = m.bind();
  int64_t t = 1;
  for (auto _ : state) {
    t = t % kTokens + 1;
    if (!e.resize({{"T", t}})) state.SkipWithError("a size did not fit");
  }
}

void rebind_one(benchmark::State& state) {
  const Many m(state.range(0));
  Execution e = m.bind();
  void* const data = m.tensors[0].view.data;
  for (auto _ : state) {
    if (!e.rebind(0, data)) state.SkipWithError("a pointer did not fit");
  }
}

void rebind_all(benchmark::State& state) {
  const Many m(state.range(0));
  Execution e = m.bind();
  std::vector<Rebinding> list;
  for (const NamedTensor& t : m.tensors) {
    list.push_back({static_cast<int32_t>(list.size()), t.view.data});
  }
  for (auto _ : state) {
    if (!e.rebind(list)) state.SkipWithError("a pointer did not fit");
  }
}

void run(benchmark::State& state) {
  const Many m(state.range(0));
  const Execution e = m.bind();
  for (auto _ : state) {
    if (!e.run(nullptr)) state.SkipWithError("a run failed");
  }
}

constexpr auto kSizes = [](auto* b) {
  b->Arg(10000)->Arg(20000)->Iterations(5)->Unit(benchmark::kMillisecond);
};
BENCHMARK(bind)->Apply(kSizes);
BENCHMARK(resize)->Apply(kSizes);
BENCHMARK(rebind_one)->Apply(kSizes);
BENCHMARK(rebind_all)->Apply(kSizes);
BENCHMARK(run)->Apply(kSizes);

}  // namespace
