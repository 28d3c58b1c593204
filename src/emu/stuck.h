// A run in which no warp can go on.
#pragma once

#include <cstdint>
#include <vector>

#include "emu/machine.h"

namespace cohort::emu {

/// mbarrier.try_wait comes back without success after a time; here, when nothing else goes on.
class WaitLimit {
 public:
  /// Ends such waits. False: there are none, or it came to nothing too often.
  bool reached(const Machine& machine, const std::vector<Warp*>& alive);

 private:
  uint64_t effects_ = 0;
  uint32_t times_ = 0;  ///< Since anything had an effect.
};

/// Reports each warp with what it waits for.
void report_stuck(Machine& machine, const std::vector<Warp*>& alive, FaultCode code);

}  // namespace cohort::emu
