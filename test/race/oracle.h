// Happens-before by the book: a graph of all events, and for each its ancestors, with no clocks.
//
// Slow and plain, to compare the checker with: every access is held against the last write of each
// byte and every read since. Threads, generic and async proxy, scopes, relaxed operations.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "emu/events.h"
#include "emu/rules.h"

namespace cohort::race_test {

/// Ancestors of a node, by number.
class NodeSet {
 public:
  void add(uint32_t node);
  void join(const NodeSet& other);
  [[nodiscard]] bool has(uint32_t node) const {
    return node / 64 < words_.size() && (words_[node / 64] >> node % 64 & 1) != 0;
  }

 private:
  std::vector<uint64_t> words_;
};

class Oracle final : public emu::Events {
 public:
  explicit Oracle(const emu::Rules& rules) : rules_(rules) {}

  /// {pc of the earlier access, pc of the later one} of every race.
  [[nodiscard]] const std::set<std::pair<uint32_t, uint32_t>>& races() const { return races_; }
  /// pc of every read of bytes that nobody wrote.
  [[nodiscard]] const std::set<uint32_t>& uninitialised() const { return uninitialised_; }

  void buffer(uint32_t, uint64_t, bool) override {}
  void begin_grid(const emu::Grid& grid) override { grid_ = grid; }
  void end_cta(uint32_t) override {}
  void access(const emu::LaneAccess& access) override;
  void access(emu::Who, const emu::Box&, emu::Scope) override {}
  void access(emu::OpId op, const emu::Box& box) override;
  void access(emu::OpId, const emu::LaneAccess&) override {}
  emu::OpId begin(emu::Who who, emu::Agent agent, emu::PipeStep step) override;
  void end(emu::OpId) override {}
  void drain(emu::Who who, emu::OpId op, emu::Covers covers) override;
  void publish(emu::OpId op, emu::SyncId sync, uint32_t lanes) override;
  void commit(emu::Who, uint8_t, emu::SyncId) override {}
  void release(emu::Who who, emu::SyncId sync, emu::Scope scope, emu::Order order) override;
  void flip(emu::SyncId sync, bool keep) override;
  void acquire(emu::Who who, emu::SyncId sync, emu::Scope scope, emu::Order order) override;
  void fence(emu::Who who, emu::Fence fence, emu::Scope scope) override;
  void warp_sync(emu::Who who) override;

 private:
  using Thread = std::pair<uint32_t, uint32_t>;  ///< Warp and lane.
  struct Node {
    NodeSet before;  ///< Ancestors, and itself.
  };
  /// An edge that waits to be acquired: from a node, of a CTA, as far as it reaches.
  struct Loose {
    uint32_t node;
    uint32_t cta;
    int reach;
    bool is_near;
    friend auto operator<=>(const Loose& a, const Loose& b) = default;
  };
  struct Line {
    uint32_t last = 0;        ///< Node of its last event.
    std::set<Loose> fences;   ///< Fences so far, for relaxed releases.
    std::set<Loose> pending;  ///< Acquired by relaxed operations; `reach`: the distance.
  };
  struct Object {
    std::vector<Loose> gathered;
    std::vector<Loose> current;
  };
  struct Operation {
    emu::Who who;
    uint32_t begun;
    uint32_t reads;  ///< Node of its reads: ancestors are those of begin().
    uint32_t writes;
    uint32_t done_reads;  ///< Completions: know of the operation and of nothing before.
    uint32_t done_all;
  };
  struct Access {
    uint32_t node;
    uint32_t pc;
    Thread thread;
    uint32_t cta;
    emu::Kind kind;
    emu::Scope scope;
    bool is_async;
    uint64_t begin;
    uint64_t bytes;
    uint32_t operation;  ///< Number + 1 of one.
  };
  struct Byte {
    std::vector<Access> write;  ///< None or one.
    std::vector<Access> reads;
  };

  uint32_t node(const NodeSet& before);
  uint32_t step(const Thread& thread);
  [[nodiscard]] uint32_t cta_of(uint32_t warp) const { return warp / grid_.warps_per_cta; }
  [[nodiscard]] int distance(uint32_t a, uint32_t b) const;
  [[nodiscard]] int reach(emu::Scope scope) const;
  [[nodiscard]] bool ordered(const Access& earlier, const Access& later) const;
  [[nodiscard]] bool strong_together(const Access& a, const Access& b) const;
  void check(const Access& access, emu::Space space, uint32_t block);

  emu::Rules rules_;
  emu::Grid grid_{};
  std::vector<Node> nodes_ = std::vector<Node>(1);
  std::map<Thread, Line> lines_;
  std::map<uint32_t, Object> objects_;
  std::vector<Operation> operations_;
  std::vector<std::pair<uint32_t, emu::Space>> proxy_fences_;
  std::map<std::pair<emu::Space, uint32_t>, std::map<uint64_t, Byte>> bytes_;
  std::set<std::pair<uint32_t, uint32_t>> races_;
  std::set<uint32_t> uninitialised_;
};

}  // namespace cohort::race_test
