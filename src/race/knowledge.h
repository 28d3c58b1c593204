// How knowledge flows: threads, asynchronous operations and synchronisation objects.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "emu/events.h"
#include "emu/rules.h"
#include "race/registry.h"
#include "race/views.h"

namespace cohort::race {

/// An operation between begin() and end(): what its accesses are checked against.
struct Operation {
  emu::Agent kind = emu::Agent::copy;
  AgentId writer = 0;  ///< Makes its writes and, but for a copy, its reads.
  AgentId reader = 0;
  Tick tick = 0;
  Tick issued = 0;  ///< Tick of the issuer at begin().
  emu::Who who{};
  uint32_t cta = 0;
  bool passes_on = false;  ///< Whoever waits for it gets what it came after, too.
  // What is ordered before its accesses.
  Clock generic;  ///< Through the generic proxy; also: what its issuer knew.
  Clock shared;
  Clock global;
  Clock map;
  Clock tensor;
  Clock exec;  ///< For the words of a report.
  Clock any;
};

class Knowledge {
 public:
  explicit Knowledge(const emu::Rules& rules) : rules_(rules) {}

  void begin_grid(const emu::Grid& grid);

  [[nodiscard]] emu::OpId begin(emu::Who who, emu::Agent agent, emu::PipeStep step);
  void end(emu::OpId op);
  void drain(emu::Who who, emu::OpId op, emu::Covers covers);
  void publish(emu::OpId op, emu::SyncId sync, uint32_t lanes);
  void commit(emu::Who who, uint8_t cta_group, emu::SyncId sync);
  void release(emu::Who who, emu::SyncId sync, emu::Scope scope, emu::Order order);
  void flip(emu::SyncId sync, bool keep);
  void acquire(emu::Who who, emu::SyncId sync, emu::Scope scope, emu::Order order);
  void fence(emu::Who who, emu::Fence fence, emu::Scope scope);
  void warp_sync(emu::Who who);
  /// The agent of what a warp does as one (tcgen05.alloc), at a new tick that its lanes know of.
  [[nodiscard]] Epoch collective(emu::Who who);

  [[nodiscard]] Warp& warp(uint32_t number) { return warps_[number - first_warp_]; }
  [[nodiscard]] Operation& operation(emu::OpId op);
  /// The group that has (the first of) these lanes.
  [[nodiscard]] const Knower& group_of(const emu::Who& who) const;
  /// What a warp knows that does something as one: once all lanes have come, what any knows. Made
  /// in `room` when groups differ.
  [[nodiscard]] const Knower& group_for_all(const emu::Who& who, Knower& room) const;
  [[nodiscard]] Registry& registry() { return registry_; }
  [[nodiscard]] const Registry& registry() const { return registry_; }
  [[nodiscard]] uint64_t bytes() const;

 private:
  /// Agents that operations of a kind take turns with, of a CTA or a warp.
  struct Turn {
    AgentId writer;
    AgentId reader;
    Tick tick;
  };
  struct Turns {
    std::vector<Turn> all;
    size_t next = 0;  ///< Whose turn it would be.
  };
  /// Operations of one thread that run in order among each other.
  struct Pipe {
    emu::PipeStep step;
    uint32_t warp;
    uint32_t lane;
    AgentId done;    ///< Known once complete.
    AgentId issued;  ///< Known once begun: enough for a pipelined pair.
    Tick tick;
    Clock order;  ///< What they came after.
    // Of that, what memory order vouches for.
    Clock base;
    Clock shared;
    Clock global;
  };

  [[nodiscard]] int reach_of(emu::Scope scope) const;
  void advance(Warp& warp);
  [[nodiscard]] Sync& sync(emu::SyncId id);
  void release_relaxed(const Warp& warp, const Knower& group, uint32_t lanes, Sync& sync,
                       int reach);
  void acquire_bucket(Knower& group, const Bucket& bucket, int distance, emu::Order order);
  void memory_fence(Warp& warp, Knower& group, int reach);

  [[nodiscard]] const Turn& take_turn(const Warp& warp, const Knower& group, const emu::Who& who,
                                      emu::Agent kind);
  AgentId add_agent(const Warp& warp, const emu::Who& who, emu::Agent kind);
  [[nodiscard]] uint32_t new_operation();
  [[nodiscard]] emu::OpId begin_commit(const emu::Who& who, uint8_t cta_group);
  void publish_commit(const Operation& op, emu::SyncId sync);
  void set_views(Operation& op, const Warp& warp, const Knower& group);
  void enter_pipe(Operation& op, const Warp& warp, Knower& group, const emu::PipeStep& step);
  [[nodiscard]] Pipe& pipe_of(const Warp& warp, const Knower& group, const emu::Who& who,
                              const emu::PipeStep& step);
  [[nodiscard]] bool in_order(const emu::PipeStep& earlier, const emu::PipeStep& later) const;
  void drain_into(Knower& group, const AgentInfo& info, AgentId writer, Tick tick,
                  emu::Covers covers, uint32_t lanes) const;

  emu::Rules rules_;
  Registry registry_;
  uint32_t first_warp_ = 0;
  std::vector<Warp> warps_;
  std::vector<Sync> syncs_;
  std::vector<Operation> operations_;
  std::vector<uint32_t> free_operations_;
  std::map<uint32_t, Turn> collectives_;                      ///< By warp.
  std::map<uint32_t, Turns> copies_;                          ///< By CTA.
  std::map<std::pair<uint32_t, emu::Agent>, Turns> of_warp_;  ///< By warp and kind.
  std::map<uint32_t, std::vector<Pipe>> pipes_;               ///< By cluster.
};

}  // namespace cohort::race
