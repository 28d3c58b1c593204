// The seam between the machine and whoever watches it (race checker, trace, coverage).
//
// The machine says who touched what and how knowledge flows, never which opcode did it. One call
// per warp instruction or per box of an asynchronous operation, none per lane: that is what keeps
// a watched run fast. Every event is made after the machine has checked what is its own to check
// (bounds, alignment, misuse of barriers), and in an order in which things may really happen.
// docs/emulator/events.md says which instruction makes which events, and why.
#pragma once

#include <cstdint>

namespace cohort::emu {

/// What an offset counts in.
enum class Space : uint8_t {
  shared,  ///< Block: CTA, as in Grid::first_cta + index. Offset: bytes of its window.
  tensor,  ///< Block: CTA. Offset: lane * kTensorRow + column * 4, in bytes.
  global,  ///< Block: buffer of the run. Offset: bytes.
};
/// Bytes of one lane of tensor memory in an offset; 576 columns (Rubin) are the most that exist.
inline constexpr uint32_t kTensorRow = 1024 * 4;

/// The path by which memory is reached; accesses through different ones need a proxy fence.
enum class Proxy : uint8_t {
  generic,     ///< ld, st, atom, cp.async, and operations on mbarriers (also those of copies).
  async,       ///< Bulk copies, wgmma and tcgen05 operands, CLC responses.
  tensor_map,  ///< A tensor map that a copy reads.
};

/// What an access does.
enum class Kind : uint8_t {
  read,
  write,
  update,         ///< Reads and writes as one: atom, red, reducing copies.
  barrier,        ///< An operation on an mbarrier; these do not race with each other.
  barrier_init,   ///< Makes an mbarrier of the bytes; races with everything unordered.
  barrier_inval,  ///< Gives the bytes back; races with everything unordered.
  allocate,       ///< Contents are undefined from here on; races with everything unordered.
  free,           ///< Later accesses are out of allocation; races with everything unordered.
};

/// How far an access or an edge reaches. `weak` is an ordinary access, the others are strong.
enum class Scope : uint8_t {
  weak,
  unspelled,  ///< An mbarrier operation that names no scope: .cta by the text.
  cta,
  cluster,
  gpu,
  sys,
};

/// Whether a release or acquire works by itself or only together with a fence.
enum class Order : uint8_t {
  relaxed,  ///< Release: what the last memory fence covered. Acquire: usable after the next fence.
  full,     ///< Release or acquire.
  grid,     ///< End of a grid (release) or a wait for it (acquire): holds for every proxy but the
            ///< tensor map's.
};

/// What a fence orders, for the lanes that execute it.
enum class Fence : uint8_t {
  memory,              ///< fence.acq_rel, fence.sc, membar; and fence.mbarrier_init.
  async_shared,        ///< fence.proxy.async on shared memory, both directions.
  async_global,        ///< fence.proxy.async on global memory, both directions.
  async_all,           ///< fence.proxy.async without a state space.
  tensor_map_release,  ///< fence.proxy.tensormap::generic.release.
  tensor_map_acquire,  ///< fence.proxy.tensormap::generic.acquire.
  tensor_before,       ///< tcgen05.fence::before_thread_sync.
  tensor_after,        ///< tcgen05.fence::after_thread_sync.
};

/// How an asynchronous operation stands to its issuer and to others.
enum class Agent : uint8_t {
  copy,           ///< Bulk copy, st.async, CLC response: unordered with every other operation.
  thread_copy,    ///< cp.async: generic proxy, as if by another thread.
  tensor_pipe,    ///< tcgen05.mma, cp, shift of one thread: some pairs run in order (PipeStep).
  tensor_load,    ///< tcgen05.ld of one warp, complete at drain().
  tensor_store,   ///< tcgen05.st of one warp, complete at drain().
  warpgroup_mma,  ///< wgmma of one warp's part of a warpgroup, complete at drain().
  tensor_commit,  ///< tcgen05.commit: what this thread began in the tensor pipe until now with
                  ///< PipeStep::cta_group. It makes no accesses; publish() says that it arrives.
};

/// Which pipelined pair two operations of the tensor pipe would have to form to run in the order
/// in which they were begun: see pipelined().
struct PipeStep {
  enum class Op : uint8_t { mma, cp, cp_4x256b, shift } op = Op::mma;
  uint8_t cta_group = 1;
  uint32_t shape = 0;  ///< Of an mma: kind, shape and accumulator type, packed by the machine.
};

/// Whether the PTX text lets `later` rely on `earlier` without waiting for it (9.7.16.6.2):
/// mma -> mma of one shape, cp -> mma, shift -> mma, shift -> cp.4x256b, mma -> shift.
/// mma -> cp never is such a pair.
constexpr bool pipelined(const PipeStep& earlier, const PipeStep& later) {
  using Op = PipeStep::Op;
  if (earlier.cta_group != later.cta_group) return false;
  if (earlier.op == Op::mma && later.op == Op::mma) return earlier.shape == later.shape;
  if (later.op == Op::mma) return true;
  if (earlier.op == Op::shift) return later.op == Op::cp_4x256b;
  return earlier.op == Op::mma && later.op == Op::shift;
}

struct WarpId {
  uint32_t value;
};
/// An asynchronous operation that was begun; the watcher gives it out. It stays valid.
struct OpId {
  uint64_t value;
};
/// What knowledge is handed over through: an mbarrier, a named or cluster barrier, the end of a
/// grid, a word of memory that strong accesses meet at. The machine numbers them from 0.
struct SyncId {
  uint32_t value;
};

/// Who does something: lanes of a warp, at an instruction.
struct Who {
  WarpId warp;
  uint32_t lanes;  ///< Bit l: lane l takes part.
  uint32_t pc;     ///< Number of the decoded instruction, unique in the run; for reports.
};

/// Accesses of a warp instruction: lane l of who.lanes touches [offset[l], offset[l] + bytes).
struct LaneAccess {
  Who who;
  Space space;
  Kind kind;
  Scope scope = Scope::weak;
  uint8_t bytes;  ///< 1, 2, 4, or a multiple of 4 up to 32.
  uint32_t block;
  const uint64_t* offset;  ///< 32 of them; those of lanes outside who.lanes mean nothing.
};

/// A part of what an operation (or an allocation) touches: `runs` runs of `bytes`, `pitch` apart.
struct Box {
  Space space;
  Proxy proxy;
  Kind kind;
  uint32_t block;
  uint64_t begin;
  uint64_t bytes;
  uint32_t runs = 1;
  uint64_t pitch = 0;
};

/// A grid whose threads begin. Warps and CTAs are numbered on through the grids of a run.
struct Grid {
  uint32_t first_warp;
  uint32_t first_cta;
  uint32_t ctas;
  uint32_t warps_per_cta;
  uint32_t threads_per_cta;  ///< The last warp of a CTA may be a part of one.
  uint32_t cluster_size;     ///< CTAs of a cluster; consecutive ones form one.
  uint64_t shared_bytes;     ///< Window of each CTA.
  bool overlaps_previous;    ///< PDL: may run before the grid before it has ended.
};

/// Part of what an operation did, as far as a completion vouches for it.
enum class Covers : uint8_t {
  all,
  reads,  ///< cp.async.bulk.wait_group.read: sources may be written again.
};

/// What watches a run. All calls of one run come from one thread.
class Events {
 public:
  virtual ~Events() = default;

