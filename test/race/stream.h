// Event streams written by hand: what threads and operations do, one call an event.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "emu/fault.h"
#include "emu/rules.h"
#include "race/checker.h"

namespace cohort::race_test {

using emu::Agent;
using emu::Box;
using emu::Covers;
using emu::FaultCode;
using emu::Fence;
using emu::Kind;
using emu::Missing;
using emu::Order;
using emu::PipeStep;
using emu::Proxy;
using emu::Scope;
using emu::Space;

inline constexpr uint32_t kAll = ~uint32_t{0};

/// What a run's faults boil down to: code and missing edge of each.
struct Seen {
  FaultCode code;
  Missing missing;
  friend bool operator==(const Seen& a, const Seen& b) {
    return a.code == b.code && a.missing == b.missing;
  }
  friend std::ostream& operator<<(std::ostream& out, const Seen& s) {
    return out << emu::code_of(s.code) << "/" << static_cast<int>(s.missing);
  }
};
using Faults = std::vector<Seen>;

/// How many CTAs and warps a run has.
struct Shape {
  uint32_t ctas = 1;
  uint32_t warps_per_cta = 4;
  uint32_t cluster_size = 1;
  uint32_t threads_per_cta = 0;  ///< 0: all lanes of all warps.
};

class Stream;

/// A synchronisation object.
struct Bar {
  emu::SyncId id;
};

/// An operation that has begun.
class Op {
 public:
  Op(Stream& run, emu::OpId id) : run_(run), id_(id) {}
  Op& read(Space space, uint32_t block, uint64_t begin, uint64_t bytes, Proxy proxy = Proxy::async);
  Op& write(Space space, uint32_t block, uint64_t begin, uint64_t bytes,
            Proxy proxy = Proxy::async);
  Op& touch(const Box& box);
  /// Accesses of lanes: lane l at begin + 4 * l.
  Op& lanes(Kind kind, Space space, uint32_t block, uint64_t begin, emu::Who who);
  /// complete_tx, or the arrive of cp.async.
  Op& publish(Bar bar, uint32_t lanes = kAll);
  [[nodiscard]] emu::OpId id() const { return id_; }

 private:
  Stream& run_;
  emu::OpId id_;
};

/// Some lanes of a warp.
class Lanes {
 public:
  Lanes(Stream& run, uint32_t warp, uint32_t lanes) : run_(run), warp_(warp), lanes_(lanes) {}
  [[nodiscard]] Lanes lane(uint32_t l) const { return {run_, warp_, uint32_t{1} << l}; }
  [[nodiscard]] Lanes only(uint32_t mask) const { return {run_, warp_, mask}; }

  /// Lane l touches `bytes` at begin + stride * l.
  const Lanes& access(Kind kind, Space space, uint32_t block, uint64_t begin, uint8_t bytes = 4,
                      uint64_t stride = 4, Scope scope = Scope::weak) const;
  const Lanes& write(Space space, uint32_t block, uint64_t begin) const {
    return access(Kind::write, space, block, begin);
  }
  const Lanes& read(Space space, uint32_t block, uint64_t begin) const {
    return access(Kind::read, space, block, begin);
  }
  const Lanes& touch(const Box& box, Scope scope = Scope::weak) const;

  const Lanes& release(Bar bar, Scope scope = Scope::unspelled, Order order = Order::full) const;
  const Lanes& acquire(Bar bar, Scope scope = Scope::unspelled, Order order = Order::full) const;
  /// The last arrival of a phase.
  const Lanes& arrive(Bar bar, Scope scope = Scope::unspelled, Order order = Order::full) const;
  const Lanes& fence(Fence fence, Scope scope = Scope::weak) const;
  const Lanes& sync() const;
  const Lanes& commit(Bar bar, uint8_t cta_group = 1) const;
  const Lanes& drain(const Op& op, Covers covers = Covers::all) const;
  [[nodiscard]] Op begin(Agent agent, PipeStep step = {}) const;
  [[nodiscard]] Op copy() const { return begin(Agent::copy); }
  [[nodiscard]] Op mma(uint32_t shape = 1) const {
    return begin(Agent::tensor_pipe, {PipeStep::Op::mma, 1, shape});
  }
  [[nodiscard]] Op cp() const { return begin(Agent::tensor_pipe, {PipeStep::Op::cp, 1, 0}); }
  [[nodiscard]] Op load() const { return begin(Agent::tensor_load); }
  [[nodiscard]] emu::Who who() const;

 private:
  Stream& run_;
  uint32_t warp_;
  uint32_t lanes_;
};

/// A run under one profile. Every event is an instruction of its own: pc counts them.
class Stream {
 public:
  explicit Stream(const emu::Rules& rules = emu::strict_rules(), Shape shape = {});

  [[nodiscard]] Lanes warp(uint32_t w) { return {*this, w, kAll}; }
  [[nodiscard]] Bar bar() { return {{next_sync_++}}; }
  void buffer(uint32_t block, uint64_t bytes, bool initialised = true) {
    checker_->buffer(block, bytes, initialised);
  }
  void grid(Shape shape, bool overlaps);
  void flip(Bar bar, bool keep = false) { checker_->flip(bar.id, keep); }
  /// bar.sync of these warps.
  void barrier(std::initializer_list<Lanes> who);

  [[nodiscard]] race::Checker& checker() { return *checker_; }
  [[nodiscard]] uint32_t next_pc() { return pc_++; }
  [[nodiscard]] const std::vector<emu::Fault>& faults() const { return list_.faults(); }
  /// Codes and missing edges, in the order in which they were found; then forgets them.
  [[nodiscard]] Faults found();

 private:
  emu::FaultList list_;
  std::unique_ptr<race::Checker> checker_;
  uint32_t pc_ = 100;
  uint32_t next_sync_ = 0;
  uint32_t warps_ = 0;
  uint32_t ctas_ = 0;
  size_t told_ = 0;
};

}  // namespace cohort::race_test
