// Sums over the rows of each group: gradients of weights.
#pragma once

#include <cstdint>
#include <functional>

#include "engine/reference/memory.h"

namespace cohort::engine::reference {

/// Number of tiles of a wgrad node, for progress.
[[nodiscard]] int64_t wgrad_tiles(const Memory& memory, const ir::Node& node);

/// Runs a wgrad node: f64 sums, rows of a group in order, whatever the threads. `progress(done)`
/// counts tiles. Returns false when progress stopped it.
bool run_wgrad(const Memory& memory, int32_t node, int threads,
               const std::function<bool(int64_t)>& progress);

}  // namespace cohort::engine::reference
