// What somebody knows of everybody's past: a vector clock whose entries may hold for some lanes of
// a warp only.
#pragma once

#include <cstdint>
#include <vector>

namespace cohort::race {

/// An agent of the run: a warp, or (a part of) an asynchronous operation. 0 is what was before.
using AgentId = uint32_t;
/// Counts what an agent did; 0 is nothing.
using Tick = uint32_t;

/// All lanes of a warp, and the only lane of an operation's agent.
inline constexpr uint32_t kAllLanes = ~uint32_t{0};

/// Knowledge as {agent: everything up to a tick}. It is kept for a window of agents, because the
/// agents of one CTA are neighbours and most knowledge is of one CTA.
class Clock {
 public:
  /// Up to which tick all lanes of the agent are known.
  [[nodiscard]] Tick at(AgentId agent) const {
    const uint32_t i = agent - begin_;
    return i < ticks_.size() ? ticks_[i] : 0;
  }
  /// Whether these lanes of the agent are known up to the tick.
  [[nodiscard]] bool covers(AgentId agent, Tick tick, uint32_t lanes) const {
    return tick <= at(agent) || (!some_.empty() && covers_some(agent, tick, lanes));
  }
  /// What at() needs, to be kept in registers by a loop.
  struct Ticks {
    const Tick* ticks;
    uint32_t begin;
    uint32_t count;
    [[nodiscard]] Tick at(AgentId agent) const {
      return agent - begin < count ? ticks[agent - begin] : 0;
    }
  };
  [[nodiscard]] Ticks ticks() const {
    return {ticks_.data(), begin_, static_cast<uint32_t>(ticks_.size())};
  }

  void raise(AgentId agent, Tick tick);
  /// Knowledge of some lanes of a warp: an elected lane that arrives hands on what it did, and
  /// nothing of its neighbours. `all`: the lanes that the warp has.
  void raise(AgentId agent, Tick tick, uint32_t lanes, uint32_t all);
  void join(const Clock& other);
  /// Keeps what both know.
  void meet(const Clock& other);
  void clear();

  friend bool operator==(const Clock& a, const Clock& b);
  [[nodiscard]] uint64_t bytes() const;

 private:
  struct Some {
    AgentId agent;
    uint32_t lanes;
    Tick tick;
  };
  bool covers_some(AgentId agent, Tick tick, uint32_t lanes) const;
  void make_room(AgentId first, AgentId last);
  void add_some(const Some& some);
  void forget_covered();

  uint32_t begin_ = 0;
  std::vector<Tick> ticks_;
  std::vector<Some> some_;  // what ticks_ does not say already
};

}  // namespace cohort::race
