// One region, panel by panel.
#pragma once

#include <functional>

#include "engine/reference/memory.h"
#include "engine/reference/schedule.h"

namespace cohort::engine::reference {

/// Rows of a panel: a multiple of every column block and of kRowUnit.
inline constexpr int64_t kPanelRows = 192;

/// Number of panels of a region, for progress.
[[nodiscard]] int64_t panel_count(const Memory& memory, const Region& region);

/// Runs a region. `progress(done)` counts its panels. Returns false when progress stopped it.
bool run_region(const Memory& memory, const Region& region, const Schedule& schedule, int threads,
                const std::function<bool(int64_t)>& progress);

}  // namespace cohort::engine::reference
