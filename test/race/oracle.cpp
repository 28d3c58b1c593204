#include "race/oracle.h"

#include <algorithm>

namespace cohort::race_test {

using emu::Fence;
using emu::Kind;
using emu::Order;
using emu::Scope;
using emu::Space;

void NodeSet::add(uint32_t node) {
  if (node / 64 >= words_.size()) words_.resize(node / 64 + 1);
  words_[node / 64] |= uint64_t{1} << node % 64;
}

void NodeSet::join(const NodeSet& other) {
  if (other.words_.size() > words_.size()) words_.resize(other.words_.size());
  for (size_t i = 0; i < other.words_.size(); ++i) words_[i] |= other.words_[i];
}

uint32_t Oracle::node(const NodeSet& before) {
  nodes_.push_back({before});
  const auto number = static_cast<uint32_t>(nodes_.size() - 1);
  nodes_.back().before.add(number);
  return number;
}

// The next event of a thread.
uint32_t Oracle::step(const Thread& thread) {
  Line& line = lines_[thread];
  line.last = node(NodeSet(nodes_[line.last].before));
  return line.last;
}

int Oracle::distance(uint32_t a, uint32_t b) const {
  if (a == b) return 0;
  return a / grid_.cluster_size == b / grid_.cluster_size ? 1 : 2;
}

int Oracle::reach(Scope scope) const {
  if (scope == Scope::unspelled) return rules_.unspelled_scope_is_cluster ? 1 : 0;
  if (scope == Scope::cluster) return 1;
  return scope == Scope::gpu || scope == Scope::sys ? 2 : 0;
}

template <class F>
static void each_lane(uint32_t lanes, F&& f) {
  for (uint32_t l = 0; l < 32; ++l) {
    if ((lanes >> l & 1) != 0) f(l);
  }
}

void Oracle::release(emu::Who who, emu::SyncId sync, Scope scope, Order order) {
  Object& object = objects_[sync.value];
  const uint32_t cta = cta_of(who.warp.value);
  each_lane(who.lanes, [&](uint32_t l) {
    const Thread thread = {who.warp.value, l};
    const uint32_t here = step(thread);
    if (order == Order::full) {
      object.gathered.push_back({here, cta, reach(scope), false});
      return;
    }
    for (const Loose& fence : lines_[thread].fences) {
      object.gathered.push_back({fence.node, cta, std::min(fence.reach, reach(scope)), false});
    }
  });
}

void Oracle::flip(emu::SyncId sync, bool keep) {
  Object& object = objects_[sync.value];
  if (!keep) object.current.clear();
  object.current.insert(object.current.end(), object.gathered.begin(), object.gathered.end());
  object.gathered.clear();
}

void Oracle::acquire(emu::Who who, emu::SyncId sync, Scope scope, Order order) {
  const Object& object = objects_[sync.value];
  const uint32_t cta = cta_of(who.warp.value);
  each_lane(who.lanes, [&](uint32_t l) {
    const Thread thread = {who.warp.value, l};
    const uint32_t here = step(thread);
    for (const Loose& edge : object.current) {
      const int apart = edge.is_near ? 0 : distance(cta, edge.cta);
      if (apart > std::min(edge.reach, reach(scope))) continue;
      if (order == Order::full) {
        nodes_[here].before.join(nodes_[edge.node].before);
      } else {
        lines_[thread].pending.insert({edge.node, edge.cta, apart, false});
      }
    }
  });
}

void Oracle::fence(emu::Who who, Fence fence, Scope scope) {
  each_lane(who.lanes, [&](uint32_t l) {
    const Thread thread = {who.warp.value, l};
    const uint32_t here = step(thread);
    if (fence == Fence::memory) {
      for (const Loose& edge : lines_[thread].pending) {
        if (edge.reach <= reach(scope)) nodes_[here].before.join(nodes_[edge.node].before);
      }
      lines_[thread].fences.insert({here, 0, reach(scope), false});
    }
    if (fence == Fence::async_shared || fence == Fence::async_all) {
      proxy_fences_.push_back({here, Space::shared});
    }
    if (fence == Fence::async_global || fence == Fence::async_all) {
      proxy_fences_.push_back({here, Space::global});
    }
  });
}

void Oracle::warp_sync(emu::Who who) {
  NodeSet all;
  Line together;
  each_lane(who.lanes, [&](uint32_t l) {
    const Line& line = lines_[{who.warp.value, l}];
    all.join(nodes_[line.last].before);
    together.fences.insert(line.fences.begin(), line.fences.end());
    together.pending.insert(line.pending.begin(), line.pending.end());
  });
  each_lane(who.lanes, [&](uint32_t l) {
    Line& line = lines_[{who.warp.value, l}];
    // Fences and relaxed acquires of any lane count for all from here on.
    line = together;
    line.last = node(all);
  });
}

emu::OpId Oracle::begin(emu::Who who, emu::Agent, emu::PipeStep) {
  Operation op{};
  op.who = who;
  op.begun = step({who.warp.value, static_cast<uint32_t>(__builtin_ctz(who.lanes))});
  const NodeSet before = nodes_[op.begun].before;
  op.reads = node(before);
  op.writes = node(before);
  NodeSet reads;
  reads.add(op.reads);
  op.done_reads = node(reads);
  reads.add(op.writes);
  op.done_all = node(reads);
  operations_.push_back(op);
  return {operations_.size() - 1};
}

void Oracle::drain(emu::Who who, emu::OpId id, emu::Covers covers) {
  const Operation& op = operations_[id.value];
  each_lane(who.lanes, [&](uint32_t l) {
    const uint32_t here = step({who.warp.value, l});
    nodes_[here].before.join(
        nodes_[covers == emu::Covers::all ? op.done_all : op.done_reads].before);
  });
}

void Oracle::publish(emu::OpId id, emu::SyncId sync, uint32_t) {
  objects_[sync.value].gathered.push_back({operations_[id.value].done_all, 0, 1, true});
}

bool Oracle::ordered(const Access& earlier, const Access& later) const {
  const NodeSet& before = nodes_[later.node].before;
  if (earlier.operation != 0 && earlier.operation == later.operation) {
    return (earlier.kind == Kind::read) == (later.kind == Kind::read);
  }
  if (!before.has(earlier.node)) return false;
  if (earlier.is_async || !later.is_async) return true;
  if (rules_.async_write_after_generic_read && earlier.kind == Kind::read) return true;
  return std::any_of(proxy_fences_.begin(), proxy_fences_.end(), [&](const auto& fence) {
    return fence.second == Space::shared && before.has(fence.first) &&
           nodes_[fence.first].before.has(earlier.node);
  });
}

bool Oracle::strong_together(const Access& a, const Access& b) const {
  const int apart = distance(a.cta, b.cta);
  return a.scope != Scope::weak && b.scope != Scope::weak && a.is_async == b.is_async &&
         a.begin == b.begin && a.bytes == b.bytes && apart <= reach(a.scope) &&
         apart <= reach(b.scope);
}

void Oracle::check(const Access& a, Space space, uint32_t block) {
  auto& bytes = bytes_[{space, block}];
  for (uint64_t i = a.begin; i < a.begin + a.bytes; ++i) {
    Byte& byte = bytes[i];
    const auto against = [&](const Access& earlier) {
      if (!ordered(earlier, a) && !strong_together(earlier, a)) races_.insert({earlier.pc, a.pc});
    };
    for (const Access& w : byte.write) against(w);
    if (byte.write.empty() && a.kind != Kind::write) uninitialised_.insert(a.pc);
    if (a.kind == Kind::read) {
      byte.reads.push_back(a);
    } else {
      for (const Access& r : byte.reads) against(r);
      byte.reads.clear();
      byte.write.assign(1, a);
    }
  }
}

void Oracle::access(const emu::LaneAccess& access) {
  each_lane(access.who.lanes, [&](uint32_t l) {
    const Thread thread = {access.who.warp.value, l};
    Access a{};
    a.node = step(thread);
    a.pc = access.who.pc;
    a.thread = thread;
    a.cta = cta_of(thread.first);
    a.kind = access.kind;
    a.scope = access.scope;
    a.begin = access.offset[l];
    a.bytes = access.bytes;
    check(a, access.space, access.block);
  });
}

void Oracle::access(emu::OpId id, const emu::Box& box) {
  const Operation& op = operations_[id.value];
  Access a{};
  a.node = box.kind == Kind::read ? op.reads : op.writes;
  a.pc = op.who.pc;
  a.cta = cta_of(op.who.warp.value);
  a.kind = box.kind;
  a.is_async = true;
  a.operation = static_cast<uint32_t>(id.value) + 1;
  for (uint32_t r = 0; r < box.runs; ++r) {
    a.begin = box.begin + r * box.pitch;
    a.bytes = box.bytes;
    check(a, box.space, box.block);
  }
}

}  // namespace cohort::race_test
