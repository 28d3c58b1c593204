// Which tensors of a binding share bytes that they may not share.
#pragma once

#include <cstdint>
#include <vector>

#include "base/diagnostics.h"
#include "plan/plan_data.h"

namespace cohort::plan {

/// True when two tensors have a byte in common. Exact for tensors whose rows have one distance; of
/// others every byte from the first to the last counts.
[[nodiscard]] bool share_bytes(const TensorInfo& a, const void* a_data, const TensorInfo& b,
                               const void* b_data);

/// Adds E-OVERLAP for each output and each tensor that it shares bytes with and may not. Takes
/// n log n for n tensors, and a look at each pair of tensors whose address ranges cross. Allocates
/// nothing when `scratch` is as large as the binding and nothing is wrong.
void check_overlaps(const ir::Graph& graph, const Binding& binding, OverlapScratch& scratch,
                    base::Diagnostics& findings);
/// The same of tensor `index` alone, against all others: when nothing else has moved.
void check_overlaps_of(const ir::Graph& graph, const Binding& binding, int32_t index,
                       base::Diagnostics& findings);

}  // namespace cohort::plan
