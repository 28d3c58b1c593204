// Where the tensors and outputs of a graph are, found without a search.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "ir/graph.h"

namespace cohort::engine::reference {

class Places {
 public:
  explicit Places(const ir::Graph& graph);

  /// Index into Graph::tensors, or kNone when there is no such part.
  [[nodiscard]] int32_t part(bool is_output, int32_t index, ir::TensorPart::Kind kind) const {
    if (index == ir::kNone) return ir::kNone;
    const auto& parts = is_output ? outputs_ : inputs_;
    return parts[static_cast<size_t>(index)][static_cast<size_t>(kind)];
  }
  /// The outputs that a value is written to, in their order.
  [[nodiscard]] std::span<const int32_t> outputs_of(int32_t value) const {
    const auto v = static_cast<size_t>(value);
    return std::span(written_).subspan(first_[v], first_[v + 1] - first_[v]);
  }

 private:
  using Parts = std::array<int32_t, 4>;  // by kind
  std::vector<Parts> inputs_;
  std::vector<Parts> outputs_;
  std::vector<size_t> first_;     // by value and one more: into written_
  std::vector<int32_t> written_;  // outputs, by value
};

}  // namespace cohort::engine::reference
