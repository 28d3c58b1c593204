// Which of the things that nobody uses are explained by references that are broken.
#pragma once

#include <cstddef>
#include <vector>

#include "ir/graph.h"
#include "ir/op_record.h"
#include "ir/recording.h"

namespace cohort::validate {

/// An input or a node that nobody uses.
struct UnusedItem {
  size_t index = 0;  ///< Into inputs or nodes.
  bool is_input = false;
  ir::RoleSet roles = 0;  ///< What it would have been as an operand.
};
using Unused = std::vector<UnusedItem>;

/// Takes away one item for each broken reference that may have meant it: of a fitting role, and of
/// the nearest name.
void drop_missed(const ir::Graph& graph, const std::vector<ir::Missed>& missed, Unused& items);

}  // namespace cohort::validate
