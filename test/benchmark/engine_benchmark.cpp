// Speed of the reference engine and of planning. docs/benchmarks.md says how to run it.
#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include <Eigen/Core>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <random>
#include <string>
#include <vector>

#include <cohort/cohort.h>

#include "engine/reference/parallel.h"
#include "engine/reference/product.h"
#include "plan/access.h"

namespace {

thread_local int64_t allocations = 0;

}  // namespace

// Counts what the measured calls allocate: they may not allocate at all.
void* operator new(size_t bytes) {
  ++allocations;
  if (void* p = std::malloc(bytes)) return p;
  throw std::bad_alloc();
}
void* operator new(size_t bytes, std::align_val_t alignment) {
  ++allocations;
  const auto a = static_cast<size_t>(alignment);
  if (void* p = std::aligned_alloc(a, (bytes + a - 1) / a * a)) return p;
  throw std::bad_alloc();
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, size_t, std::align_val_t) noexcept { std::free(p); }

namespace {

using namespace cohort;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point t) {
  return std::chrono::duration<double>(Clock::now() - t).count();
}

Graph fc1(int64_t experts, int64_t inter, int64_t hidden) {
  Builder g("fc1");
  const Dim t = g.dynamic("T", 65536);
  const auto x = g.scaled_input("x", {t, hidden}, Format::mxfp8_e4m3);
  const auto w = g.scaled_weights("w", {experts, inter, hidden}, Format::mxfp8_e4m3);
  const auto ends = g.groups("ends", experts, GroupForm::ends);
  const auto prob = g.row_input("prob", t);
  const auto y = g.add(GroupedGemm{.a = x, .b = w, .groups = ends})
                     .then(ReluSquared{})
                     .then(RowGate{.by = prob})
                     .then(Quantize{.to = Format::mxfp8_e4m3, .axes = Axes::both});
  g.output("y", y.row);
  g.output("y_t", y.col);
  return *std::move(g).finish();
}

class Memory {
 public:
  Memory(const Graph& graph, const Plan& plan, Sizes sizes) {
    for (int32_t i = 0; i < graph.tensor_count(); ++i) {
      const TensorInfo info = *plan.tensor(i, graph, sizes);
      const size_t bytes = (static_cast<size_t>(info.bytes) + 255) / 256 * 256 + 256;
      TensorView v;
      v.data = std::aligned_alloc(256, bytes);
      std::memset(v.data, 0, bytes);
      v.dtype = info.dtype;
      v.rank = info.rank;
      std::memcpy(v.shape, info.shape, sizeof v.shape);
      std::memcpy(v.strides, info.strides, sizeof v.strides);
      tensors.push_back({graph.tensor_name(i), v});
      total += info.bytes;
    }
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory() {
    for (const NamedTensor& t : tensors) std::free(t.view.data);
  }
  TensorView& operator[](std::string_view name) {
    for (NamedTensor& t : tensors) {
      if (t.name == name) return t.view;
    }
    std::abort();
  }
  std::vector<NamedTensor> tensors;
  int64_t total = 0;
};

void random_codes(const TensorView& v, int64_t bytes, uint8_t mask, uint8_t base, uint32_t seed) {
  std::mt19937 random(seed);
  auto* p = static_cast<uint8_t*>(v.data);
  for (int64_t i = 0; i < bytes; ++i) p[i] = static_cast<uint8_t>((random() & mask) + base);
}

int64_t peak_kib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

// MXFP8 FC1, T = N = K = 4096, 8 experts.
void fc1_4096(benchmark::State& state) {
  constexpr int64_t kSize = 4096;
  const Graph graph = fc1(8, kSize, kSize);
  const Plan plan = *make_plan(graph, Device::cpu());
  const std::vector<Size> sizes{{"T", kSize}};
  Memory m(graph, plan, sizes);
  random_codes(m["x"], kSize * kSize, 0x3F, 0, 1);
  random_codes(m["w"], 8 * kSize * kSize, 0xBF, 0, 2);
  random_codes(m["x.scale"], kSize * kSize / 32, 7, 120, 3);
  random_codes(m["w.scale"], 8 * kSize * kSize / 32, 7, 120, 4);
  for (int32_t g = 0; g < 8; ++g) static_cast<int32_t*>(m["ends"].data)[g] = (g + 1) * 512;
  for (int64_t i = 0; i < kSize; ++i) static_cast<float*>(m["prob"].data)[i] = 0.5f;
  const Execution run = *plan.bind(graph, sizes, m.tensors);
  for (auto _ : state) {
    if (!run.run(nullptr)) std::abort();
  }
  state.counters["tensors_MB"] = static_cast<double>(m.total) / 1e6;
  state.counters["peak_MB"] = static_cast<double>(peak_kib()) * 1024 / 1e6;
}
BENCHMARK(fc1_4096)->Unit(benchmark::kMillisecond)->Iterations(3)->UseRealTime();

}  // namespace
