// The memory of one run: bound tensors and kept values as matrices.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "engine/reference/rows.h"
#include "engine/reference/schedule.h"
#include "engine/reference/stored_ref.h"

namespace cohort::engine::reference {

class Memory {
 public:
  /// `graph` is the planned graph, that of the schedule; names are those of `launch`.
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
  /// The outputs that a value is written to.
  [[nodiscard]] std::span<const int32_t> outputs_of(int32_t value) const {
    return schedule_.places.outputs_of(value);
  }
  /// Output `index` as a matrix.
  [[nodiscard]] StoredRef output(size_t index) const;
  /// Matrix `expert` of an output of gradients of weights, dense or discrete.
  [[nodiscard]] StoredRef output_matrix(size_t index, int64_t expert) const;
  /// Entry `i` of an index input, whatever it is.
  [[nodiscard]] int64_t index_entry(int32_t value, int64_t i) const;
  /// The row that entry `i` of an index names, below `limit`; -1 when `may_skip` and the entry is
  /// -1. Row `i` without an index. Throws FindingsError (E-INDEX).
  [[nodiscard]] int64_t index_row(int32_t value, int64_t i, int64_t limit, bool may_skip) const;
  /// E-INDEX about entry `entry` of the index input `value`.
  [[noreturn]] void fail_index(int32_t value, int64_t entry, const std::string& wanted,
                               const std::string& got) const;
  /// Number `i` of a vector, stored or kept.
  [[nodiscard]] float number(int32_t value, int64_t i) const;
  /// A kept f32 value, packed.
  [[nodiscard]] float* kept(int32_t value) const;
  /// The groups of a value's rows; one group of all rows without any.
  [[nodiscard]] std::vector<RowGroup> groups(int32_t groups, int64_t rows) const;

 private:
  /// What the caller calls an input, or output `index`.
  [[nodiscard]] const std::string& input_name(int32_t value) const;
  [[nodiscard]] const std::string& output_name(size_t index) const;
  [[nodiscard]] const TensorView& part(bool is_output, int32_t index,
                                       ir::TensorPart::Kind kind) const;
  const ir::Graph& graph_;
  const Schedule& schedule_;
  const Launch& launch_;
  std::vector<int64_t> offset_;  ///< By value: place in the workspace.
};

}  // namespace cohort::engine::reference
