// What an output may say of where its rows and matrices lie.
#pragma once

#include <vector>

#include "ir/graph.h"
#include "ir/stored.h"

namespace cohort::validate {

/// The rules of scatter, slot, top_k, rows and discrete that an output of a sound value breaks.
[[nodiscard]] std::vector<ir::StoredFault> output_faults(const ir::Graph& graph,
                                                         const ir::Output& output);

}  // namespace cohort::validate
