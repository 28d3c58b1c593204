#include "emu/barrier.h"

#include <algorithm>
#include <bit>

#include "emu/async/tensor_pipe.h"

namespace cohort::emu {

namespace {

uint32_t expected_of(const Cta& cta, const NamedBarrier& b) {
  // A warp counts as a whole, whatever lanes of it are left.
  return b.expected != 0 ? b.expected : 32 * cta.live_warps;
}

// What bar.red gives to the lanes that wait: insn.mode says which.
void give_result(const NamedBarrier& b, const NamedBarrier::Waiting& w) {
  const Insn& i = *w.insn;
  if (i.d == kNoOperand) return;
  uint32_t* d = w.warp->word(i.d);
  if (i.mode == kBarrierPopc) {
    for (int l = 0; l < 32; ++l) {
      if ((w.lanes >> l & 1) != 0) d[l] = b.popc;
    }
  } else {
    const bool truth = i.mode == kBarrierAnd ? b.all : b.popc != 0;
    *d = truth ? *d | w.lanes : *d & ~w.lanes;
  }
}

void complete_if_full(Cta& cta, uint32_t number) {
  NamedBarrier& b = cta.barriers[number];
  if (!b.open || b.arrived < expected_of(cta, b)) return;
  const std::vector<NamedBarrier::Waiting> waiting = std::move(b.waiting);
  Machine* machine = nullptr;
  for (const NamedBarrier::Waiting& w : waiting) {
    machine = w.warp->machine;
    give_result(b, w);
  }
  if (machine != nullptr && machine->events != nullptr) machine->events->flip(b.sync, false);
  b.waiting.clear();
  b.arrived = 0;
  b.expected = 0;
  b.open = false;
  b.popc = 0;
  b.all = true;
  for (const NamedBarrier::Waiting& w : waiting) {
    if (machine->events != nullptr) {
      machine->events->acquire(w.warp->who(*w.insn, w.lanes), b.sync, Scope::cta, Order::full);
    }
    machine->wake(*w.warp, WaitFor::named_barrier, number);
  }
}

uint32_t live_threads(const Machine& m, const Cluster& c) {
  uint32_t live = 0;
  for (uint32_t i = 0; i < c.size; ++i) {
    for (const auto& w : m.ctas[c.first_cta + i]->warps) {
      live += static_cast<uint32_t>(std::popcount(w->live));
    }
  }
  return live;
}

void complete_cluster_if_full(Machine& m, Cluster& c) {
  const uint32_t live = live_threads(m, c);
  if (c.arrived == 0 || c.arrived < live) return;
  const uint64_t phase = c.phase++;
  c.arrived = 0;
  if (m.events != nullptr) m.events->flip(c.sync, false);
  for (uint32_t i = 0; i < c.size; ++i) {
    for (const auto& w : m.ctas[c.first_cta + i]->warps) {
      m.wake(*w, WaitFor::cluster_barrier, phase);
    }
  }
}

}  // namespace

bool arrive_named(Warp& w, const Insn& i, uint32_t lanes, uint32_t number, uint32_t count,
                  bool waits, uint32_t predicate) {
  Machine& m = *w.machine;
  NamedBarrier& b = w.cta->barriers[number];
  const auto threads = static_cast<uint32_t>(32 * w.cta->warps.size());
  const bool other_count = b.open && b.expected != count;
  if (count % 32 != 0 || count > threads || other_count) {
    m.report(w, i, lanes, FaultCode::misuse);
    return false;
  }
  if (!b.has_sync) {
    b.sync = m.new_sync();
    b.has_sync = true;
  }
  b.open = true;
  b.expected = count;
  b.arrived += 32;
  b.popc += static_cast<uint32_t>(std::popcount(lanes & predicate));
  b.all = b.all && (lanes & ~predicate) == 0;
  if (m.events != nullptr) m.events->release(w.who(i, lanes), b.sync, Scope::cta, Order::full);
  if (waits) b.waiting.push_back({&w, &i, lanes});
  ++m.effects;
  return true;
}

void complete_named(Warp& w, uint32_t number) { complete_if_full(*w.cta, number); }

void arrive_cluster(Warp& w, const Insn& i, uint32_t lanes, Order order) {
  Machine& m = *w.machine;
  Cluster& c = *w.cta->cluster;
  if ((w.cluster_arrived & lanes) != 0) m.report(w, i, lanes, FaultCode::misuse);
  if (!c.has_sync) {
    c.sync = m.new_sync();
    c.has_sync = true;
  }
  w.cluster_phase = c.phase;
  w.cluster_arrived |= lanes;
  c.arrived += static_cast<uint32_t>(std::popcount(lanes));
  if (m.events != nullptr) m.events->release(w.who(i, lanes), c.sync, Scope::cluster, order);
  ++m.effects;
  complete_cluster_if_full(m, c);
}

bool cluster_passed(const Warp& w) { return w.cta->cluster->phase > w.cluster_phase; }

void launch_dependents(Cta& cta, Machine& m) {
  if (cta.launched_dependents) return;
  cta.launched_dependents = true;
  ++m.grids[cta.grid].dependents_ctas;
  ++m.changes;
}

bool previous_grids_ended(const Warp& w) {
  const auto& grids = w.machine->grids;
  return std::all_of(grids.begin(), grids.begin() + w.cta->grid,
                     [](const GridState& g) { return g.ended_ctas == g.grid.count(); });
}

namespace {

// What a grid did is known to those who wait for its end.
void release_grid(const Cta& cta, Machine& m) {
  GridState& g = m.grids[cta.grid];
  if (!g.has_end_sync) {
    g.end_sync = m.new_sync();
    g.has_end_sync = true;
  }
  for (const auto& w : cta.warps) {
    m.events->release(w->who(g.kernel->code.back(), w->first), g.end_sync, Scope::gpu, Order::grid);
  }
  if (g.ended_ctas == g.grid.count()) m.events->flip(g.end_sync, false);
}

void end_cta(Cta& cta, Machine& m) {
  cta.ended = true;
  end_tensor_unit(cta, m);
  report_unmet(m, cta);
  launch_dependents(cta, m);
  ++m.grids[cta.grid].ended_ctas;
  if (m.events != nullptr) {
    release_grid(cta, m);
    m.events->end_cta(cta.index);
  }
  ++m.changes;
}

}  // namespace

void lanes_ended(Warp& w, uint32_t lanes) {
  Machine& m = *w.machine;
  Cta& cta = *w.cta;
  Cluster& cluster = *cta.cluster;
  if (w.cluster_phase == cluster.phase) {
    cluster.arrived -= static_cast<uint32_t>(std::popcount(w.cluster_arrived & lanes));
  }
  w.cluster_arrived &= ~lanes;
  ++m.effects;
  if (w.live == 0) {
    --cta.live_warps;
    for (uint32_t n = 0; n < kNamedBarriers; ++n) {
      if (cta.live_warps != 0) complete_if_full(cta, n);
    }
  }
  complete_cluster_if_full(m, cluster);
  if (cta.live_warps == 0 && !cta.ended) end_cta(cta, m);
}

}  // namespace cohort::emu
