// mbarrier: init, inval, arrive, expect_tx, complete_tx, waits.
//
// Insn: the address of the object; b: count, bytes, state or parity; d: state or predicate; mode:
// an Action; order; scope (`unspelled` when none is named).
#include "emu/async/mbarrier.h"

#include <bit>
#include <cstring>
#include <iterator>

#include "emu/insn/access.h"
#include "emu/insn/families.h"
#include "emu/insn/memory.h"

namespace cohort::emu {

namespace mbarrier_family {
namespace {

enum Action : uint8_t {
  kExpects = 1,
  kDrops = 2,
  kArrives = 4,
  kCompletes = 8,    // complete_tx
  kLeavesOpen = 16,  // .noComplete
  kOwnOnly = 32,     // the state space is .shared::cta
  kByState = 64,
  kMayBlock = 128,
};

// Lanes that name one object.
struct Meeting {
  Cta* cta = nullptr;
  uint32_t offset = 0;
  uint32_t lanes = 0;
};

// The lanes of `left` that name the object of the first of them; false after a fault.
bool next_meeting(Warp& w, const Insn& i, uint32_t left, const uint64_t* address,
                  Meeting& meeting) {
  const auto lane = static_cast<uint32_t>(std::countr_zero(left));
  const Region r = w.machine->find(w, address[lane]);
  const uint64_t offset = address[lane] - r.base;
  const bool inside = r.size >= kMbarrierBytes && offset >= r.first &&
                      offset <= r.size - kMbarrierBytes && r.space == Space::shared && r.watched;
  if (!inside || r.gone || offset % kMbarrierBytes != 0) {
    Region none = r;
    if (r.space != Space::shared) none.size = 0;
    report_bad_lane(w, i, none, address, lane, kMbarrierBytes, Kind::barrier);
    return false;
  }
  meeting.cta = w.machine->ctas[r.block].get();
  meeting.offset = static_cast<uint32_t>(offset);
  meeting.lanes = 0;
  for (uint32_t l = lane; l < 32; ++l) {
    if ((left >> l & 1) != 0 && address[l] == address[lane]) meeting.lanes |= 1u << l;
  }
  // A wait, and what names .shared::cta, reach the objects of the own CTA only.
  if ((i.mode & kOwnOnly) != 0 && meeting.cta != w.cta) {
    w.machine->report(w, i, meeting.lanes, FaultCode::misuse);
    return false;
  }
  return true;
}

// Calls `one(meeting)` for each object; false ends it.
template <class One>
bool for_each_object(Warp& w, const Insn& i, uint32_t lanes, const One& one) {
  alignas(64) uint64_t address[32];
  if (!find_addresses(w, i, lanes, kMbarrierBytes, Kind::barrier, address)) return false;
  Meeting meeting;
  for (uint32_t left = lanes; left != 0; left &= ~meeting.lanes) {
    if (!next_meeting(w, i, left, address, meeting)) return false;
    if (!one(static_cast<const Meeting&>(meeting))) return false;
  }
  return true;
}

void tell_access(Warp& w, const Insn& i, const Meeting& at, Kind kind) {
  if (w.machine->events == nullptr) return;
  const Box box{Space::shared, Proxy::generic, kind, at.cta->index, at.offset, kMbarrierBytes};
  w.machine->events->access(w.who(i, at.lanes), box, static_cast<Scope>(i.scope));
}

Order order_of(const Insn& i) {
  return static_cast<MemoryOrder>(i.order) == MemoryOrder::relaxed ? Order::relaxed : Order::full;
}

void tell_release(Warp& w, const Insn& i, uint32_t lanes, SyncId sync) {
  if (w.machine->events == nullptr || lanes == 0) return;
  w.machine->events->release(w.who(i, lanes), sync, static_cast<Scope>(i.scope), order_of(i));
}

uint32_t operand(const Warp& w, uint32_t o, uint32_t otherwise, uint32_t lane) {
  return o == kNoOperand ? otherwise : w.word(o)[lane];
}

// ---- init, inval

Next init(Warp& w, const Insn& i, uint32_t lanes) {
  const bool ok = for_each_object(w, i, lanes, [&](const Meeting& at) {
    Touch by = Machine::touch(w, i, at.lanes);
    by.kind = Kind::barrier_init;
    tell_access(w, i, at, Kind::barrier_init);
    // Lanes that make one object are as many inits of it.
    for (uint32_t left = at.lanes; left != 0; left &= left - 1) {
      const auto lane = static_cast<uint32_t>(std::countr_zero(left));
      if (!init_mbarrier(*w.machine, *at.cta, at.offset, w.word(i.b)[lane], by)) return false;
    }
    return true;
  });
  return ok ? Next::go : Next::stop;
}

Next inval(Warp& w, const Insn& i, uint32_t lanes) {
  const bool ok = for_each_object(w, i, lanes, [&](const Meeting& at) {
    Touch by = Machine::touch(w, i, at.lanes);
    by.kind = Kind::barrier_inval;
    tell_access(w, i, at, Kind::barrier_inval);
    if (find_mbarrier(*w.machine, *at.cta, at.offset, by) == nullptr) return false;
    invalidate_mbarrier(*at.cta, at.offset);
    return true;
  });
  return ok ? Next::go : Next::stop;
}

// ---- arrive, arrive_drop, expect_tx, complete_tx

// What one lane does. `waiting`: lanes that have arrived and are not told yet.
bool lane_arrives(Warp& w, const Insn& i, const Meeting& at, Mbarrier& b, uint32_t lane,
                  const Touch& by, uint32_t& waiting) {
  Machine& m = *w.machine;
  const bool expects = (i.mode & kExpects) != 0;
  const uint32_t value = operand(w, i.b, 1, lane);
  const uint32_t count = expects ? 1 : value;
  const uint64_t state = state_of(b);
  if (i.d != kNoOperand) std::memcpy(w.word(i.d) + ptrdiff_t{2} * lane, &state, 8);
  waiting |= 1u << lane;
  if (expects && !expect_tx(m, *at.cta, b, value, by)) return false;
  if ((i.mode & kDrops) != 0 && !drop(m, *at.cta, b, count, by)) return false;
  const bool completes = b.pending == count && b.tx == 0;
  if (completes && (i.mode & kLeavesOpen) != 0) {
    m.report(w, i, 1u << lane, FaultCode::misuse);
    return false;
  }
  if (completes) {
    tell_release(w, i, waiting, b.sync);
    waiting = 0;
  }
  return arrive(m, *at.cta, b, count, by);
}

// The object, told of; `by` is who touches it. Null after a fault.
Mbarrier* meet(Warp& w, const Insn& i, const Meeting& at, Touch& by) {
  by = Machine::touch(w, i, at.lanes);
  by.kind = Kind::barrier;
  Mbarrier* b = find_mbarrier(*w.machine, *at.cta, at.offset, by);
  if (b != nullptr) tell_access(w, i, at, Kind::barrier);
  return b;
}

bool arrive_at(Warp& w, const Insn& i, const Meeting& at) {
  Machine& m = *w.machine;
  Touch by;
  Mbarrier* b = meet(w, i, at, by);
  if (b == nullptr) return false;
  uint32_t waiting = 0;
  for (uint32_t left = at.lanes; left != 0; left &= left - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(left));
    by.by.lanes = 1u << lane;
    bool ok = false;
    if ((i.mode & kArrives) != 0) {
      ok = lane_arrives(w, i, at, *b, lane, by, waiting);
    } else if ((i.mode & kCompletes) != 0) {
      ok = complete_tx(m, *at.cta, *b, w.word(i.b)[lane], by);
    } else {
      ok = expect_tx(m, *at.cta, *b, w.word(i.b)[lane], by);
    }
    if (!ok) return false;
  }
  tell_release(w, i, waiting, b->sync);
  return true;
}

Next arrive_all(Warp& w, const Insn& i, uint32_t lanes) {
  const bool ok =
      for_each_object(w, i, lanes, [&](const Meeting& at) { return arrive_at(w, i, at); });
  return ok ? Next::go : Next::stop;
}

// ---- test_wait, try_wait

// Lanes of one object whose phase is complete.
bool wait_at(Warp& w, const Insn& i, const Meeting& at, uint32_t& passed) {
  Machine& m = *w.machine;
  Touch by;
  Mbarrier* b = meet(w, i, at, by);
  if (b == nullptr) return false;
  uint32_t here = 0;
  for (uint32_t left = at.lanes; left != 0; left &= left - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(left));
    by.by.lanes = 1u << lane;
    bool done = false;
    if ((i.mode & kByState) != 0) {
      uint64_t state = 0;
      std::memcpy(&state, w.word(i.b) + ptrdiff_t{2} * lane, 8);
      done = wait_state(m, *at.cta, *b, state, by);
    } else {
      const uint32_t parity = w.word(i.b)[lane];
      // "The valid values of phaseParity operand are 0 and 1" (PTX ISA, mbarrier.test_wait).
      if (parity > 1) m.report(w, i, 1u << lane, FaultCode::misuse);
      done = wait_parity(m, *at.cta, *b, parity & 1, w.number.value, lane, by);
    }
    if (done) here |= 1u << lane;
  }
  if (here != 0 && m.events != nullptr) {
    m.events->acquire(w.who(i, here), b->sync, static_cast<Scope>(i.scope), order_of(i));
  }
  if (here == 0) w.cur.wait = {WaitFor::mbarrier, at.offset, 0};
  passed |= here;
  return true;
}

Next wait(Warp& w, const Insn& i, uint32_t lanes) {
  const bool expired = w.cur.expired;
  w.cur.expired = false;
  uint32_t passed = 0;
  const bool ok =
      for_each_object(w, i, lanes, [&](const Meeting& at) { return wait_at(w, i, at, passed); });
  if (!ok) return Next::stop;
  if (passed == 0 && (i.mode & kMayBlock) != 0 && !expired) {
    // How long it blocks is the system's choice.
    if (w.machine->schedule.below(4) != 3) return Next::again;
  }
  uint32_t* d = w.word(i.d);
  *d = (*d & ~lanes) | passed;
  w.cur.wait = {};
  return passed == lanes ? Next::go : Next::yield;
}

Next pending_count(Warp& w, const Insn& i, uint32_t lanes) {
  for (uint32_t left = lanes; left != 0; left &= left - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(left));
    uint64_t state = 0;
    std::memcpy(&state, w.word(i.a) + ptrdiff_t{2} * lane, 8);
    w.word(i.d)[lane] = pending_of(state);
  }
  return Next::go;
}

