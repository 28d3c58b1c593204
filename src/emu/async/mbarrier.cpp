#include "emu/async/mbarrier.h"

#include "emu/machine.h"

namespace cohort::emu {

namespace {

bool fail(const Machine& machine, const Cta& cta, uint64_t offset, const Touch& by, FaultCode code,
          int64_t wanted = 0, int64_t got = 0) {
  Fault f;
  f.code = code;
  f.now = by;
  f.has_place = true;
  f.space = Space::shared;
  f.block = cta.index;
  f.offset = offset;
  f.bytes = kMbarrierBytes;
  f.wanted = wanted;
  f.got = got;
  machine.report(f);
  return false;
}

void flip(Machine& m, Mbarrier& b) {
  ++b.phase;
  b.pending = b.expected;
  b.observed = false;
  ++m.changes;
  if (m.events != nullptr) m.events->flip(b.sync, false);
}

void flip_if_complete(Machine& m, Mbarrier& b) {
  ++m.effects;
  if (is_complete(b)) flip(m, b);
}

void set_range(Cta& cta) {
  cta.barriers_begin = cta.mbarriers.empty() ? 0 : cta.mbarriers.begin()->first;
  cta.barriers_end = cta.mbarriers.empty() ? 0 : cta.mbarriers.rbegin()->first + kMbarrierBytes;
}

}  // namespace

Mbarrier* find_mbarrier(Machine& m, Cta& cta, uint64_t offset, const Touch& by) {
  FaultCode code = FaultCode::barrier_invalid;
  const auto at = cta.mbarriers.find(static_cast<uint32_t>(offset));
  if (offset < kSharedReserved || offset + kMbarrierBytes > cta.shared.size()) {
    code = FaultCode::bounds;
  } else if (offset % kMbarrierBytes != 0) {
    code = FaultCode::alignment;
  } else if (cta.ended) {
    code = FaultCode::peer_gone;
  } else if (at != cta.mbarriers.end()) {
    return &at->second;
  }
  const bool is_place = code == FaultCode::alignment;
  fail(m, cta, offset, by, code, is_place ? kMbarrierBytes : 0,
       is_place ? static_cast<int64_t>(offset) : 0);
  return nullptr;
}

bool init_mbarrier(Machine& m, Cta& cta, uint32_t offset, uint32_t count, const Touch& by) {
  if (count == 0 || count > kMostArrivals) {
    return fail(m, cta, offset, by, FaultCode::barrier_overflow, kMostArrivals, count);
  }
  const auto [at, is_new] = cta.mbarriers.try_emplace(offset);
  // "Performing mbarrier.init on a valid mbarrier object is undefined" (PTX ISA, mbarrier.init).
  if (!is_new) return fail(m, cta, offset, by, FaultCode::barrier_bytes);
  Mbarrier& b = at->second;
  b.offset = offset;
  b.expected = b.pending = count;
  b.sync = m.new_sync();
  set_range(cta);
  ++m.effects;
  return true;
}

void invalidate_mbarrier(Cta& cta, uint32_t offset) {
  cta.mbarriers.erase(offset);
  for (uint32_t k = 0; k < kMbarrierBytes; ++k) cta.shared[offset + k] = kPoisonByte;
  set_range(cta);
}

bool arrive(Machine& m, const Cta& cta, Mbarrier& b, uint32_t count, const Touch& by) {
  if (count == 0 || count > kMostArrivals) {
    return fail(m, cta, b.offset, by, FaultCode::barrier_overflow, kMostArrivals, count);
  }
  if (count > b.pending) {
    return fail(m, cta, b.offset, by, FaultCode::barrier_underflow, b.pending, count);
  }
  // Each phase needs a wait before the arrivals of the next (PTX ISA, phase of the mbarrier
  // object).
  if (!b.observed) {
    fail(m, cta, b.offset, by, FaultCode::barrier_unobserved, 0, static_cast<int64_t>(b.phase - 1));
    b.observed = true;
  }
  b.pending -= count;
  flip_if_complete(m, b);
  return true;
}

bool drop(Machine& m, const Cta& cta, Mbarrier& b, uint32_t count, const Touch& by) {
  if (count == 0 || count > kMostArrivals) {
    return fail(m, cta, b.offset, by, FaultCode::barrier_overflow, kMostArrivals, count);
  }
  if (count > b.expected) {
    return fail(m, cta, b.offset, by, FaultCode::barrier_underflow, b.expected, count);
  }
  b.expected -= count;
  return true;
}

bool expect_tx(Machine& m, const Cta& cta, Mbarrier& b, uint32_t bytes, const Touch& by) {
  b.tx += bytes;
  b.expecting = by;
  if (b.tx > kMostTransactions) {
    return fail(m, cta, b.offset, by, FaultCode::barrier_overflow, kMostTransactions, b.tx);
  }
  // Bytes that came before they were expected may be the last that the phase lacks.
  flip_if_complete(m, b);
  return true;
}

bool complete_tx(Machine& m, const Cta& cta, Mbarrier& b, uint64_t bytes, const Touch& by) {
  b.tx -= static_cast<int64_t>(bytes);
  if (b.tx < -kMostTransactions) {
    return fail(m, cta, b.offset, by, FaultCode::barrier_overflow, -kMostTransactions, b.tx);
  }
  flip_if_complete(m, b);
  return true;
}

bool wait_parity(Machine& m, const Cta& cta, Mbarrier& b, uint32_t parity, uint32_t warp,
                 uint32_t lane, const Touch& by) {
  constexpr uint64_t kIrregular = uint64_t{1} << 63;
  uint64_t& seen = b.waited[warp][lane];
  // A thread that has waited for each phase so far waits for the next one; one that leaves out
  // phases has its own reasons to know which are complete.
  const bool is_regular = seen != 0 && (seen & kIrregular) == 0;
  const uint64_t next = seen - 1;
  if (is_regular && (next & 1) == parity && b.phase >= next + 2) {
    fail(m, cta, b.offset, by, FaultCode::barrier_lag, static_cast<int64_t>(next),
         static_cast<int64_t>(b.phase));
    seen |= kIrregular;
  }
  if ((b.phase & 1) == parity) return false;
  b.observed = true;
  if (is_regular && (b.phase == next || b.phase == next + 1)) {
    seen = b.phase + 1;
  } else if ((seen & kIrregular) == 0) {
    seen = seen == 0 ? b.phase + 1 : kIrregular;
  }
  return true;
}

bool wait_state(Machine& m, const Cta& cta, Mbarrier& b, uint64_t state, const Touch& by) {
  const uint64_t phase = state >> 20;
  if (phase > b.phase) {
    fail(m, cta, b.offset, by, FaultCode::barrier_invalid, static_cast<int64_t>(b.phase),
         static_cast<int64_t>(phase));
    return true;
  }
  if (phase + 1 < b.phase) {
    fail(m, cta, b.offset, by, FaultCode::barrier_lag, static_cast<int64_t>(phase),
         static_cast<int64_t>(b.phase));
  }
  if (b.phase == phase) return false;
  b.observed = true;
  return true;
}

uint64_t pack(const Lacking& l) {
  const auto bytes = static_cast<uint64_t>(l.bytes + kMostTransactions);
  return uint64_t{l.arrivals} | bytes << 20 | uint64_t{l.is_object ? 1u : 0u} << 63;
}

Lacking unpack_lacking(uint64_t detail) {
  Lacking l;
  l.is_object = detail >> 63 != 0;
  l.arrivals = static_cast<uint32_t>(detail & kMostArrivals);
  l.bytes = static_cast<int64_t>(detail << 1 >> 21) - kMostTransactions;
  return l;
}

void explain_wait(Machine& m, const Cta& cta, Wait& wait) {
  const auto at = cta.mbarriers.find(static_cast<uint32_t>(wait.value));
  if (at == cta.mbarriers.end()) {
    wait.detail = pack({0, 0, false});
    return;
  }
  const Mbarrier& b = at->second;
  wait.detail = pack({b.pending, b.tx, true});
  if (b.pending == 0 && b.tx > 0) {
    fail(m, cta, b.offset, b.expecting, FaultCode::barrier_unmet, b.tx, 0);
  }
}

void report_unmet(Machine& m, const Cta& cta) {
  for (const auto& [offset, b] : cta.mbarriers) {
    if (b.tx > 0) fail(m, cta, offset, b.expecting, FaultCode::barrier_unmet, b.tx, 0);
  }
}

bool check_barrier_bytes(Machine& m, const Cta& cta, uint64_t offset, uint64_t bytes,
                         const Touch& by) {
  if (offset >= cta.barriers_end || offset + bytes <= cta.barriers_begin) return true;
  const uint64_t from = offset < kMbarrierBytes ? 0 : offset - kMbarrierBytes + 1;
  const auto at = cta.mbarriers.lower_bound(static_cast<uint32_t>(from));
  if (at == cta.mbarriers.end() || at->first >= offset + bytes) return true;
  return fail(m, cta, at->first, by, FaultCode::barrier_bytes);
}

}  // namespace cohort::emu
