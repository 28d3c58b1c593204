// Block quantisers on one core, f32 in. docs/benchmarks.md records the figures.
#include <benchmark/benchmark.h>

#include <cstddef>
#include <random>
#include <vector>

#include <cohort/numerics.h>

namespace {

using cohort::Format;

constexpr int64_t kRows = 512;
constexpr int64_t kColumns = 4096;

std::vector<float> values() {
  std::mt19937 engine(7);
  std::normal_distribution<float> normal;
  std::vector<float> x(static_cast<size_t>(kRows * kColumns));
  for (float& v : x) v = normal(engine);
  return x;
}

struct Buffers {
  std::vector<float> x = values();
  std::vector<std::byte> codes = std::vector<std::byte>(x.size());
  std::vector<std::byte> scales = std::vector<std::byte>(x.size() / 8);
};

void check(benchmark::State& state, const cohort::Status& status) {
  if (!status) state.SkipWithError("quantiser failed");
}

void rows(benchmark::State& state) {
  Buffers b;
  const cohort::QuantizeSpec spec{.format = static_cast<Format>(state.range(0))};
  for (auto _ : state) {
    check(state, cohort::quantize_rows(spec, b.x.data(), kRows, kColumns, b.codes.data(),
                                       b.scales.data()));
  }
  state.SetItemsProcessed(state.iterations() * kRows * kColumns);
}

void rows_and_columns(benchmark::State& state) {
  Buffers row;
  Buffers col;
  const cohort::QuantizeSpec spec{.format = static_cast<Format>(state.range(0))};
  const int64_t boundaries[] = {0, 128, 384, kRows};
  for (auto _ : state) {
    check(state, cohort::quantize_rows(spec, row.x.data(), kRows, kColumns, row.codes.data(),
                                       row.scales.data()));
    check(state, cohort::quantize_columns(spec, row.x.data(), kRows, kColumns, boundaries,
                                          col.codes.data(), col.scales.data()));
  }
  state.SetItemsProcessed(state.iterations() * kRows * kColumns);
}

BENCHMARK(rows)->ArgName("format")->DenseRange(0, 3)->Unit(benchmark::kMillisecond);
BENCHMARK(rows_and_columns)->ArgName("format")->DenseRange(0, 3)->Unit(benchmark::kMillisecond);

}  // namespace
