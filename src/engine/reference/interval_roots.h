// Error bounds of the roots whose rows are not those of an operand: gradients of weights, combine
// and its gradients. docs/compare.md derives them.
#pragma once

#include <vector>

#include "engine/reference/interval.h"

namespace cohort::engine::reference {

/// An operand of a root: its interval when it is computed in the graph, else null.
struct RootOperand {
  const Interval* interval = nullptr;
};

/// (groups, I, J), in order.
void wgrad_interval(const Memory& memory, const ir::Node& node, RootOperand a, RootOperand b,
                    Interval& out);
/// Rows of combine (`y`), d_combine (`y`: its d_out) or d_combine_weights.
void combine_interval(const Memory& memory, const ir::Node& node, RootOperand y, RootOperand d_out,
                      Interval& out);

}  // namespace cohort::engine::reference
