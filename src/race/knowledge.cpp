#include "race/knowledge.h"

#include <algorithm>

namespace cohort::race {

using emu::Fence;
using emu::Order;
using emu::Scope;

namespace {

// What the lanes did themselves, up to now.
void add_own(Clock& into, const Warp& warp, uint32_t lanes) {
  into.raise(warp.agent, warp.tick, lanes & warp.all, warp.all);
}

// Of the lanes of a group: what they hand on.
void join_carried(Carried& into, const Warp& warp, const Knower& group, uint32_t lanes) {
  for (int v = 0; v < kCarried; ++v) {
    into[v].join(group.view[v]);
    group.add_own(into[v], static_cast<View>(v), warp.agent, lanes, warp.all);
  }
}

}  // namespace

int Knowledge::reach_of(Scope scope) const {
  switch (scope) {
    case Scope::weak:
    case Scope::cta:
      return 0;
    case Scope::unspelled:
      return rules_.unspelled_scope_is_cluster ? 1 : 0;
    case Scope::cluster:
      return 1;
    case Scope::gpu:
    case Scope::sys:
      break;
  }
  return 2;
}

void Knowledge::advance(Warp& warp) {
  if (++warp.tick > kMaxTick) over_limit("synchronising instructions of a warp", kMaxTick);
}

Sync& Knowledge::sync(emu::SyncId id) {
  if (id.value >= syncs_.size()) syncs_.resize(id.value + size_t{1});
  return syncs_[id.value];
}

void Knowledge::begin_grid(const emu::Grid& grid) {
  if (!grid.overlaps_previous) {
    registry_.restart();
    warps_.clear();
    syncs_.clear();
    operations_.clear();
    free_operations_.clear();
    collectives_.clear();
    copies_.clear();
    of_warp_.clear();
    pipes_.clear();
  }
  registry_.add_grid(grid);
  if (warps_.empty()) first_warp_ = grid.first_warp;
  for (uint32_t w = 0; w < grid.ctas * grid.warps_per_cta; ++w) {
    Warp warp;
    warp.agent = registry_.warp_agent(grid.first_warp + w);
    const AgentInfo& info = registry_.agent(warp.agent);
    warp.cta = info.cta;
    warp.all = info.lanes;
    warp.groups.emplace_back();
    warp.groups[0].lanes = warp.all;
    warps_.push_back(std::move(warp));
  }
}

void Knowledge::release(emu::Who who, emu::SyncId id, Scope scope, Order order) {
  Warp& w = warp(who.warp.value);
  Sync& s = sync(id);
  const int reach = order == Order::grid ? 2 : reach_of(scope);
  for (const Knower& group : w.groups) {
    const uint32_t lanes = group.lanes & who.lanes;
    if (lanes == 0) continue;
    s.any_gathered.join(group.view[kAny]);
    add_own(s.any_gathered, w, lanes);
    Bucket& b = s.gathered.at(w.cta, reach);
    b.view[kExec].join(group.view[kExec]);
    add_own(b.view[kExec], w, lanes);
    if (order == Order::relaxed) {
      if (group.relaxed) release_relaxed(w, group, lanes, s, reach);
    } else {
      join_carried(b.view, w, group, lanes);
      add_own(b.view[kBase], w, lanes);
    }
  }
  advance(w);
}

void Knowledge::release_relaxed(const Warp& warp, const Knower& group, uint32_t lanes, Sync& sync,
                                int reach) {
  for (int fence = 0; fence < 3; ++fence) {
    Bucket& b = sync.gathered.at(warp.cta, std::min(reach, fence));
    for (int v = 0; v < kCarried; ++v) {
      b.view[v].join(group.relaxed->fenced[fence][v]);
      b.view[v].raise(warp.agent, group.relaxed->own[fence][v], lanes & warp.all, warp.all);
    }
  }
}

void Knowledge::flip(emu::SyncId id, bool keep) {
  Sync& s = sync(id);
  if (keep) {
    s.current.join(s.gathered);
    s.any_current.join(s.any_gathered);
  } else {
    std::swap(s.current, s.gathered);
    std::swap(s.any_current, s.any_gathered);
  }
  s.gathered.clear();
  s.any_gathered.clear();
}

void Knowledge::acquire_bucket(Knower& group, const Bucket& bucket, int distance, Order order) {
  group.view[kExec].join(bucket.view[kExec]);
  if (order == Order::relaxed) {
    Carried& open = group.open().pending[distance];
    for (int v = 0; v < kCarried; ++v) open[v].join(bucket.view[v]);
    return;
  }
  for (int v = 0; v < kCarried; ++v) group.view[v].join(bucket.view[v]);
  if (order == Order::grid) {
    group.view[kAsyncShared].join(bucket.view[kBase]);
    group.view[kAsyncGlobal].join(bucket.view[kBase]);
  }
}

void Knowledge::acquire(emu::Who who, emu::SyncId id, Scope scope, Order order) {
  Warp& w = warp(who.warp.value);
  Sync& s = sync(id);
  const int reach = order == Order::grid ? 2 : reach_of(scope);
  w.split(who.lanes);
  for (Knower& group : w.groups) {
    if ((group.lanes & who.lanes) == 0) continue;
    group.view[kAny].join(s.any_current);
    for (const Bucket& b : s.current) {
      const int distance = b.cta == kNear ? 0 : registry_.distance(w.cta, b.cta);
      if (distance <= std::min(reach, b.reach)) acquire_bucket(group, b, distance, order);
    }
    if (rules_.tensor_order_by_barrier || order == Order::grid) {
      group.view[kTensor].join(group.view[kExec]);
    }
  }
  if (w.groups.size() > 1 && (w.all & ~who.lanes) == 0) w.merge_equal();
}

void Knowledge::memory_fence(Warp& warp, Knower& group, int reach) {
  Relaxed& open = group.open();
  for (int distance = 0; distance <= reach; ++distance) {
    for (int v = 0; v < kCarried; ++v) {
      group.view[v].join(open.pending[distance][v]);
      open.pending[distance][v].clear();
    }
  }
  for (int v = 0; v < kCarried; ++v) open.fenced[reach][v].join(group.view[v]);
  open.own[reach] = group.own;
  open.own[reach][kBase] = open.own[reach][kExec] = warp.tick;
}

void Knowledge::fence(emu::Who who, Fence fence, Scope scope) {
  Warp& w = warp(who.warp.value);
  w.split(who.lanes);
  for (Knower& group : w.groups) {
    if ((group.lanes & who.lanes) == 0) continue;
    const auto cover = [&](View into) {
      group.view[into].join(group.view[kBase]);
      group.own[into] = w.tick;
    };
    switch (fence) {
      case Fence::memory:
        memory_fence(w, group, reach_of(scope));
        break;
      case Fence::async_shared:
        cover(kAsyncShared);
        break;
      case Fence::async_global:
        cover(kAsyncGlobal);
        break;
      case Fence::async_all:
        cover(kAsyncShared);
        cover(kAsyncGlobal);
        break;
      case Fence::tensor_map_release:
        cover(kMapReleased);
        break;
      case Fence::tensor_map_acquire:
        group.view[kMap].join(group.view[kMapReleased]);
        group.view[kMap].raise(0, 1);  // and what earlier grids wrote
        group.own[kMap] = group.own[kMapReleased];
        break;
      case Fence::tensor_before:
        group.view[kBase].join(group.view[kDrained]);
        group.view[kExec].join(group.view[kDrained]);
        break;
      case Fence::tensor_after:
        group.view[kTensor].join(group.view[kExec]);
        break;
    }
  }
  if (w.groups.size() > 1) w.merge_equal();
  advance(w);
}

void Knowledge::warp_sync(emu::Who who) {
  Warp& w = warp(who.warp.value);
  w.merge(who.lanes);
  Knower& group = w.group_of(who.lanes);
  for (const View v : {kBase, kExec, kAny}) add_own(group.view[v], w, who.lanes);
  for (int v = 0; v < kCarried; ++v) {
    group.add_own(group.view[v], static_cast<View>(v), w.agent, who.lanes, w.all);
  }
  if (group.relaxed) {
    Relaxed& open = *group.relaxed;
    for (int reach = 0; reach < 3; ++reach) {
      for (int v = 0; v < kCarried; ++v) {
        open.fenced[reach][v].raise(w.agent, open.own[reach][v], who.lanes & w.all, w.all);
      }
    }
  }
  advance(w);
}

const Knower& Knowledge::group_of(const emu::Who& who) const {
  return warps_[who.warp.value - first_warp_].group_of(who.lanes);
}

const Knower& Knowledge::group_for_all(const emu::Who& who, Knower& room) const {
  const Warp& w = warps_[who.warp.value - first_warp_];
  const Knower& first = w.group_of(who.lanes);
  if ((who.lanes & ~first.lanes & w.all) == 0) return first;
  room.lanes = 0;
  for (const Knower& k : w.groups) {
    if ((k.lanes & who.lanes) != 0) room.join(k, w.agent, w.all);
  }
  return room;
}

Epoch Knowledge::collective(emu::Who who) {
  Warp& w = warp(who.warp.value);
  Turn& turn = collectives_[who.warp.value];
  if (turn.writer == 0) {
    AgentInfo info = registry_.agent(w.agent);
    turn.writer = registry_.add_operation(w.cta, info);
  }
  if (++turn.tick > kMaxTick) over_limit("allocations of a warp", kMaxTick);
  w.split(who.lanes);
  for (Knower& group : w.groups) {
    if ((group.lanes & who.lanes) == 0) continue;
    for (const View v : {kBase, kExec, kAny, kTensor}) group.view[v].raise(turn.writer, turn.tick);
  }
  return make_epoch(turn.tick, turn.writer, 0, 0);
}

uint64_t Knowledge::bytes() const {
  uint64_t n = registry_.bytes() + syncs_.capacity() * sizeof(Sync);
  for (const Warp& w : warps_) {
    for (const Knower& k : w.groups) {
      n += sizeof(Knower);
      for (const Clock& c : k.view) n += c.bytes();
    }
  }
  for (const Sync& s : syncs_) n += s.gathered.bytes() + s.current.bytes();
  return n;
}

}  // namespace cohort::race
