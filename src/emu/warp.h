// The loop of a warp.
#pragma once

#include <cstdint>

#include "emu/machine.h"

namespace cohort::emu {

/// Whether a fragment of the warp can do something now.
[[nodiscard]] bool can_run(const Warp& warp);
/// Runs the warp for about `budget` instructions, or until no fragment can go on.
void run_turn(Warp& warp, uint32_t budget);
/// Waits with a time limit end without success. False: there is none.
bool expire_wait(Warp& warp);

}  // namespace cohort::emu
