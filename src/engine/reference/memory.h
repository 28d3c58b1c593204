// The memory of one run: bound tensors and kept values as matrices.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/engine.h"
#include "engine/reference/rows.h"
#include "engine/reference/schedule.h"
#include "engine/reference/stored_ref.h"

namespace cohort::engine::reference {

class Memory {
 public:
  Memory(const ir::Graph& graph, const Schedule& schedule, const Launch& launch);

  [[nodiscard]] const ir::Graph& graph() const { return graph_; }
  [[nodiscard]] const Launch& launch() const { return launch_; }
  [[nodiscard]] int64_t extent(const ir::Extent& e) const { return extent_at(e, launch_.sizes); }

  /// The tensor of an input or output part; `kind` data for most.
  [[nodiscard]] const TensorView& input(int32_t value, ir::TensorPart::Kind kind) const;
  /// A stored matrix: an input, or a kept quantised value.
  [[nodiscard]] StoredRef matrix(int32_t value) const;
  /// One expert of weights, as (N, K).
  [[nodiscard]] StoredRef expert(int32_t value, int64_t expert) const;
  /// Output `index` as a matrix.
  [[nodiscard]] StoredRef output(size_t index) const;
  /// A kept f32 value, packed.
  [[nodiscard]] float* kept(int32_t value) const;
  /// The groups of a value's rows; one group of all rows without any.
  [[nodiscard]] std::vector<RowGroup> groups(int32_t groups, int64_t rows) const;

 private:
  [[nodiscard]] const TensorView& part(bool is_output, int32_t index,
                                       ir::TensorPart::Kind kind) const;
  const ir::Graph& graph_;
  const Launch& launch_;
  std::vector<int64_t> offset_;  ///< By value: place in the workspace.
};

}  // namespace cohort::engine::reference
