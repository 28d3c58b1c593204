// One access as 64 bits of shadow memory.
#pragma once

#include <cstdint>

#include "race/clock.h"

namespace cohort::race {

/// tick 24 | agent 16 | lane 6 | no data 1 | site 17. 0: nobody has touched it.
using Epoch = uint64_t;

inline constexpr int kSiteBits = 17;
inline constexpr int kNoDataShift = kSiteBits;
inline constexpr int kLaneShift = kNoDataShift + 1;
inline constexpr int kAgentShift = kLaneShift + 6;
inline constexpr int kTickShift = kAgentShift + 16;

inline constexpr Tick kMaxTick = (1U << 24) - 1;
/// The last value marks an epoch that stands for a set of readers.
inline constexpr AgentId kMaxAgent = (1U << 16) - 2;
inline constexpr uint32_t kMaxSite = (1U << kSiteBits) - 1;
/// In the place of a lane: all lanes of the warp.
inline constexpr uint32_t kEveryLane = 32;

inline constexpr Epoch kNoData = Epoch{1} << kNoDataShift;
inline constexpr Epoch kLaneMask = Epoch{63} << kLaneShift;
inline constexpr Epoch kAgentMask = Epoch{0xffff} << kAgentShift;

constexpr Epoch make_epoch(Tick tick, AgentId agent, uint32_t lane, uint32_t site) {
  return Epoch{tick} << kTickShift | Epoch{agent} << kAgentShift | Epoch{lane} << kLaneShift | site;
}
constexpr Tick tick_of(Epoch e) { return static_cast<Tick>(e >> kTickShift); }
constexpr AgentId agent_of(Epoch e) { return static_cast<AgentId>(e >> kAgentShift & 0xffff); }
constexpr uint32_t lane_of(Epoch e) { return static_cast<uint32_t>(e >> kLaneShift & 63); }
constexpr uint32_t site_of(Epoch e) { return static_cast<uint32_t>(e & kMaxSite); }
constexpr Epoch with_lane(Epoch e, uint32_t lane) {
  return (e & ~kLaneMask) | Epoch{lane} << kLaneShift;
}

/// A set of readers, by its number.
constexpr Epoch set_epoch(uint32_t index) { return kAgentMask | index; }
constexpr bool is_set(Epoch e) { return (e & kAgentMask) == kAgentMask; }
/// Sets are numbered in 24 bits: all below the agent.
inline constexpr uint32_t kMaxSet = (1U << kAgentShift) - 1;
constexpr uint32_t set_of(Epoch e) { return static_cast<uint32_t>(e & kMaxSet); }

}  // namespace cohort::race
