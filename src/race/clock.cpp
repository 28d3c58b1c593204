#include "race/clock.h"

#include <algorithm>

namespace cohort::race {

void Clock::make_room(AgentId first, AgentId last) {
  if (ticks_.empty()) {
    begin_ = first;
    ticks_.resize(last - first + 1);
    return;
  }
  if (first < begin_) {
    ticks_.insert(ticks_.begin(), begin_ - first, 0);
    begin_ = first;
  }
  if (last - begin_ >= ticks_.size()) ticks_.resize(last - begin_ + 1);
}

void Clock::raise(AgentId agent, Tick tick) {
  if (tick <= at(agent)) return;
  make_room(agent, agent);
  ticks_[agent - begin_] = tick;
}

void Clock::raise(AgentId agent, Tick tick, uint32_t lanes, uint32_t all) {
  if ((all & ~lanes) == 0) {
    raise(agent, tick);
  } else {
    add_some({agent, lanes, tick});
  }
}

void Clock::add_some(const Some& some) {
  if (covers(some.agent, some.tick, some.lanes)) return;
  for (Some& s : some_) {
    if (s.agent == some.agent && s.lanes == some.lanes) {
      s.tick = some.tick;
      return;
    }
  }
  forget_covered();
  some_.push_back(some);
}

void Clock::forget_covered() {
  std::erase_if(some_, [&](const Some& s) { return s.tick <= at(s.agent); });
}

void Clock::join(const Clock& other) {
  if (!other.ticks_.empty()) {
    const uint32_t count = static_cast<uint32_t>(other.ticks_.size());
    make_room(other.begin_, other.begin_ + count - 1);
    Tick* mine = ticks_.data() + (other.begin_ - begin_);
    const Tick* theirs = other.ticks_.data();
    for (uint32_t i = 0; i < count; ++i) mine[i] = std::max(mine[i], theirs[i]);
  }
  for (const Some& s : other.some_) add_some(s);
}

void Clock::meet(const Clock& other) {
  // What one knows of some lanes stays where the other knows as much.
  const std::vector<Some> mine = std::move(some_);
  some_.clear();
  const Clock before = *this;
  for (uint32_t i = 0; i < ticks_.size(); ++i) {
    ticks_[i] = std::min(ticks_[i], other.at(begin_ + i));
  }
  for (const Some& s : mine) {
    const Tick tick = std::min(s.tick, other.at(s.agent));
    if (tick > 0) add_some({s.agent, s.lanes, tick});
    for (const Some& o : other.some_) {
      if (o.agent == s.agent && (o.lanes & s.lanes) != 0) {
        add_some({s.agent, o.lanes & s.lanes, std::min(s.tick, o.tick)});
      }
    }
  }
  for (const Some& o : other.some_) {
    const Tick tick = std::min(o.tick, before.at(o.agent));
    if (tick > 0) add_some({o.agent, o.lanes, tick});
  }
}

void Clock::clear() {
  ticks_.clear();
  some_.clear();
}

bool Clock::covers_some(AgentId agent, Tick tick, uint32_t lanes) const {
  for (const Some& s : some_) {
    if (s.agent == agent && s.tick >= tick) lanes &= ~s.lanes;
  }
  return lanes == 0;
}

bool operator==(const Clock& a, const Clock& b) {
  const AgentId end = std::max(a.begin_ + static_cast<uint32_t>(a.ticks_.size()),
                               b.begin_ + static_cast<uint32_t>(b.ticks_.size()));
  for (AgentId i = std::min(a.begin_, b.begin_); i < end; ++i) {
    if (a.at(i) != b.at(i)) return false;
  }
  for (const Clock::Some& s : a.some_) {
    if (!b.covers(s.agent, s.tick, s.lanes)) return false;
  }
  for (const Clock::Some& s : b.some_) {
    if (!a.covers(s.agent, s.tick, s.lanes)) return false;
  }
  return true;
}

uint64_t Clock::bytes() const {
  return ticks_.capacity() * sizeof(Tick) + some_.capacity() * sizeof(Some);
}

}  // namespace cohort::race
