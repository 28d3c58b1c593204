// Barriers of threads, fences, and what else lets warps wait for each other.
#include "emu/barrier.h"

#include <bit>
#include <iterator>

#include "emu/insn/families.h"

namespace cohort::emu {

namespace barrier_family {
namespace {

// ---- named barriers. a: number, b: threads or none, c: predicate, d: result, mode: of bar.red.

enum BarrierFlags : uint8_t { kWaits = 1 };

uint32_t value_at(const Warp& w, uint32_t o, uint32_t lanes) {
  return w.word(o)[std::countr_zero(lanes)];
}

Next named_barrier(Warp& w, const Insn& i, uint32_t lanes) {
  if (w.cur.resumed) return Next::go;
  const uint32_t number = value_at(w, i.a, lanes);
  const uint32_t count = i.b == kNoOperand ? 0 : value_at(w, i.b, lanes);
  if (number >= kNamedBarriers) {
    w.machine->report(w, i, lanes, FaultCode::misuse);
    return Next::stop;
  }
  const bool waits = (i.flags & kWaits) != 0;
  const uint32_t predicate = i.c == kNoOperand ? 0 : *w.word(i.c);
  if (!arrive_named(w, i, lanes, number, count, waits, predicate)) return Next::stop;
  complete_named(w, number);
  if (!waits || !w.cta->barriers[number].open) return Next::go;
  w.cur.wait = {WaitFor::named_barrier, number, count};
  return Next::park;
}

void take_number(Build& b, int number, int count) {
  b.insn.flow = Flow::together;
  b.insn.members = kAllLanes;
  b.insn.a = b.src(number, Ty::u32);
  if (count >= 0) b.insn.b = b.src(count, Ty::u32);
  b.set(named_barrier);
}
void make_sync(Build& b) {
  b.insn.flags = kWaits;
  take_number(b, 0, b.operands() > 1 ? 1 : -1);
}
void make_arrive(Build& b) { take_number(b, 0, 1); }
void make_reduce(Build& b) {
  b.insn.flags = kWaits;
  const bool counts = b.has("popc");
  b.insn.d = counts ? b.dst(0, 4) : b.pred_dst(0);
  b.insn.mode = counts ? kBarrierPopc : b.has("and") ? kBarrierAnd : kBarrierOr;
  const bool with_count = b.operands() > 3;
  take_number(b, 1, with_count ? 2 : -1);
  b.insn.c = b.pred_src(with_count ? 3 : 2);
}

// ---- bar.warp.sync

Next warp_sync(Warp& w, const Insn& i, uint32_t lanes) {
  if (w.machine->events != nullptr) w.machine->events->warp_sync(w.who(i, lanes));
  return Next::go;
}
void make_warp_sync(Build& b) {
  b.insn.flow = Flow::together;
  b.insn.flags = kMeetAnywhere;
  b.insn.members = b.src(0, Ty::b32);
  b.set(warp_sync);
}

// ---- barrier.cluster

Next cluster_arrive(Warp& w, const Insn& i, uint32_t lanes) {
  arrive_cluster(w, i, lanes, static_cast<Order>(i.mode));
  return Next::go;
}
Next cluster_wait(Warp& w, const Insn& i, uint32_t lanes) {
  if ((lanes & ~w.cluster_arrived) != 0) {
    w.machine->report(w, i, lanes & ~w.cluster_arrived, FaultCode::misuse);
    return Next::stop;
  }
  if (!cluster_passed(w)) {
    w.cur.wait = {WaitFor::cluster_barrier, w.cluster_phase, 0};
    return Next::park;
  }
  w.cluster_arrived &= ~lanes;
  if (w.machine->events != nullptr) {
    w.machine->events->acquire(w.who(i, lanes), w.cta->cluster->sync, Scope::cluster, Order::full);
  }
  return Next::go;
}
void cluster_flow(Build& b) {
  if (!b.has("aligned")) return;
  b.insn.flow = Flow::together;
  b.insn.members = kAllLanes;
}
void make_cluster_arrive(Build& b) {
  cluster_flow(b);
  b.insn.mode = static_cast<uint8_t>(b.has("relaxed") ? Order::relaxed : Order::full);
  b.set(cluster_arrive);
}
void make_cluster_wait(Build& b) {
  cluster_flow(b);
  b.set(cluster_wait);
}

// ---- fences. mode: a Fence.

Next fence(Warp& w, const Insn& i, uint32_t lanes) {
  if (w.machine->events != nullptr) {
    w.machine->events->fence(w.who(i, lanes), static_cast<Fence>(i.mode),
                             static_cast<Scope>(i.scope));
  }
  return Next::go;
}
void make_fence_of(Build& b, Fence kind) {
  Scope scope = Scope::sys;
  if (b.has("cta")) scope = Scope::cta;
  if (b.has("cluster")) scope = Scope::cluster;
  if (b.has("gpu") || b.has("gl")) scope = Scope::gpu;
  b.insn.mode = static_cast<uint8_t>(kind);
  b.insn.scope = static_cast<uint8_t>(scope);
  b.set(fence);
}
// fence.sc: all of a run stand in one order (PTX ISA 8.9.3).
Next sequential_fence(Warp& w, const Insn& i, uint32_t lanes) {
  Events* events = w.machine->events;
  if (events == nullptr) return Next::go;
  const Who who = w.who(i, lanes);
  const auto scope = static_cast<Scope>(i.scope);
  const SyncId sync = w.machine->sequence();
  events->fence(who, Fence::memory, scope);
  events->release(who, sync, scope, Order::full);
  events->flip(sync, true);
  events->acquire(who, sync, scope, Order::full);
  return Next::go;
}
void make_memory_fence(Build& b) {
  make_fence_of(b, Fence::memory);
  if (b.has("sc")) b.set(sequential_fence);
}
void make_async_fence(Build& b) {
  const bool shared = b.has("shared::cta") || b.has("shared::cluster");
  make_fence_of(b, shared            ? Fence::async_shared
                   : b.has("global") ? Fence::async_global
                                     : Fence::async_all);
}
void make_tensor_map_fence(Build& b) {
  make_fence_of(b, b.has("release") ? Fence::tensor_map_release : Fence::tensor_map_acquire);
}

// ---- setmaxnreg: a ledger of the registers that warps gave back to their CTA.

Next set_registers(Warp& w, const Insn& i, uint32_t lanes) {
  const auto wanted = static_cast<uint32_t>(i.imm);
  const bool increases = i.mode != 0;
  Machine& m = *w.machine;
  if (increases ? wanted < w.register_count : wanted > w.register_count) {
    m.report(w, i, lanes, FaultCode::registers);
    return Next::stop;
  }
  const uint32_t change = 32 * (increases ? wanted - w.register_count : w.register_count - wanted);
  if (increases && change > w.cta->free_registers) {
    w.cur.wait = {WaitFor::registers, wanted, w.cta->free_registers};
    return Next::again;
  }
  w.cta->free_registers =
      increases ? w.cta->free_registers - change : w.cta->free_registers + change;
  w.register_count = wanted;
  ++m.changes;
  ++m.effects;
  return Next::go;
}
void make_set_registers(Build& b) {
  b.insn.flow = Flow::together;
  b.insn.members = kAllLanes;
  b.insn.mode = b.has("inc") ? 1 : 0;
  if (b.constant(0, &b.insn.imm) && (b.insn.imm < 24 || b.insn.imm > 256 || b.insn.imm % 8 != 0)) {
    b.refuse("a multiple of 8 from 24 to 256 is wanted");
  }
  b.set(set_registers);
}

// ---- griddepcontrol

Next dependents(Warp& w, const Insn&, uint32_t) {
  launch_dependents(*w.cta, *w.machine);
  return Next::go;
}
Next wait_grids(Warp& w, const Insn& i, uint32_t lanes) {
  Machine& m = *w.machine;
  if (!previous_grids_ended(w)) {
    w.cur.wait = {WaitFor::previous_grids, w.cta->grid, 0};
    return Next::again;
  }
  if (m.events == nullptr) return Next::go;
  for (uint32_t g = 0; g < w.cta->grid; ++g) {
    if (m.grids[g].has_end_sync) {
      m.events->acquire(w.who(i, lanes), m.grids[g].end_sync, Scope::gpu, Order::grid);
    }
  }
  return Next::go;
}
void make_dependents(Build& b) { b.set(dependents); }
void make_wait_grids(Build& b) { b.set(wait_grids); }

constexpr Record kRecords[] = {
    {"bar[.cta].sync", "number[, threads]", make_sync},
    {"bar[.cta].arrive", "number, threads", make_arrive},
    {"bar[.cta].red.popc.u32", "d, number[, threads], p", make_reduce},
    {"bar[.cta].red.{and,or}.pred", "q, number[, threads], p", make_reduce},
    {"barrier[.cta].sync[.aligned]", "number[, threads]", make_sync},
    {"barrier[.cta].arrive[.aligned]", "number, threads", make_arrive},
    {"barrier[.cta].red.popc[.aligned].u32", "d, number[, threads], p", make_reduce},
    {"barrier[.cta].red.{and,or}[.aligned].pred", "q, number[, threads], p", make_reduce},
    {"bar.warp.sync", "members", make_warp_sync},
    {"barrier.cluster.arrive[.{release,relaxed}][.aligned]", "", make_cluster_arrive},
    {"barrier.cluster.wait[.acquire][.aligned]", "", make_cluster_wait},
    {"fence[.{sc,acq_rel,acquire,release}].{cta,cluster,gpu,sys}", "", make_memory_fence},
    {"fence.mbarrier_init.release.cluster", "", make_memory_fence},
    {"membar.{cta,gl,sys}", "", make_memory_fence},
    {"fence.proxy.async[.{global,shared::cta,shared::cluster}]", "", make_async_fence},
    {"fence.proxy.tensormap::generic.release.{cta,cluster,gpu,sys}", "", make_tensor_map_fence},
    {"fence.proxy.tensormap::generic.acquire.{cta,cluster,gpu,sys}", "[a], 128",
     make_tensor_map_fence},
    {"setmaxnreg.{inc,dec}.sync.aligned.u32", "n", make_set_registers},
    {"griddepcontrol.launch_dependents", "", make_dependents},
    {"griddepcontrol.wait", "", make_wait_grids},
};

}  // namespace
}  // namespace barrier_family

const Family kBarrier = {"Barriers and fences", barrier_family::kRecords,
                         static_cast<int>(std::size(barrier_family::kRecords))};

}  // namespace cohort::emu
