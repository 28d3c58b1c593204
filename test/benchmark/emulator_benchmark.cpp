// The machine with the race checker on: items are instructions of threads, time is that of the
// processor. The second argument: 1 with the checker, 0 without.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "emu/run.h"
#include "ptx/parse.h"
#include "race/checker.h"

namespace {

using namespace cohort::emu;

std::string text() {
  std::ifstream in(std::string(COHORT_TEST_DATA) + "/emu/speed.ptx");
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

std::shared_ptr<const Kernel> kernel_of(const char* name) {
  auto module = cohort::ptx::parse(text());
  auto kernel = decode(*module, name);
  return *kernel;
}

Buffer zeros(size_t bytes) {
  Buffer b;
  b.bytes.resize(bytes);
  return b;
}

template <class T>
void add(std::vector<uint8_t>& bytes, T value) {
  bytes.resize((bytes.size() + sizeof(T) - 1) / sizeof(T) * sizeof(T));
  const auto* p = reinterpret_cast<const uint8_t*>(&value);
  bytes.insert(bytes.end(), p, p + sizeof(T));
}

class Quiet final : public FaultSink {
 public:
  void fault(const Fault&) override { ++faults; }
  uint64_t faults = 0;
};

// Runs with all buffers and then the numbers as arguments.
template <class... N>
void run_kernel(benchmark::State& state, const char* name, int buffers, uint32_t threads,
                N... numbers) {
  RunInput in;
  Launch l;
  l.kernel = kernel_of(name);
  l.block = {threads, 1, 1};
  for (int i = 0; i < buffers; ++i) {
    in.buffers.push_back(zeros(size_t{1} << 20));
    add(l.arguments, buffer_address(static_cast<uint64_t>(i)));
  }
  (add(l.arguments, numbers), ...);
  l.arguments.resize(l.kernel->parameter_bytes);
  in.launches.push_back(l);
  uint64_t items = 0;
  for (auto _ : state) {
    Quiet sink;
    const auto checker = cohort::race::make_checker(practice_rules(), sink);
    RunInput copy = in;
    copy.faults = &sink;
    if (state.range(0) != 0) copy.events = checker.get();
    auto result = run(std::move(copy));
    if (!result || !result->completed || sink.faults != 0) state.SkipWithError("a fault");
    if (result) items += result->lane_instructions;
  }
  state.SetItemsProcessed(static_cast<int64_t>(items));
}

void integers(benchmark::State& state) { run_kernel(state, "integers", 1, 256, uint32_t{4000}); }
void floats(benchmark::State& state) { run_kernel(state, "floats", 1, 256, uint32_t{4000}, 0.99f); }
void tile(benchmark::State& state) { run_kernel(state, "tile", 3, 256, uint32_t{512}); }
void scattered(benchmark::State& state) { run_kernel(state, "scattered", 1, 256, uint32_t{500}); }
void epilogue(benchmark::State& state) {
  run_kernel(state, "epilogue", 3, 128, uint32_t{100}, 0.5f);
}
void one_lane(benchmark::State& state) { run_kernel(state, "one_lane", 1, 32, uint32_t{20000}); }

void decoding(benchmark::State& state) {
  const std::string source = text();
  uint64_t lines = 0;
  for (const char c : source) lines += c == '\n' ? 1 : 0;
  for (auto _ : state) {
    auto module = cohort::ptx::parse(source);
    for (const char* name : {"integers", "floats", "tile", "scattered", "epilogue", "one_lane"}) {
      benchmark::DoNotOptimize(decode(*module, name));
    }
  }
  state.SetItemsProcessed(static_cast<int64_t>(lines) * state.iterations());
}

BENCHMARK(integers)->Arg(1)->Arg(0);
BENCHMARK(floats)->Arg(1)->Arg(0);
BENCHMARK(tile)->Arg(1)->Arg(0);
BENCHMARK(scattered)->Arg(1)->Arg(0);
BENCHMARK(epilogue)->Arg(1)->Arg(0);
BENCHMARK(one_lane)->Arg(1)->Arg(0);
BENCHMARK(decoding);

}  // namespace
