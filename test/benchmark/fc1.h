// The demo's graph at any size, and memory for the tensors of a graph.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string_view>
#include <vector>

#include <cohort/cohort.h>

namespace cohort::benchmarks {

/// MXFP8 grouped GEMM, squared ReLU, row gate, row and column quantisation.
inline Graph fc1(int64_t experts, int64_t inter, int64_t hidden) {
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

/// Zeroed memory for every tensor of a graph.
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
  int64_t total = 0;  ///< Bytes.
};

/// Bytes of `base` plus random bits of `mask`.
inline void random_codes(const TensorView& v, int64_t bytes, uint8_t mask, uint8_t base,
                         uint32_t seed) {
  std::mt19937 random(seed);
  auto* p = static_cast<uint8_t*>(v.data);
  for (int64_t i = 0; i < bytes; ++i) p[i] = static_cast<uint8_t>((random() & mask) + base);
}

/// Divides the rows evenly among the experts.
inline void even_groups(Memory& m, int64_t tokens, int64_t experts) {
  for (int64_t g = 0; g < experts; ++g) {
    static_cast<int32_t*>(m["ends"].data)[g] = static_cast<int32_t>((g + 1) * tokens / experts);
  }
}

/// Fills tokens and weights of an FC1 with e4m3 codes below 2 and scales near 1, and divides the
/// rows evenly among the experts.
inline void fill_fc1(Memory& m, int64_t tokens, int64_t experts, int64_t inter, int64_t hidden) {
  random_codes(m["x"], tokens * hidden, 0x3F, 0, 1);
  random_codes(m["w"], experts * inter * hidden, 0xBF, 0, 2);
  random_codes(m["x.scale"], tokens * hidden / 32, 7, 120, 3);
  random_codes(m["w.scale"], experts * inter * hidden / 32, 7, 120, 4);
  even_groups(m, tokens, experts);
}

}  // namespace cohort::benchmarks
