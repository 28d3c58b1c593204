#include "emu/stuck.h"

#include <algorithm>

#include "emu/warp.h"

namespace cohort::emu {

namespace {

// A kernel may do something else when a wait came back without success: so often, at the most.
constexpr uint32_t kMostTimes = 64;

}  // namespace

bool WaitLimit::reached(const Machine& machine, const std::vector<Warp*>& alive) {
  if (machine.effects != effects_) times_ = 0;
  effects_ = machine.effects;
  if (times_++ == kMostTimes) return false;
  bool any = false;
  for (Warp* w : alive) any = expire_wait(*w) || any;
  return any;
}

void report_stuck(Machine& machine, const std::vector<Warp*>& alive, FaultCode code) {
  for (const Warp* w : alive) {
    std::vector<Fragment> all = w->rest;
    if (w->cur.lanes != 0) all.push_back(w->cur);
    for (Fragment& f : all) {
      if (f.wait.what == WaitFor::mbarrier) explain_wait(machine, *w->cta, f.wait);
      machine.stuck.push_back(
          {w->cta->index, w->id, f.lanes, w->cta->grid, w->pc_base + f.pc, f.wait});
    }
    if (all.empty()) continue;
    // Lanes that wait for lanes of their own warp, which wait elsewhere, are apart.
    const bool apart = code == FaultCode::deadlock && all.size() > 1 &&
                       std::any_of(all.begin(), all.end(),
                                   [](const Fragment& f) { return f.wait.what == WaitFor::lanes; });
    machine.report(*w, w->kernel->code[all[0].pc], all[0].lanes,
                   apart ? FaultCode::divergence : code);
  }
}

}  // namespace cohort::emu
