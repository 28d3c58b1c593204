// The state of a run: warps, CTAs, memory. Handlers of instructions work on it.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "emu/async/mbarrier.h"
#include "emu/async/tensor_memory.h"
#include "emu/events.h"
#include "emu/fault.h"
#include "emu/kernel.h"
#include "emu/rules.h"
#include "emu/schedule.h"

namespace cohort::emu {

struct Cta;
struct InFlight;
class Machine;

/// What a fragment waits for; a report of a deadlock says it in words.
enum class WaitFor : uint8_t {
  nothing,
  lanes,            ///< value: lanes that have to come to this instruction
  named_barrier,    ///< value: its number
  cluster_barrier,  ///< value: its phase
  registers,        ///< value: how many setmaxnreg wants
  previous_grids,   ///< griddepcontrol.wait
  mbarrier,         ///< value: offset in the CTA's shared memory; detail: pack(Lacking)
  memory,           ///< tensor memory or another resource; value: amount
  operation,        ///< completion of asynchronous operations; value: how many may be open
};

struct Wait {
  WaitFor what = WaitFor::nothing;
  uint64_t value = 0;
  uint64_t detail = 0;
};

/// Lanes of a warp that are at one instruction.
struct Fragment {
  enum class State : uint8_t {
    ready,
    gather,  ///< waits for lanes of its own warp
    poll,    ///< tries again when the machine has changed
    parked,  ///< waits for wake()
  };
  uint32_t pc = 0;
  uint32_t lanes = 0;
  State state = State::ready;
  bool resumed = false;  ///< wake() was called since the handler said `park`
  uint64_t seen = 0;     ///< Machine::changes at the last poll
  Wait wait;
  bool expired = false;  ///< nothing else could go on: a wait with a time limit ends
};

struct Warp {
  uint32_t* base[2] = {nullptr, nullptr};  ///< registers, constant pool
  Cta* cta = nullptr;
  Machine* machine = nullptr;
  const Kernel* kernel = nullptr;
  uint32_t id = 0;       ///< within the CTA
  WarpId number{0};      ///< within the run
  uint32_t first = 0;    ///< lanes that it began with
  uint32_t live = 0;     ///< lanes that have not ended
  uint32_t pc_base = 0;  ///< of its launch: instructions are numbered on through the run
  Fragment cur;
  std::vector<Fragment> rest;
  uint8_t* local = nullptr;      ///< 32 times Kernel::local_bytes
  uint32_t cluster_arrived = 0;  ///< lanes that wait for the phase below
  uint64_t cluster_phase = 0;
  uint32_t register_count = 0;                       ///< ledger of setmaxnreg
  bool rotate = false;                               ///< the next turn goes to another fragment
  std::vector<std::shared_ptr<InFlight>> in_flight;  ///< Operations on registers: in_flight.h
  std::vector<uint16_t> busy;                        ///< Of each 32 words: how many of those.
  uint32_t product_groups = 0;                       ///< wgmma.commit_group so far.
  bool may_multiply = false;                         ///< wgmma.fence was there.
  uint64_t yielded = 0;  ///< Machine::changes when a poll last found nothing
  uint64_t instructions = 0;
  uint64_t lane_instructions = 0;

