// Lanes of a warp that stand at one instruction are a fragment. The fragment with the lowest
// address runs, and fragments that meet become one: that reconverges structured code at its join.
// A fragment that used up its turn gives way to another of its warp, so that lanes which wait for
// each other in a loop come to an end, as they do on hardware since Volta.
#include "emu/warp.h"

#include <algorithm>
#include <bit>

#include "emu/barrier.h"
#include "emu/in_flight.h"

namespace cohort::emu {

namespace {

using State = Fragment::State;

bool is_ready(const Warp& w, const Fragment& f) {
  return f.state == State::ready || (f.state == State::poll && f.seen != w.machine->changes);
}

bool can_merge(const Fragment& f) { return f.state != State::parked && !f.resumed; }

void merge_equal(std::vector<Fragment>& list) {
  for (size_t i = 0; i < list.size(); ++i) {
    for (size_t j = i + 1; j < list.size();) {
      Fragment& a = list[i];
      Fragment& b = list[j];
      if (a.pc == b.pc && can_merge(a) && can_merge(b)) {
        a.lanes |= b.lanes;
        a.state = State::ready;
        a.wait = {};
        list.erase(list.begin() + static_cast<std::ptrdiff_t>(j));
      } else {
        ++j;
      }
    }
  }
}

// Makes the fragment that runs next Warp::cur. False when there is none.
bool select(Warp& w) {
  if (w.cur.lanes != 0) {
    if (w.rest.empty()) return is_ready(w, w.cur);
    w.rest.push_back(w.cur);
    w.cur.lanes = 0;
  }
  if (w.rest.size() > 1) merge_equal(w.rest);
  size_t best = w.rest.size();
  uint32_t ready = 0;
  for (size_t i = 0; i < w.rest.size(); ++i) {
    if (!is_ready(w, w.rest[i])) continue;
    ++ready;
    if (best == w.rest.size() || w.rest[i].pc < w.rest[best].pc) best = i;
  }
  if (ready == 0) return false;
  if (w.rotate && ready > 1) {
    uint32_t skip = w.machine->schedule.below(ready);
    for (size_t i = 0; i < w.rest.size(); ++i) {
      if (is_ready(w, w.rest[i]) && skip-- == 0) {
        best = i;
        break;
      }
    }
  }
  w.rotate = false;
  w.cur = w.rest[best];
  w.rest.erase(w.rest.begin() + static_cast<std::ptrdiff_t>(best));
  w.cur.state = State::ready;
  w.cur.wait = {};
  return true;
}

// Where the running fragment has to stop, because another one stands there.
uint32_t next_stop(const Warp& w, uint32_t pc) {
  uint32_t stop = UINT32_MAX;
  for (const Fragment& f : w.rest) {
    if (f.pc > pc && can_merge(f)) stop = std::min(stop, f.pc);
  }
  return stop;
}

void gather_again(Warp& w) {
  for (Fragment& f : w.rest) {
    if (f.state == State::gather) f.state = State::ready;
  }
}

void exit_lanes(Warp& w, uint32_t lanes) {
  w.live &= ~lanes;
  gather_again(w);
  lanes_ended(w, lanes);
}

void split_table(Warp& w, const Insn& i, uint32_t pc, uint32_t lanes, uint32_t others) {
  const uint32_t* index = w.word(i.a);
  for (uint32_t left = lanes; left != 0;) {
    const auto l = static_cast<uint32_t>(std::countr_zero(left));
    uint32_t same = 0;
    for (uint32_t k = l; k < 32; ++k) {
      if ((left >> k & 1) != 0 && index[k] == index[l]) same |= 1u << k;
    }
    left &= ~same;
    // The text leaves an index out of range undefined.
    if (index[l] >= i.target) {
      w.machine->report(w, i, same, FaultCode::misuse);
      w.machine->stopped = true;
      return;
    }
    w.rest.push_back({w.kernel->extra[i.list + index[l]], same, State::ready, false, 0, {}});
  }
  w.cur.pc = pc + 1;
  w.cur.lanes = others;
}

uint32_t members_of(const Warp& w, const Insn& i, uint32_t lanes) {
  if (i.members == kAllLanes) return w.live;
  return w.word(i.members)[std::countr_zero(lanes)] & w.live;
}

// Lanes of other fragments that wait at an instruction of the same kind for the same mask: a
// bar.warp.sync need not be the same one for all lanes.
uint32_t elsewhere(const Warp& w, const Insn& i, uint32_t members) {
  uint32_t lanes = 0;
  for (const Fragment& f : w.rest) {
    const Insn& other = w.kernel->code[f.pc];
    if (f.state == State::gather && other.all == i.all &&
        members_of(w, other, f.lanes) == members) {
      lanes |= f.lanes;
    }
  }
  return lanes;
}

void release_elsewhere(Warp& w, const Insn& i, uint32_t members) {
  for (Fragment& f : w.rest) {
    const Insn& other = w.kernel->code[f.pc];
    if (f.state == State::gather && other.all == i.all &&
        members_of(w, other, f.lanes) == members) {
      f.state = State::ready;
      f.wait = {};
      ++f.pc;
    }
  }
}

// How a fragment goes on after an instruction that is not the simple case.
enum class After : uint8_t { next, switch_fragment, end_turn };

struct Step {
  uint32_t pc;
  uint32_t lanes;  // of the fragment
};

// Leaves `lanes` at this instruction in a state of waiting; the others of the fragment go on.
After hold(Warp& w, const Step& s, uint32_t lanes, State state, const Wait& wait) {
  Fragment f{s.pc, lanes, state, false, w.machine->changes, wait};
  w.rest.push_back(f);
  w.cur = Fragment{s.pc + 1, s.lanes & ~lanes, State::ready, false, 0, {}};
  return After::switch_fragment;
}

After after_handler(Warp& w, const Step& s, uint32_t lanes, Next next) {
  switch (next) {
    case Next::yield:
      w.yielded = w.machine->changes;
      [[fallthrough]];
    case Next::go:
      w.cur.pc = s.pc + 1;
      w.cur.lanes = s.lanes;
      w.cur.resumed = false;
      w.rotate = true;
      return After::end_turn;
    case Next::again:
      return hold(w, s, lanes, State::poll, w.cur.wait);
    case Next::park:
      return hold(w, s, lanes, State::parked, w.cur.wait);
    case Next::stop:
      break;
  }
  w.machine->stopped = true;
  return After::end_turn;
}

After together(Warp& w, const Insn& i, const Step& s, uint32_t lanes) {
  uint32_t group = lanes;
  if (i.members != kAllLanes) {
    // Lanes that name another mask are another group.
    const uint32_t* mask = w.word(i.members);
    const uint32_t first = mask[std::countr_zero(lanes)];
    for (uint32_t l = 0; l < 32; ++l) {
      if ((lanes >> l & 1) != 0 && mask[l] != first) group &= ~(1u << l);
    }
    if ((group & ~first) != 0) w.machine->report(w, i, group & ~first, FaultCode::misuse);
  }
  const uint32_t needed = members_of(w, i, group);
  uint32_t missing = needed & ~group;
  if (missing != 0 && (i.flags & kMeetAnywhere) != 0) missing &= ~elsewhere(w, i, needed);
  if (missing != 0) return hold(w, s, group, State::gather, {WaitFor::lanes, missing, 0});
  const uint32_t others = needed & ~group;
  const Handler handler = group == ~0u ? i.all : std::has_single_bit(group) ? i.one : i.some;
  const Next next = handler(w, i, group | others);
  if (others != 0) release_elsewhere(w, i, needed);
  if (next != Next::go) return after_handler(w, s, group, next);
  w.cur.resumed = false;
  if (group == lanes) return After::next;
  // The rest of the lanes comes to this instruction anew; lanes that the guard kept off go on.
  w.rest.push_back({s.pc, lanes & ~group, State::ready, false, 0, {}});
  w.cur.pc = s.pc + 1;
  w.cur.lanes = s.lanes & ~(lanes & ~group);
  return After::switch_fragment;
}

// Everything but plain instructions and uniform forward branches.
After special_flow(Warp& w, const Insn& i, Step& s, uint32_t lanes) {
  switch (i.flow) {
    case Flow::none:
      return After::next;
    case Flow::branch:
      if (lanes == s.lanes) {
        w.cur.pc = i.target;
        w.cur.lanes = s.lanes;
        return After::switch_fragment;
      }
      w.rest.push_back({i.target, lanes, State::ready, false, 0, {}});
      w.cur.pc = s.pc + 1;
      w.cur.lanes = s.lanes & ~lanes;
      return After::switch_fragment;
    case Flow::table:
      split_table(w, i, s.pc, lanes, s.lanes & ~lanes);
      return After::switch_fragment;
    case Flow::exit:
      w.cur.pc = s.pc + 1;
      w.cur.lanes = s.lanes & ~lanes;
      exit_lanes(w, lanes);
      return After::switch_fragment;
    case Flow::together:
      return together(w, i, s, lanes);
  }
  return After::next;
}

// Runs Warp::cur until it has to give way. False: the turn is over.
bool run_fragment(Warp& w, uint64_t& left) {
  const Insn* const code = w.kernel->code.data();
  Step s{w.cur.pc, w.cur.lanes};
  uint32_t stop = next_stop(w, s.pc);
  uint64_t lane_count = 0;
  const uint64_t begin = left;
  After after = After::next;
  for (;;) {
    if (left == 0) {
      w.cur.pc = s.pc;
      w.cur.lanes = s.lanes;
      w.rotate = true;
      after = After::end_turn;
      break;
    }
    const Insn& i = code[s.pc];
    uint32_t lanes = s.lanes;
    if (i.guard != kNoOperand) {
      const uint32_t p = *w.word(i.guard);
      lanes &= i.guard_negated ? ~p : p;
    }
    --left;
    if (lanes != 0) {
      lane_count += static_cast<uint64_t>(std::popcount(lanes));
      if (!w.in_flight.empty()) touch_registers(w, s.pc, lanes);
      if (i.flow == Flow::none) {
        const Handler handler = lanes == ~0u ? i.all : (lanes & (lanes - 1)) != 0 ? i.some : i.one;
        const Next next = handler(w, i, lanes);
        if (next != Next::go) {
          after = after_handler(w, s, lanes, next);
          break;
        }
        if (w.cur.resumed) w.cur.resumed = false;
      } else if (i.flow == Flow::branch && lanes == s.lanes &&
                 (w.rest.empty() || i.target > s.pc) && i.target < stop) {
        s.pc = i.target;
        continue;
      } else {
        after = special_flow(w, i, s, lanes);
        if (after != After::next) break;
      }
    }
    if (++s.pc >= stop) {
      w.cur.pc = s.pc;
      w.cur.lanes = s.lanes;
      break;
    }
  }
  w.instructions += begin - left;
  w.lane_instructions += lane_count;
  return after != After::end_turn;
}

}  // namespace

bool can_run(const Warp& w) {
  if (w.cur.lanes != 0 && is_ready(w, w.cur)) return true;
  return std::any_of(w.rest.begin(), w.rest.end(),
                     [&](const Fragment& f) { return is_ready(w, f); });
}

void run_turn(Warp& w, uint32_t budget) {
  uint64_t left = budget;
  const uint64_t before = w.instructions;
  while (!w.machine->stopped && select(w)) {
    if (!run_fragment(w, left)) break;
  }
  w.machine->time += w.instructions - before;
}

bool expire_wait(Warp& w) {
  bool any = false;
  const auto expire = [&](Fragment& f) {
    if (f.lanes == 0 || f.state != State::poll || f.wait.what != WaitFor::mbarrier) return;
    f.state = State::ready;
    f.expired = true;
    any = true;
  };
  expire(w.cur);
  for (Fragment& f : w.rest) expire(f);
  return any;
}

}  // namespace cohort::emu
