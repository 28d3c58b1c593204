// Checking the memory that a caller gives to a plan.
#pragma once

#include <cohort/plan.h>

#include "base/diagnostics.h"
#include "plan/plan_data.h"

namespace cohort::plan {

/// Adds E-SHAPE for each named extent along which e2m1 is packed and which is odd now.
void check_pairs(const ir::Graph& graph, const std::vector<int64_t>& sizes,
                 base::Diagnostics& findings);
/// Actual sizes by symbol. Throws FindingsError (E-SIZE, E-SHAPE).
[[nodiscard]] std::vector<int64_t> symbol_sizes(const ir::Graph& graph, Sizes sizes);

/// A bound execution. Throws FindingsError of kind mismatch with every finding.
[[nodiscard]] ExecutionData* bind(const PlanData& plan, const ir::Graph& graph, Sizes sizes,
                                  NamedTensors tensors);

/// Adds what is wrong with tensor `index` of a binding.
void check_view(const ExecutionData& execution, const Binding& binding, int32_t index,
                base::Diagnostics& findings);
/// Adds views of several devices, E-DEVICE.
void check_devices(const ExecutionData& execution, const Binding& binding,
                   base::Diagnostics& findings);
/// Throws FindingsError (E-PLAN) unless the graph equals the planned one up to names.
void want_planned_graph(const PlanData& plan, const ir::Graph& graph);

}  // namespace cohort::plan