  uint32_t* word(uint32_t o) { return base[o >> 31] + (o & ~kPool); }
  const uint32_t* word(uint32_t o) const { return base[o >> 31] + (o & ~kPool); }
  Who who(const Insn& insn, uint32_t lanes) const {
    return {number, lanes, pc_base + static_cast<uint32_t>(&insn - kernel->code.data())};
  }
};

/// bar.sync and its kind.
struct NamedBarrier {
  uint32_t arrived = 0;   ///< threads, whole warps
  uint32_t expected = 0;  ///< 0: all threads that have not ended
  bool open = false;      ///< somebody has arrived
  uint32_t popc = 0;      ///< bar.red: lanes whose predicate is true
  bool all = true;
  SyncId sync{0};
  bool has_sync = false;
  struct Waiting {
    Warp* warp;
    const Insn* insn;
    uint32_t lanes;
  };
  std::vector<Waiting> waiting;
};

struct Cluster {
  uint32_t first_cta = 0;  ///< Machine::ctas
  uint32_t size = 1;
  bool freed = false;    ///< its CTAs have ended and their memory is gone
  uint32_t arrived = 0;  ///< threads
  uint64_t phase = 0;
  SyncId sync{0};
  bool has_sync = false;
};

inline constexpr int kNamedBarriers = 16;

struct Cta {
  uint32_t index = 0;  ///< within the run, as the events count
  uint32_t rank = 0;   ///< within the cluster
  uint32_t grid = 0;   ///< Machine::grids
  uint32_t id[3] = {0, 0, 0};
  Cluster* cluster = nullptr;
  std::vector<uint8_t> shared;
  std::vector<uint32_t> registers;
  size_t register_offset = 0;
  std::vector<uint8_t> local;
  std::vector<std::unique_ptr<Warp>> warps;
  NamedBarrier barriers[kNamedBarriers];
  std::map<uint32_t, Mbarrier> mbarriers;  ///< by offset
  uint32_t barriers_begin = 0;             ///< the bytes that mbarriers stand in: [begin, end)
  uint32_t barriers_end = 0;
  uint32_t live_warps = 0;
  uint32_t free_registers = 0;  ///< given back by setmaxnreg.dec
  TensorUnit tensor;
  bool launched_dependents = false;
  bool ended = false;
};

/// Bytes of a run's memory that one pointer check covers.
struct Region {
  uint8_t* host = nullptr;
  uint64_t base = 0;  ///< generic address of its first byte
  uint64_t size = 0;
  Space space = Space::global;
  uint32_t block = 0;
  uint64_t first = 0;        ///< offset of the first byte that may be touched
  uint64_t lane_stride = 0;  ///< local memory: from lane to lane
  bool watched = true;       ///< accesses make events
  bool read_only = false;
  bool gone = false;            ///< shared memory of a CTA that has ended
  uint32_t barriers_begin = 0;  ///< of shared memory: offsets where mbarriers are
  uint32_t barriers_end = 0;
};

/// Generic addresses: bits 32 up tell the window, but buffer i begins at (i + 1) << 36.
inline constexpr uint64_t kSharedWindow = uint64_t{1} << 32;
inline constexpr uint64_t kLocalWindow = uint64_t{2} << 32;
inline constexpr uint64_t kParamWindow = uint64_t{3} << 32;
inline constexpr int kBufferShift = 36;
/// A CTA's shared memory begins at rank << 24 in the 32-bit window; the first bytes are the
/// system's, so that 0 is no address of a variable.
inline constexpr int kRankShift = 24;
inline constexpr uint32_t kSharedReserved = 1024;
/// What memory and registers hold that nobody wrote: as f32 a NaN, as an address out of bounds.
inline constexpr uint8_t kPoisonByte = 0xFF;
inline constexpr uint32_t kPoisonWord = 0xFFC0DEAD;

/// Work that goes on beside the warps: the schedule says when a step of it happens.
class Task {
 public:
  virtual ~Task() = default;
  /// Does the next step. True: it is done and goes away.
  virtual bool step(Machine& machine) = 0;
};

struct Buffer {
  std::string name;
  std::vector<uint8_t> bytes;
  bool initialised = true;
  bool read_only = false;
};

struct Grid3 {
  uint32_t x = 1;
  uint32_t y = 1;
  uint32_t z = 1;
  uint64_t count() const { return uint64_t{x} * y * z; }
};

/// A grid of the run.
struct GridState {
  const Kernel* kernel = nullptr;
  Grid3 grid;
  Grid3 cluster;
  Grid3 block;
  uint32_t dynamic_shared = 0;
  bool overlaps_previous = false;
  std::vector<uint8_t> arguments;
  std::vector<uint32_t> pool;  ///< the kernel's, with addresses filled in
  std::vector<std::vector<uint32_t>> pool_of_rank;
  uint32_t registers_per_thread = 0;
  uint32_t pc_base = 0;
  uint64_t next_cta = 0;  ///< not started yet
  uint64_t ended_ctas = 0;
  uint64_t dependents_ctas = 0;  ///< said launch_dependents, or ended
  uint32_t first_warp = 0;
  uint32_t first_cta = 0;
  bool begun = false;
  SyncId end_sync{0};
  bool has_end_sync = false;
};

class Machine {
 public:
  Machine(Schedule& s, Events* e, FaultSink* f) : schedule(s), events(e), faults(f) {}

  Schedule& schedule;
  Events* events;
  FaultSink* faults;
  Rules rules;
  std::vector<Buffer> buffers;
  std::vector<GridState> grids;
  std::deque<std::unique_ptr<Cta>> ctas;  ///< by Cta::index
  std::deque<Cluster> clusters;
  std::vector<std::unique_ptr<Task>> tasks;
  std::string printed;   ///< by vprintf
  uint64_t changes = 1;  ///< counts what a polling fragment may wait for
  uint64_t time = 0;     ///< warp instructions
  uint64_t effects = 1;  ///< counts what shows that a run gets somewhere: stores, barriers, ends
  bool stopped = false;
  uint32_t resident = 0;  ///< CTAs

  /// A fragment of a warp, when a run cannot go on.
  struct Stuck {
    uint32_t cta;
    uint32_t warp;
    uint32_t lanes;
    uint32_t launch;
    uint32_t pc;
    Wait wait;
  };
  std::vector<Stuck> stuck;

  /// Where an address points, or a region of size 0.
  Region find(const Warp& warp, uint64_t address);
  SyncId new_sync() { return SyncId{next_sync_++}; }
  /// What every fence.sc of the run passes through.
  SyncId sequence();
  /// The sync object of a word that strong accesses meet at.
  SyncId word_sync(Space space, uint32_t block, uint64_t offset);
  /// Fragments of the warp that are parked for that go on.
  void wake(Warp& warp, WaitFor what, uint64_t value);
  /// The lane that elect.sync chooses of a mask.
  uint32_t leader(uint32_t lanes);
  void report(const Warp& warp, const Insn& insn, uint32_t lanes, FaultCode code,
              std::string note = {}) const;
  void report(const Fault& fault) const;
  /// These lanes at this instruction, as a report names them.
  [[nodiscard]] static Touch touch(const Warp& warp, const Insn& insn, uint32_t lanes);

 private:
  uint32_t next_sync_ = 0;
  SyncId sequence_{UINT32_MAX};
  std::unordered_map<uint32_t, uint32_t> leaders_;
  struct WordKey {
    uint64_t high;
    uint64_t offset;
    bool operator==(const WordKey&) const = default;
  };
  struct WordHash {
    size_t operator()(const WordKey& k) const {
      return static_cast<size_t>((k.high * 0x9E3779B97F4A7C15u) ^ (k.offset * 0xC2B2AE3D27D4EB4Fu));
    }
  };
  std::unordered_map<WordKey, SyncId, WordHash> word_syncs_;
};

}  // namespace cohort::emu
