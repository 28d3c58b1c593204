// What brings warps together: named barriers, cluster barriers, grids that depend on each other.
#pragma once

#include <cstdint>

#include "emu/machine.h"

namespace cohort::emu {

/// Insn::mode of bar.red.
inline constexpr uint8_t kBarrierPopc = 1;
inline constexpr uint8_t kBarrierAnd = 2;
inline constexpr uint8_t kBarrierOr = 3;

/// Lanes of the warp have ended (Warp::live is without them): barriers do not wait for them.
void lanes_ended(Warp& warp, uint32_t lanes);

/// bar.arrive, bar.sync, bar.red of a whole warp. `count`: threads, 0 for all. False: misuse, which
/// was reported. A warp that waits has to park before complete_named() is called.
bool arrive_named(Warp& warp, const Insn& insn, uint32_t lanes, uint32_t barrier, uint32_t count,
                  bool waits, uint32_t predicate);
/// Wakes those who wait at a barrier at which all have arrived.
void complete_named(Warp& warp, uint32_t barrier);
/// barrier.cluster.arrive.
void arrive_cluster(Warp& warp, const Insn& insn, uint32_t lanes, Order order);
/// Whether the lanes may pass barrier.cluster.wait.
bool cluster_passed(const Warp& warp);
/// griddepcontrol.launch_dependents of a CTA, by any thread or by its end.
void launch_dependents(Cta& cta, Machine& machine);
/// Whether all grids before that of the warp have ended.
bool previous_grids_ended(const Warp& warp);

}  // namespace cohort::emu
