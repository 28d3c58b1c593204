// The race checker alone: time per lane of warp instructions and per byte of boxes, and what the
// shadow takes. Items are lanes, or words of boxes.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "race/checker.h"

namespace {

using namespace cohort::emu;

constexpr uint32_t kWarps = 8;
constexpr uint64_t kWindow = uint64_t{128} << 10;
constexpr uint32_t kAll = ~uint32_t{0};

class Quiet final : public FaultSink {
 public:
  void fault(const Fault&) override { ++faults; }
  uint64_t faults = 0;
};

// A CTA of eight warps that has written its window.
struct Bench {
  Quiet sink;
  std::unique_ptr<cohort::race::Checker> checker;
  uint32_t pc = 0;

  Bench() : checker(cohort::race::make_checker(practice_rules(), sink)) {
    checker->begin_grid({0, 0, 1, kWarps, 32 * kWarps, 1, kWindow, false});
  }
  [[nodiscard]] Who who(uint32_t warp) const { return {{warp}, kAll, pc}; }
  void barrier() {
    for (uint32_t w = 0; w < kWarps; ++w) {
      checker->release(who(w), {0}, Scope::cta, Order::full);
    }
    checker->flip({0}, false);
    for (uint32_t w = 0; w < kWarps; ++w) {
      checker->acquire(who(w), {0}, Scope::cta, Order::full);
    }
  }
  void write_box(uint64_t begin, uint64_t bytes) {
    const Who one = {{0}, 1, pc};
    checker->access(one, Box{Space::shared, Proxy::generic, Kind::write, 0, begin, bytes},
                    Scope::weak);
  }
  void fill() {
    write_box(0, kWindow);
    checker->warp_sync(who(0));
    barrier();
  }
  void lanes(uint32_t warp, Kind kind, const uint64_t* offset, uint8_t bytes) {
    checker->access({who(warp), Space::shared, kind, Scope::weak, bytes, 0, offset});
  }
  void finish(benchmark::State& state, int64_t items) {
    if (sink.faults != 0) state.SkipWithError("a fault was reported");
    state.SetItemsProcessed(state.iterations() * items);
    state.counters["slow_share"] = static_cast<double>(checker->usage().slow_cells) /
                                   static_cast<double>(state.iterations() * items);
    state.counters["ns_per_item"] =
        benchmark::Counter(static_cast<double>(state.iterations() * items) / 1e9,
                           benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  }
};

using Offsets = std::array<uint64_t, 32>;

// Each warp reads and writes words of its own 16 KB, scattered.
void scattered_words(benchmark::State& state) {
  Bench b;
  b.fill();
  std::mt19937 random(1);
  constexpr uint32_t kInstructions = 64;
  std::vector<Offsets> offsets(kWarps * kInstructions);
  for (uint32_t w = 0; w < kWarps; ++w) {
    std::vector<uint32_t> words(4096);
    for (uint32_t i = 0; i < words.size(); ++i) words[i] = i;
    std::shuffle(words.begin(), words.end(), random);
    for (uint32_t i = 0; i < kInstructions; ++i) {
      for (uint32_t l = 0; l < 32; ++l) {
        offsets[w * kInstructions + i][l] = 16384 * uint64_t{w} + 4 * uint64_t{words[32 * i + l]};
      }
    }
  }
  for (auto _ : state) {
    for (uint32_t w = 0; w < kWarps; ++w) {
      for (uint32_t i = 0; i < kInstructions; ++i) {
        const uint64_t* offset = offsets[w * kInstructions + i].data();
        b.pc = 2 * i;
        b.lanes(w, Kind::read, offset, 4);
        b.pc = 2 * i + 1;
        b.lanes(w, Kind::write, offset, 4);
      }
    }
    b.barrier();
  }
  b.finish(state, int64_t{kWarps} * kInstructions * 64);
}

void contiguous_words(benchmark::State& state) {
  Bench b;
  b.fill();
  Offsets offset{};
  for (auto _ : state) {
    for (uint32_t w = 0; w < kWarps; ++w) {
      for (uint32_t i = 0; i < 128; ++i) {
        for (uint64_t l = 0; l < 32; ++l)
          offset[l] = 16384 * uint64_t{w} + 128 * uint64_t{i} + 4 * l;
        b.pc = i;
        b.lanes(w, i % 2 == 0 ? Kind::read : Kind::write, offset.data(), 4);
      }
    }
    b.barrier();
  }
  b.finish(state, int64_t{kWarps} * 128 * 32);
}

// v4 accesses: items are lanes, each of four words.
void vectors(benchmark::State& state) {
  Bench b;
  b.fill();
  Offsets offset{};
  for (auto _ : state) {
    for (uint32_t w = 0; w < kWarps; ++w) {
      for (uint32_t i = 0; i < 32; ++i) {
        for (uint64_t l = 0; l < 32; ++l) {
          offset[l] = 16384 * uint64_t{w} + 512 * uint64_t{i} + 16 * l;
        }
        b.pc = i;
        b.lanes(w, i % 2 == 0 ? Kind::read : Kind::write, offset.data(), 16);
      }
    }
    b.barrier();
  }
  b.finish(state, int64_t{kWarps} * 32 * 32);
}

// A product in shared memory: eight warps read the same words, some uniformly, then overwrite.
void words_shared_by_warps(benchmark::State& state) {
  Bench b;
  b.fill();
  Offsets uniform{};
  Offsets row{};
  for (auto _ : state) {
    for (uint32_t i = 0; i < 16; ++i) {
      for (uint32_t w = 0; w < kWarps; ++w) {
        for (uint32_t k = 0; k < 8; ++k) {
          for (uint64_t l = 0; l < 32; ++l) {
            uniform[l] = 1024 * uint64_t{i} + 4 * uint64_t{8 * w + k};
            row[l] = 32768 + 1024 * uint64_t{i} + 128 * uint64_t{k} + 4 * l;
          }
          b.pc = 2 * k;
          b.lanes(w, Kind::read, uniform.data(), 4);
          b.pc = 2 * k + 1;
          b.lanes(w, Kind::read, row.data(), 4);
        }
      }
    }
    b.barrier();
    b.write_box(32768, 16384);
    b.checker->warp_sync(b.who(0));
    b.barrier();
  }
  b.finish(state, int64_t{16} * kWarps * 8 * 64);
}

void one_lane(benchmark::State& state) {
  Bench b;
  b.fill();
  Offsets offset{};
  for (auto _ : state) {
    for (uint32_t i = 0; i < 1024; ++i) {
      offset[0] = 4 * uint64_t{i};
      const Who who = {{0}, 1, i};
      b.checker->access({who, Space::shared, i % 2 == 0 ? Kind::read : Kind::write, Scope::weak, 4,
                         0, offset.data()});
    }
    b.checker->warp_sync(b.who(0));
  }
  b.finish(state, 1024);
}

// A pipeline of bulk copies and tensor-core reads; items are words of both.
void boxes(benchmark::State& state) {
  Bench b;
  constexpr uint32_t kStages = 4;
  constexpr uint64_t kStage = 16384;
  const Who producer = {{0}, 1, 1};
  const Who consumer = {{1}, 1, 2};
  for (auto _ : state) {
    for (uint32_t s = 0; s < kStages; ++s) {
      const SyncId full = {1 + 2 * s};
      const SyncId empty = {2 + 2 * s};
      b.checker->acquire(producer, empty, Scope::cta, Order::full);
      const OpId load = b.checker->begin(producer, Agent::copy);
      b.checker->access(load, Box{Space::shared, Proxy::async, Kind::write, 0, s * kStage, 128,
                                  kStage / 128, 128});
      b.checker->end(load);
      b.checker->publish(load, full, kAll);
      b.checker->flip(full, false);
      b.checker->acquire(consumer, full, Scope::cta, Order::full);
      for (uint32_t k = 0; k < 4; ++k) {
        const OpId mma = b.checker->begin(consumer, Agent::tensor_pipe, {});
        // 32 bytes of each of 128 rows.
        b.checker->access(mma, Box{Space::shared, Proxy::async, Kind::read, 0, s * kStage + k * 32,
                                   32, kStage / 128, 128});
        b.checker->end(mma);
      }
      b.checker->commit(consumer, 1, empty);
      b.checker->flip(empty, false);
    }
  }
  b.finish(state, int64_t{kStages} * 2 * (kStage / 4));
}

// What a window of shared memory costs that was touched by words, and by bytes.
void shadow_of_words(benchmark::State& state) {
  double ratio = 0;
  for (auto _ : state) {
    Bench b;
    b.fill();
    ratio = static_cast<double>(b.checker->usage().shadow_bytes) / kWindow;
  }
  state.counters["bytes_per_byte"] = ratio;
}

void shadow_of_bytes(benchmark::State& state) {
  double ratio = 0;
  for (auto _ : state) {
    Bench b;
    Offsets offset{};
    for (uint64_t i = 0; i < kWindow; i += 32) {
      for (uint64_t l = 0; l < 32; ++l) offset[l] = i + l;
      b.lanes(0, Kind::write, offset.data(), 1);
    }
    ratio = static_cast<double>(b.checker->usage().shadow_bytes) / kWindow;
  }
  state.counters["bytes_per_byte"] = ratio;
}

// The clocks of one phase: eight arrivals and eight waits.
void barriers(benchmark::State& state) {
  Bench b;
  for (auto _ : state) b.barrier();
  b.finish(state, 2 * kWarps);
}

BENCHMARK(scattered_words);
BENCHMARK(contiguous_words);
BENCHMARK(vectors);
BENCHMARK(words_shared_by_warps);
BENCHMARK(one_lane);
BENCHMARK(boxes);
BENCHMARK(barriers);
BENCHMARK(shadow_of_words);
BENCHMARK(shadow_of_bytes);

}  // namespace
