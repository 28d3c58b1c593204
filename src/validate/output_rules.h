// What an output may say of where its rows and matrices lie.
#pragma once

#include <vector>

#include "ir/graph.h"
#include "ir/stored.h"

namespace cohort::validate {

/// The rules of scatter, slot, top_k, rows, tail and discrete that an output breaks. `value` is
/// null when it is not sound: what does not depend on it is checked all the same.
[[nodiscard]] std::vector<ir::StoredFault> output_faults(const ir::Graph& graph,
                                                         const ir::Output& output,
                                                         const ir::Value* value);
/// Adds the rules of alignment and strides. `is_type_good`: the output may have its type.
void output_layout_faults(const ir::Output& output, const ir::Value* value, bool is_type_good,
                          std::vector<ir::StoredFault>& faults);

}  // namespace cohort::validate
