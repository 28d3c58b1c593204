// What a graph says and an engine does not honour.
#pragma once

#include <vector>

#include "engine/engine.h"

namespace cohort::plan {

/// Adds a reason for every input and output, and every key and field of one, that may not be left
/// out of account and that the engine did not consume.
void add_unconsumed(const ir::Graph& graph, const engine::Claim& claim,
                    std::vector<engine::Reason>& reasons);

}  // namespace cohort::plan
