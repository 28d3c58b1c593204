// Error bounds of the roots whose rows are not those of an operand: gradients of weights, combine
// and its gradients. docs/compare.md derives them.
#pragma once

#include <vector>

#include "engine/reference/interval.h"

namespace cohort::engine::reference {

/// Sets the interval of the result of such a root, given those of all values before it. False when
/// the node is none.
bool root_interval(const Memory& memory, const ir::Node& node, std::vector<Interval>& values);

}  // namespace cohort::engine::reference