// ---- makers

void take_object(Build& b, int address) {
  b.address(address);
  take_space(b);
  take_order(b);
  if (static_cast<Scope>(b.insn.scope) == Scope::weak) {
    b.insn.scope = static_cast<uint8_t>(Scope::unspelled);
  }
  if (b.has("shared") || b.has("shared::cta")) b.insn.mode |= kOwnOnly;
}

void make_init(Build& b) {
  take_object(b, 0);
  b.insn.scope = static_cast<uint8_t>(Scope::weak);
  b.insn.b = b.src(1, Ty::u32);
  b.set(init);
}
void make_inval(Build& b) {
  take_object(b, 0);
  b.insn.scope = static_cast<uint8_t>(Scope::weak);
  b.set(inval);
}
void make_arrive(Build& b) {
  take_object(b, 1);
  b.insn.mode |= kArrives;
  if (b.has("arrive_drop")) b.insn.mode |= kDrops;
  if (b.has("expect_tx")) b.insn.mode |= kExpects;
  if (b.has("noComplete")) b.insn.mode |= kLeavesOpen;
  if (!b.is_sink(0)) {
    b.insn.d = b.dst(0, 8);
    if (b.has("shared::cluster")) b.refuse("an arrival in a cluster gives no state: _ is wanted");
  }
  if (b.operands() > 2) b.insn.b = b.src(2, Ty::u32);
  if (b.insn.b == kNoOperand && (b.has("expect_tx") || b.has("noComplete"))) {
    b.refuse("a count is wanted");
  }
  b.set(arrive_all);
}
void make_expect(Build& b) {
  take_object(b, 0);
  b.insn.b = b.src(1, Ty::u32);
  if (b.has("complete_tx")) b.insn.mode |= kCompletes;
  b.set(arrive_all);
}
void make_wait(Build& b) {
  take_object(b, 1);
  b.insn.mode |= kOwnOnly;
  b.insn.d = b.pred_dst(0);
  if (b.insn.d == kNoOperand) b.insn.d = b.scratch(4);
  const bool by_parity = b.has("parity");
  b.insn.b = by_parity ? b.src(2, Ty::u32) : b.src(2, Ty::b64);
  if (!by_parity) b.insn.mode |= kByState;
  if (b.has("try_wait")) b.insn.mode |= kMayBlock;
  if (b.operands() > 3) b.src(3, Ty::u32);
  b.set(wait);
}
void make_pending(Build& b) {
  b.insn.d = b.dst(0, 4);
  b.insn.a = b.src(1, Ty::b64);
  b.set(pending_count);
}

