// mbarrier objects: counts, phases, and what is wrong with their use. Who arrives may be a thread,
// a copy or a commit; the events about knowledge (release, publish, acquire) are theirs.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>

#include "emu/events.h"
#include "emu/fault.h"

namespace cohort::emu {

struct Cta;
struct Wait;
class Machine;

inline constexpr uint32_t kMbarrierBytes = 8;
/// The most that counts may be (PTX ISA, contents of the mbarrier object).
inline constexpr uint32_t kMostArrivals = (1u << 20) - 1;
inline constexpr int64_t kMostTransactions = (int64_t{1} << 20) - 1;

struct Mbarrier {
  uint32_t offset = 0;    ///< In the shared memory of its CTA.
  uint32_t expected = 0;  ///< Arrivals of the phases to come.
  uint32_t pending = 0;   ///< Arrivals that this phase still lacks.
  int64_t tx = 0;      ///< Bytes that it still lacks. Less than 0 when they came before expect_tx.
  uint64_t phase = 0;  ///< How many are complete.
  bool observed = true;  ///< Somebody has waited for the last one that is complete.
  SyncId sync{0};
  Touch expecting;  ///< The last expect_tx.
  /// By number of the warp, for each lane: phases complete when it last waited, + 1; 0: never.
  std::unordered_map<uint32_t, std::array<uint64_t, 32>> waited;
};

/// Finds the object, or reports why there is none: null.
[[nodiscard]] Mbarrier* find_mbarrier(Machine& machine, Cta& cta, uint64_t offset, const Touch& by);
/// False after a fault, as everywhere below.
bool init_mbarrier(Machine& machine, Cta& cta, uint32_t offset, uint32_t count, const Touch& by);
void invalidate_mbarrier(Cta& cta, uint32_t offset);
bool arrive(Machine& machine, const Cta& cta, Mbarrier& barrier, uint32_t count, const Touch& by);
/// The phases to come expect fewer; arrive() comes after it.
bool drop(Machine& machine, const Cta& cta, Mbarrier& barrier, uint32_t count, const Touch& by);
bool expect_tx(Machine& machine, const Cta& cta, Mbarrier& barrier, uint32_t bytes,
               const Touch& by);
bool complete_tx(Machine& machine, const Cta& cta, Mbarrier& barrier, uint64_t bytes,
                 const Touch& by);
/// Whether the arrivals and bytes that are there would complete the phase.
[[nodiscard]] inline bool is_complete(const Mbarrier& b) { return b.pending == 0 && b.tx == 0; }

/// A wait by a thread, by parity: reports one that is too late. True: the phase is complete.
[[nodiscard]] bool wait_parity(Machine& machine, const Cta& cta, Mbarrier& barrier, uint32_t parity,
                               uint32_t warp, uint32_t lane, const Touch& by);
/// A wait by what arrive() returned.
[[nodiscard]] bool wait_state(Machine& machine, const Cta& cta, Mbarrier& barrier, uint64_t state,
                              const Touch& by);
/// What a thread gets from arrive: phase and pending arrivals before it.
[[nodiscard]] inline uint64_t state_of(const Mbarrier& b) { return b.phase << 20 | b.pending; }
[[nodiscard]] inline uint32_t pending_of(uint64_t state) { return state & kMostArrivals; }

/// What a phase lacks, in the 64 bits of Wait::detail.
struct Lacking {
  uint32_t arrivals = 0;
  int64_t bytes = 0;
  bool is_object = true;
};
[[nodiscard]] uint64_t pack(const Lacking& lacking);
[[nodiscard]] Lacking unpack_lacking(uint64_t detail);
/// What a wait that cannot end lacks, as its detail; bytes alone are a fault of their own.
void explain_wait(Machine& machine, const Cta& cta, Wait& wait);
/// Barriers of a CTA that still expect bytes at its end.
void report_unmet(Machine& machine, const Cta& cta);
/// The bytes, used as something else: reports a live barrier among them. False when there is one.
bool check_barrier_bytes(Machine& machine, const Cta& cta, uint64_t offset, uint64_t bytes,
                         const Touch& by);

}  // namespace cohort::emu
