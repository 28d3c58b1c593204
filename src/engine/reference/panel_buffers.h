// Which buffer of a thread holds the panel of each result of a region.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "ir/graph.h"

namespace cohort::engine::reference {

/// A result needs its panel from its op to its last consumer in the region; later results take the
/// buffer over, so that a chain of any length needs as many as are alive at once. A result never
/// shares a buffer with an operand of its own op.
class PanelBuffers {
 public:
  PanelBuffers(const ir::Graph& graph, const std::vector<int32_t>& nodes);

  /// Number of buffers.
  [[nodiscard]] size_t count() const { return count_; }
  /// The buffer of a result of the region.
  [[nodiscard]] size_t of(int32_t value) const { return buffer_.at(value); }

 private:
  size_t count_ = 0;
  std::unordered_map<int32_t, size_t> buffer_;  // by value
};

}  // namespace cohort::engine::reference
