// Happens-before over the events of a run: races, missing fences, reads of what nobody wrote.
// docs/emulator/events.md explains the model.
#pragma once

#include <cstdint>
#include <memory>

#include "emu/events.h"
#include "emu/fault.h"
#include "emu/rules.h"

namespace cohort::race {

/// What a checker used, for figures.
struct Usage {
  uint64_t shadow_bytes = 0;     ///< Cells and their tables, and sets of readers.
  uint64_t knowledge_bytes = 0;  ///< Clocks.
  uint64_t slow_cells = 0;       ///< Cells that no fast path took.
};

class Checker : public emu::Events {
 public:
  [[nodiscard]] virtual Usage usage() const = 0;
};

/// Watches one run. Faults go to `sink`, which must outlive it; a fault is told once for each place
/// where it is found. A limit that is passed (agents, ticks) ends in an exception with E-LIMIT.
[[nodiscard]] std::unique_ptr<Checker> make_checker(const emu::Rules& rules, emu::FaultSink& sink);

}  // namespace cohort::race
