// Checking the memory that a caller gives to a plan.
#pragma once

#include <cohort/plan.h>

#include "base/diagnostics.h"
#include "plan/plan_data.h"

namespace cohort::plan {

/// Actual sizes by symbol. Throws FindingsError (E-SIZE).
[[nodiscard]] std::vector<int64_t> symbol_sizes(const ir::Graph& graph, Sizes sizes);

/// A bound execution. Throws FindingsError of kind mismatch with every finding.
[[nodiscard]] ExecutionData* bind(const PlanData& plan, const ir::Graph& graph, Sizes sizes,
                                  NamedTensors tensors);

/// Adds what is wrong with `view` as tensor `index` of an execution.
void check_view(const ExecutionData& execution, int32_t index, const TensorView& view,
                base::Diagnostics& findings);
/// Adds overlaps of outputs with other tensors, E-OVERLAP.
void check_overlaps(const ExecutionData& execution, base::Diagnostics& findings);

}  // namespace cohort::plan
