// The checker: events in, faults out.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "race/cells.h"
#include "race/checker.h"
#include "race/knowledge.h"

namespace cohort::race {

class Watch final : public Checker, private CellListener {
 public:
  Watch(const emu::Rules& rules, emu::FaultSink& sink)
      : rules_(rules), sink_(sink), knowledge_(rules), cells_(registry(), sets_, *this) {}

  void buffer(uint32_t block, uint64_t bytes, bool initialised) override;
  void begin_grid(const emu::Grid& grid) override;
  void end_cta(uint32_t cta) override;
  void access(const emu::LaneAccess& access) override;
  void access(emu::Who who, const emu::Box& box, emu::Scope scope) override;
  void access(emu::OpId op, const emu::Box& box) override;
  void access(emu::OpId op, const emu::LaneAccess& access) override;
  emu::OpId begin(emu::Who who, emu::Agent agent, emu::PipeStep step) override {
    return knowledge_.begin(who, agent, step);
  }
  void end(emu::OpId op) override { knowledge_.end(op); }
  void drain(emu::Who who, emu::OpId op, emu::Covers covers) override {
    knowledge_.drain(who, op, covers);
  }
  void publish(emu::OpId op, emu::SyncId sync, uint32_t lanes) override {
    knowledge_.publish(op, sync, lanes);
  }
  void commit(emu::Who who, uint8_t cta_group, emu::SyncId sync) override {
    knowledge_.commit(who, cta_group, sync);
  }
  void release(emu::Who who, emu::SyncId sync, emu::Scope scope, emu::Order order) override {
    knowledge_.release(who, sync, scope, order);
  }
  void flip(emu::SyncId sync, bool keep) override { knowledge_.flip(sync, keep); }
  void acquire(emu::Who who, emu::SyncId sync, emu::Scope scope, emu::Order order) override {
    knowledge_.acquire(who, sync, scope, order);
  }
  void fence(emu::Who who, emu::Fence fence, emu::Scope scope) override {
    knowledge_.fence(who, fence, scope);
  }
  void warp_sync(emu::Who who) override { knowledge_.warp_sync(who); }
  [[nodiscard]] Usage usage() const override;

 private:
  /// Who makes the access that is being tested: a group of a warp, or an operation.
  struct Now {
    const Knower* group = nullptr;
    const Operation* op = nullptr;
    const Clock* view = nullptr;  ///< What the access is tested against.
    emu::Space space = emu::Space::shared;
    uint32_t block = 0;
    uint32_t warp = 0;
  };

  Registry& registry() { return knowledge_.registry(); }
  [[nodiscard]] const Registry& registry() const { return knowledge_.registry(); }
  [[nodiscard]] Shadow& shadow(emu::Space space, uint32_t block);
  void lanes_of_group(const emu::LaneAccess& access, uint32_t lanes, const Warp& warp,
                      const Knower& group);
  void each_lane(Shadow& shadow, const Reach& reach, const emu::LaneAccess& access, uint32_t lanes);
  [[nodiscard]] uint32_t site(uint32_t pc, emu::Kind kind, emu::Proxy proxy, emu::Scope scope,
                              uint32_t bytes);
  [[nodiscard]] const Clock* view_of(const Operation& op, const emu::Box& box) const;
  void runs(const emu::Box& box, const Reach& reach);

  void conflict(const Reach& reach, Epoch me, Epoch earlier, uint32_t lanes, uint64_t offset,
                uint32_t bytes) override;
  void no_data(Epoch me, Epoch writer, uint64_t offset, uint32_t bytes) override;
  [[nodiscard]] bool is_allowed(Epoch me, Epoch earlier) const;
  [[nodiscard]] bool include_each_other(Epoch me, Epoch earlier) const;
  [[nodiscard]] emu::Missing missing_strength(Epoch me, Epoch earlier) const;
  [[nodiscard]] emu::Missing missing(const Reach& reach, Epoch earlier, uint32_t lanes) const;
  [[nodiscard]] emu::Missing missing_completion(Epoch earlier, uint32_t lanes) const;
  [[nodiscard]] emu::Touch touch(Epoch e, uint32_t lanes) const;
  [[nodiscard]] emu::Fault at_place(uint64_t offset, uint32_t bytes) const;

  emu::Rules rules_;
  emu::FaultSink& sink_;
  Knowledge knowledge_;
  ReadSets sets_;
  Cells cells_;
  Now now_;
  uint32_t first_cta_ = 0;
  std::vector<std::unique_ptr<Shadow>> shared_;
  std::vector<std::unique_ptr<Shadow>> tensor_;
  std::vector<std::unique_ptr<Shadow>> global_;
  uint64_t shared_bytes_ = 0;
};

}  // namespace cohort::race
