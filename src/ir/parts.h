// The tensors that a run binds: their types, shapes and sizes at given extents.
#pragma once

#include <cstdint>
#include <span>

#include <cohort/plan.h>

#include "ir/graph.h"

namespace cohort::ir {

/// Actual extents by symbol number.
using SymbolSizes = std::span<const int64_t>;

/// The extent at given sizes.
[[nodiscard]] inline int64_t extent_at(const Extent& e, SymbolSizes sizes) {
  return e.symbol == kNone ? e.bound : sizes[static_cast<size_t>(e.symbol)];
}

/// What memory the i-th tensor of a frozen graph needs. Throws FindingsError (E-OVERFLOW) when its
/// bytes pass 2^63.
[[nodiscard]] TensorInfo tensor_info(const Graph& graph, int32_t index, SymbolSizes sizes);

/// Entries that a tensor of groups has beyond one a group: 1 for form boundaries.
[[nodiscard]] inline int64_t extra_entries(const Value& v) {
  return v.role == Role::groups && v.form == GroupForm::boundaries ? 1 : 0;
}

/// The value that a tensor part belongs to.
[[nodiscard]] const Value& part_value(const Graph& graph, const TensorPart& part);

}  // namespace cohort::ir
