#include "emu/machine.h"

#include <bit>

namespace cohort::emu {

namespace {

Region shared_region(Machine& machine, const Warp& w, uint64_t address) {
  const auto offset = static_cast<uint32_t>(address);
  const uint32_t rank = offset >> kRankShift;
  const Cluster& cluster = *w.cta->cluster;
  if (rank >= cluster.size) return {};
  Cta& cta = rank == w.cta->rank ? *w.cta : *machine.ctas[cluster.first_cta + rank];
  Region r;
  r.host = cta.shared.data();
  r.base = kSharedWindow + (uint64_t{rank} << kRankShift);
  r.size = cta.shared.size();
  r.first = kSharedReserved;
  r.space = Space::shared;
  r.block = cta.index;
  r.gone = cta.ended;
  r.barriers_begin = cta.barriers_begin;
  r.barriers_end = cta.barriers_end;
  return r;
}

Region local_region(const Warp& w) {
  Region r;
  r.host = w.local;
  r.base = kLocalWindow;
  r.size = w.kernel->local_bytes;
  r.lane_stride = w.kernel->local_bytes;
  r.watched = false;
  return r;
}

Region parameter_region(GridState& g) {
  Region r;
  r.host = g.arguments.data();
  r.base = kParamWindow;
  r.size = g.arguments.size();
  r.watched = false;
  r.read_only = true;
  return r;
}

}  // namespace

Region Machine::find(const Warp& w, uint64_t address) {
  switch (address >> 32) {
    case kSharedWindow >> 32:
      return shared_region(*this, w, address);
    case kLocalWindow >> 32:
      return local_region(w);
    case kParamWindow >> 32:
      return parameter_region(grids[w.cta->grid]);
    default:
      break;
  }
  const uint64_t index = (address >> kBufferShift) - 1;  // Wraps for small addresses.
  if (index >= buffers.size()) return {};
  Buffer& b = buffers[index];
  Region r;
  r.host = b.bytes.data();
  r.base = (index + 1) << kBufferShift;
  r.size = b.bytes.size();
  r.block = static_cast<uint32_t>(index);
  r.read_only = b.read_only;
  return r;
}

SyncId Machine::word_sync(Space space, uint32_t block, uint64_t offset) {
  const uint64_t high = uint64_t{static_cast<uint8_t>(space)} << 32 | block;
  const auto [at, is_new] = word_syncs_.try_emplace(WordKey{high, offset}, SyncId{0});
  if (is_new) at->second = new_sync();
  return at->second;
}

SyncId Machine::sequence() {
  if (sequence_.value == UINT32_MAX) sequence_ = new_sync();
  return sequence_;
}

uint32_t Machine::leader(uint32_t lanes) {
  const auto [at, is_new] = leaders_.try_emplace(lanes, 0);
  if (is_new) {
    uint32_t skip = schedule.below(static_cast<uint32_t>(std::popcount(lanes)));
    for (uint32_t left = lanes;; left &= left - 1) {
      at->second = static_cast<uint32_t>(std::countr_zero(left));
      if (skip-- == 0) break;
    }
  }
  return at->second;
}

void Machine::wake(Warp& warp, WaitFor what, uint64_t value) {
  for (Fragment& f : warp.rest) {
    const bool is_meant = f.state == Fragment::State::parked && f.wait.what == what;
    if (!is_meant || f.wait.value != value) continue;
    f.state = Fragment::State::ready;
    f.resumed = true;
    f.wait = {};
  }
  ++changes;
  ++effects;
}

Touch Machine::touch(const Warp& warp, const Insn& insn, uint32_t lanes) {
  Touch t;
  t.by.cta = warp.cta->index;
  t.by.warp = warp.number.value;
  t.by.lanes = lanes;
  t.pc = warp.who(insn, lanes).pc;
  t.scope = static_cast<Scope>(insn.scope);
  return t;
}

void Machine::report(const Warp& warp, const Insn& insn, uint32_t lanes, FaultCode code,
                     std::string note) const {
  Fault f;
  f.code = code;
  f.note = std::move(note);
  f.now = touch(warp, insn, lanes);
  f.now.scope = Scope::weak;
  report(f);
}

void Machine::report(const Fault& fault) const {
  if (faults != nullptr) faults->fault(fault);
}

}  // namespace cohort::emu
