// What can only be said of a whole graph: names, outputs, what is unused.
#pragma once

#include "ir/recording.h"

namespace cohort::validate {

/// Adds every finding about the graph as a whole. Nodes and inputs were checked as they were added.
/// `where`: the place of finish(); file null for a text.
void check_whole(ir::Recording& recording, Where where);

}  // namespace cohort::validate
