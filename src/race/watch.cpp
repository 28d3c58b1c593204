#include "race/watch.h"

#include <algorithm>

namespace cohort::race {

using emu::Agent;
using emu::Box;
using emu::Kind;
using emu::LaneAccess;
using emu::Proxy;
using emu::Scope;
using emu::Space;

namespace {

bool writes(Kind kind) { return kind != Kind::read && kind != Kind::barrier; }
bool wants_data(Kind kind) { return kind == Kind::read || kind == Kind::update; }

// What such an access leaves behind is no data.
Epoch data_flag(Kind kind) {
  switch (kind) {
    case Kind::allocate:
    case Kind::free:
    case Kind::barrier_init:
    case Kind::barrier_inval:
      return kNoData;
    default:
      return 0;
  }
}

}  // namespace

std::unique_ptr<Checker> make_checker(const emu::Rules& rules, emu::FaultSink& sink) {
  return std::make_unique<Watch>(rules, sink);
}

void Watch::buffer(uint32_t block, uint64_t bytes, bool initialised) {
  if (block >= global_.size()) global_.resize(block + size_t{1});
  global_[block] = std::make_unique<Shadow>(bytes, initialised, sets_);
}

void Watch::begin_grid(const emu::Grid& grid) {
  if (!grid.overlaps_previous) {
    shared_.clear();
    tensor_.clear();
    for (auto& s : global_) {
      if (s) s->rest();
    }
  }
  if (shared_.empty()) first_cta_ = grid.first_cta;
  shared_.resize(shared_.size() + grid.ctas);
  tensor_.resize(shared_.size());
  shared_bytes_ = grid.shared_bytes;
  knowledge_.begin_grid(grid);
}

void Watch::end_cta(uint32_t cta) {
  shared_[cta - first_cta_].reset();
  tensor_[cta - first_cta_].reset();
}

Shadow& Watch::shadow(Space space, uint32_t block) {
  if (space == Space::global) {
    if (block >= global_.size()) global_.resize(block + size_t{1});
    if (!global_[block]) global_[block] = std::make_unique<Shadow>(0, false, sets_);
    return *global_[block];
  }
  auto& all = space == Space::shared ? shared_ : tensor_;
  auto& s = all[block - first_cta_];
  if (!s) {
    const uint64_t bytes = space == Space::shared ? shared_bytes_ : uint64_t{128} * emu::kTensorRow;
    s = std::make_unique<Shadow>(bytes, false, sets_);
  }
  return *s;
}

uint32_t Watch::site(uint32_t pc, Kind kind, Proxy proxy, Scope scope, uint32_t bytes) {
  Site s;
  s.pc = pc;
  s.kind = kind;
  s.proxy = proxy;
  s.scope = scope;
  if (scope != Scope::weak) s.bytes = static_cast<uint8_t>(std::min(bytes, 255U));
  return registry().site(s);
}

void Watch::each_lane(Shadow& shadow, const Reach& reach, const LaneAccess& a, uint32_t lanes) {
  if (a.bytes == 4) {
    cells_.words(shadow, reach, a.offset, lanes);
    return;
  }
  for (uint32_t m = lanes; m != 0; m &= m - 1) {
    const auto l = static_cast<uint32_t>(__builtin_ctz(m));
    cells_.one(shadow, reach, with_lane(reach.me, l), a.offset[l], a.bytes);
  }
}

void Watch::lanes_of_group(const LaneAccess& a, uint32_t lanes, const Warp& warp,
                           const Knower& group) {
  Shadow& s = shadow(a.space, a.block);
  now_ = {&group, nullptr, &group.view[kBase], a.space, a.block, a.who.warp.value};
  Reach reach;
  reach.me = make_epoch(warp.tick, warp.agent, 0,
                        site(a.who.pc, a.kind, Proxy::generic, a.scope, a.bytes));
  reach.after_writes = reach.after_reads = &group.view[kBase];
  reach.writes = writes(a.kind);
  reach.wants_data = wants_data(a.kind);
  reach.is_strong_read = a.kind == Kind::read && a.scope != Scope::weak;
  reach.passes_on = !reach.is_strong_read;
  if (lanes == kAllLanes) {
    uint64_t apart = 0;
    uint64_t differ = 0;
    for (uint32_t l = 0; l < 32; ++l) {
      differ |= a.offset[l] ^ a.offset[0];
      apart |= a.offset[l] ^ (a.offset[0] + a.bytes * uint64_t{l});
    }
    if (apart == 0 && a.offset[0] % a.bytes == 0 && (a.bytes & (a.bytes - 1)) == 0) {
      cells_.row(s, reach, a.offset[0], a.bytes);
      return;
    }
    if (differ == 0 && a.kind == Kind::read) {
      cells_.one(s, reach, with_lane(reach.me, kEveryLane), a.offset[0], a.bytes);
      return;
    }
  }
  each_lane(s, reach, a, lanes);
}

void Watch::access(const LaneAccess& a) {
  Warp& w = knowledge_.warp(a.who.warp.value);
  if (w.groups.size() == 1) {
    lanes_of_group(a, a.who.lanes, w, w.groups[0]);
    return;
  }
  for (const Knower& group : w.groups) {
    if (const uint32_t lanes = group.lanes & a.who.lanes; lanes != 0) {
      lanes_of_group(a, lanes, w, group);
    }
  }
}

void Watch::runs(const Box& box, const Reach& reach) {
  Shadow& s = shadow(box.space, box.block);
  if (box.pitch == box.bytes) {
    cells_.run(s, reach, box.begin, box.bytes * box.runs);
    return;
  }
  for (uint32_t r = 0; r < box.runs; ++r) {
    cells_.run(s, reach, box.begin + r * box.pitch, box.bytes);
  }
}

void Watch::access(emu::Who who, const Box& box, Scope scope) {
  Warp& w = knowledge_.warp(who.warp.value);
  const bool is_collective = box.kind == Kind::allocate || box.kind == Kind::free;
  const uint32_t number = site(who.pc, box.kind, box.proxy, scope, 8);
  Reach reach;
  reach.writes = writes(box.kind);
  reach.wants_data = wants_data(box.kind);
  const auto by = [&](const Knower& group, Epoch me) {
    now_ = {&group, nullptr, &group.view[kBase], box.space, box.block, who.warp.value};
    reach.me = me | number | data_flag(box.kind);
    reach.after_writes = reach.after_reads = &group.view[kBase];
    // Instructions of tensor memory that are synchronous also come after those that are not.
    reach.also_after = box.space == Space::tensor ? &group.view[kTensor] : nullptr;
    runs(box, reach);
  };
  if (is_collective) {
    const Epoch me = knowledge_.collective(who);
    Knower together;
    by(knowledge_.group_for_all(who, together), me);
    return;
  }
  for (uint32_t m = who.lanes; m != 0; m &= m - 1) {
    const auto l = static_cast<uint32_t>(__builtin_ctz(m));
    by(w.group_of(uint32_t{1} << l), make_epoch(w.tick, w.agent, l, 0));
  }
}

const Clock* Watch::view_of(const Operation& op, const Box& box) const {
  if (box.space == Space::tensor) return &op.tensor;
  if (box.proxy == Proxy::generic) return &op.generic;
  if (box.proxy == Proxy::tensor_map) return &op.map;
  return box.space == Space::shared ? &op.shared : &op.global;
}

void Watch::access(emu::OpId id, const Box& box) {
  const Operation& op = knowledge_.operation(id);
  const bool is_write = writes(box.kind);
  // A reducing copy is as strong as red.relaxed.gpu (PTX 9.7.9.25.4, cp.reduce.async.bulk).
  const Scope scope = box.kind == Kind::update ? Scope::gpu : Scope::weak;
  Reach reach;
  reach.me = make_epoch(op.tick, is_write ? op.writer : op.reader, 0,
                        site(op.who.pc, box.kind, box.proxy, scope, 4)) |
             data_flag(box.kind);
  reach.after_writes = view_of(op, box);
  reach.after_reads = reach.after_writes;
  if (rules_.async_write_after_generic_read && box.proxy == Proxy::async &&
      op.kind == Agent::copy) {
    reach.after_reads = &op.generic;
  }
  reach.writes = is_write;
  reach.wants_data = wants_data(box.kind);
  reach.passes_on = op.passes_on;
  reach.to_map = box.proxy == Proxy::tensor_map;
  now_ = {nullptr, &op, reach.after_writes, box.space, box.block, op.who.warp.value};
  runs(box, reach);
}

void Watch::access(emu::OpId id, const LaneAccess& a) {
  const Operation& op = knowledge_.operation(id);
  Reach reach;
  reach.me = make_epoch(op.tick, op.writer, 0, site(a.who.pc, a.kind, Proxy::generic, a.scope, 4));
  reach.after_writes = reach.after_reads = &op.generic;
  reach.issuer = registry().agent(op.writer).issuer;
  reach.issued = op.issued;
  reach.writes = writes(a.kind);
  reach.wants_data = wants_data(a.kind);
  reach.passes_on = false;
  now_ = {nullptr, &op, reach.after_writes, a.space, a.block, op.who.warp.value};
  each_lane(shadow(a.space, a.block), reach, a, a.who.lanes);
}

Usage Watch::usage() const {
  Usage u;
  for (const auto* all : {&shared_, &tensor_, &global_}) {
    for (const auto& s : *all) u.shadow_bytes += s ? s->bytes() : 0;
  }
  u.shadow_bytes += sets_.bytes();
  u.knowledge_bytes = knowledge_.bytes();
  u.slow_cells = cells_.slow_cells();
  return u;
}

}  // namespace cohort::race