#define OWN "[.{shared,shared::cta}]"
#define ANY "[.{shared,shared::cta,shared::cluster}]"
#define RELEASE "[.{release,relaxed}][.{cta,cluster}]"
#define ACQUIRE "[.{acquire,relaxed}][.{cta,cluster}]"

constexpr Record kRecords[] = {
    {"mbarrier.init" OWN ".b64", "[a], count", make_init},
    {"mbarrier.inval" OWN ".b64", "[a]", make_inval},
    {"mbarrier.{arrive,arrive_drop}" RELEASE ANY ".b64", "state, [a][, count]", make_arrive},
    {"mbarrier.{arrive,arrive_drop}.expect_tx" RELEASE ANY ".b64", "state, [a], bytes",
     make_arrive},
    {"mbarrier.{arrive,arrive_drop}.noComplete[.release][.cta]" OWN ".b64", "state, [a], count",
     make_arrive},
    {"mbarrier.expect_tx[.relaxed][.{cta,cluster}]" ANY ".b64", "[a], bytes", make_expect},
    {"mbarrier.complete_tx[.relaxed][.{cta,cluster}]" ANY ".b64", "[a], bytes", make_expect},
    {"mbarrier.test_wait[.parity]" ACQUIRE OWN ".b64", "p, [a], state", make_wait},
    {"mbarrier.try_wait[.parity]" ACQUIRE OWN ".b64", "p, [a], state[, nanoseconds]", make_wait},
    {"mbarrier.pending_count.b64", "count, state", make_pending},
};

}  // namespace
}  // namespace mbarrier_family

const Family kMbarrier = {"mbarrier", mbarrier_family::kRecords,
                          static_cast<int>(std::size(mbarrier_family::kRecords))};

}  // namespace cohort::emu