  /// A buffer of global memory; `initialised`: its contents count as written before the run.
  virtual void buffer(uint32_t block, uint64_t bytes, bool initialised) = 0;
  /// Everything of earlier grids is ordered before it, unless it overlaps the previous one.
  virtual void begin_grid(const Grid& grid) = 0;
  /// All threads of a CTA have ended: nothing touches its shared and tensor memory any more.
  virtual void end_cta(uint32_t cta) = 0;

  virtual void access(const LaneAccess& access) = 0;
  /// By threads, of a range rather than by lane: mbarrier operations, allocate and free.
  virtual void access(Who who, const Box& box, Scope scope) = 0;
  /// By an operation that has begun. A thread_copy of several lanes names them.
  virtual void access(OpId op, const Box& box) = 0;
  virtual void access(OpId op, const LaneAccess& access) = 0;

  /// Begins an operation of one thread (who.lanes has one bit) or, for thread_copy, tensor_load,
  /// tensor_store and warpgroup_mma, of a warp. `step` matters for tensor_pipe only.
  virtual OpId begin(Who who, Agent agent, PipeStep step = {}) = 0;
  /// The operation makes no more accesses. Whoever relies on that still needs its completion.
  virtual void end(OpId op) = 0;
  /// The issuer has waited for the operation: bulk groups, wait::ld, wait::st, wgmma.wait_group.
  virtual void drain(Who who, OpId op, Covers covers) = 0;
  /// What a copy did becomes part of what `sync` gathers: complete_tx, cp.async.mbarrier.arrive.
  /// `lanes`: of a thread_copy, those that arrive.
  virtual void publish(OpId op, SyncId sync, uint32_t lanes) = 0;
  /// So do the tensor_pipe operations that this thread began with that cta_group: a tensor_commit
  /// that arrives at once.
  virtual void commit(Who who, uint8_t cta_group, SyncId sync) = 0;

  /// What `who` knows becomes part of what `sync` gathers.
  virtual void release(Who who, SyncId sync, Scope scope, Order order) = 0;
  /// What was gathered replaces what acquires get. `keep`: it is added instead (an update of a
  /// word continues the release sequence).
  virtual void flip(SyncId sync, bool keep) = 0;
  virtual void acquire(Who who, SyncId sync, Scope scope, Order order) = 0;
  virtual void fence(Who who, Fence fence, Scope scope) = 0;
  /// bar.warp.sync: the lanes know from here on what any of them knew.
  virtual void warp_sync(Who who) = 0;
};

}  // namespace cohort::emu
