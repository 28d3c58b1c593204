// Asynchronous operations: agents of their own, with what they come after and who waited for them.
#include <algorithm>

#include "race/knowledge.h"

namespace cohort::race {

using emu::Agent;
using emu::Covers;
using emu::PipeStep;

namespace {

constexpr int kTickBits = 24;
/// In the place of an agent: a commit, which is none. Agents are fewer.
constexpr AgentId kCommit = 0xFFFF;

emu::OpId make_id(AgentId writer, Tick tick, uint32_t index) {
  return {uint64_t{writer} << 48 | uint64_t{tick} << kTickBits | index};
}
AgentId writer_of(emu::OpId id) { return static_cast<AgentId>(id.value >> 48); }
Tick tick_of_id(emu::OpId id) { return static_cast<Tick>(id.value >> kTickBits & kMaxTick); }
uint32_t index_of(emu::OpId id) { return static_cast<uint32_t>(id.value & kMaxTick); }

bool is_tensor(Agent kind) {
  return kind == Agent::tensor_load || kind == Agent::tensor_store || kind == Agent::tensor_pipe;
}

}  // namespace

Operation& Knowledge::operation(emu::OpId op) { return operations_[index_of(op)]; }

uint32_t Knowledge::new_operation() {
  if (free_operations_.empty()) {
    if (operations_.size() > kMaxTick) over_limit("operations at once", kMaxTick);
    operations_.emplace_back();
    return static_cast<uint32_t>(operations_.size() - 1);
  }
  const uint32_t index = free_operations_.back();
  free_operations_.pop_back();
  return index;
}

AgentId Knowledge::add_agent(const Warp& warp, const emu::Who& who, Agent kind) {
  AgentInfo info;
  info.is_operation = true;
  info.kind = kind;
  info.cta = warp.cta;
  info.warp = who.warp.value;
  info.lanes = who.lanes;
  info.issuer = warp.agent;
  const AgentId id = registry_.add_operation(warp.cta, info);
  registry_.agent(id).sibling = id;
  return id;
}

const Knowledge::Turn& Knowledge::take_turn(const Warp& warp, const Knower& group,
                                            const emu::Who& who, Agent kind) {
  Turns& turns = kind == Agent::copy ? copies_[warp.cta] : of_warp_[{who.warp.value, kind}];
  const Clock& known = group.view[is_tensor(kind) ? kTensor : kBase];
  // A copy's completion vouches for no earlier copy, which an agent that is used again cannot
  // tell. So a number comes back late: after all others, and not while fresh ones are at hand.
  const size_t count = kind == Agent::copy && registry_.has_spare(warp.cta) ? 0 : turns.all.size();
  for (size_t i = 0; i < count; ++i) {
    Turn& t = turns.all[(turns.next + i) % count];
    const AgentInfo& info = registry_.agent(t.writer);
    const bool same_lanes = kind != Agent::thread_copy || info.lanes == who.lanes;
    // Of a thread_copy each lane knows of its own part only.
    const uint32_t lanes = kind == Agent::thread_copy ? who.lanes : kAllLanes;
    if (same_lanes && known.covers(t.writer, t.tick, lanes) &&
        known.covers(t.reader, t.tick, lanes)) {
      if (++t.tick > kMaxTick) over_limit("operations that follow each other", kMaxTick);
      turns.next = (turns.next + i + 1) % count;
      return t;
    }
  }
  Turn turn{};
  turn.writer = add_agent(warp, who, kind);
  turn.reader = turn.writer;
  if (kind == Agent::copy) {
    turn.reader = add_agent(warp, who, kind);
    registry_.agent(turn.writer).sibling = turn.reader;
    registry_.agent(turn.reader).sibling = turn.writer;
  }
  turn.tick = 1;
  turns.all.push_back(turn);
  return turns.all.back();
}

void Knowledge::set_views(Operation& op, const Warp& warp, const Knower& group) {
  // Lanes of a thread_copy come after what they did themselves; see Reach::issuer.
  const bool is_one = op.kind != Agent::thread_copy;
  const auto own = [&](Clock& clock, const Clock& view) {
    clock = view;
    if (is_one) clock.raise(warp.agent, warp.tick, op.who.lanes & warp.all, warp.all);
  };
  own(op.generic, group.view[kBase]);
  own(op.exec, group.view[kExec]);
  own(op.any, group.view[kAny]);
  op.any.join(op.exec);
  if (is_tensor(op.kind)) own(op.tensor, group.view[kTensor]);
  if (op.kind == Agent::tensor_load || op.kind == Agent::tensor_store) return;
  const auto fenced = [&](Clock& clock, View v) {
    clock = group.view[v];
    group.add_own(clock, v, warp.agent, op.who.lanes, warp.all);
  };
  fenced(op.shared, kAsyncShared);
  fenced(op.global, kAsyncGlobal);
  fenced(op.map, kMap);
}

bool Knowledge::in_order(const PipeStep& earlier, const PipeStep& later) const {
  if (emu::pipelined(earlier, later)) return true;
  const bool copies = later.op == PipeStep::Op::cp || later.op == PipeStep::Op::cp_4x256b;
  return rules_.mma_before_cp && earlier.op == PipeStep::Op::mma && copies &&
         earlier.cta_group == later.cta_group;
}

Knowledge::Pipe& Knowledge::pipe_of(const Warp& warp, const Knower& group, const emu::Who& who,
                                    const PipeStep& step) {
  std::vector<Pipe>& pipes = pipes_[registry_.cluster_of(warp.cta)];
  for (Pipe& p : pipes) {
    if (p.warp != who.warp.value || p.lane != who.lanes || p.step.op != step.op ||
        p.step.cta_group != step.cta_group || p.step.shape != step.shape) {
      continue;
    }
    // What does not run in order among itself needs an agent of its own until it is complete.
    if (emu::pipelined(step, step) || group.view[kTensor].at(p.done) >= p.tick) return p;
  }
  Pipe pipe{};
  pipe.step = step;
  pipe.warp = who.warp.value;
  pipe.lane = who.lanes;
  pipe.done = add_agent(warp, who, Agent::tensor_pipe);
  pipe.issued = add_agent(warp, who, Agent::tensor_pipe);
  registry_.agent(pipe.done).sibling = pipe.issued;
  pipes.push_back(std::move(pipe));
  return pipes.back();
}

void Knowledge::enter_pipe(Operation& op, const Warp& warp, Knower& group, const PipeStep& step) {
  Pipe& pipe = pipe_of(warp, group, op.who, step);
  if (++pipe.tick > kMaxTick) over_limit("tensor operations of a thread", kMaxTick);
  op.writer = op.reader = pipe.done;
  op.tick = pipe.tick;
  for (const Pipe& other : pipes_[registry_.cluster_of(warp.cta)]) {
    const Tick begun = op.tensor.at(other.issued);
    if (begun == 0 || !in_order(other.step, step)) continue;
    op.tensor.raise(other.done, begun);
    // What the earlier one came after, this one comes after, too.
    if (begun == other.tick) op.tensor.join(other.order);
  }
  op.shared.meet(op.tensor);
  op.global.meet(op.tensor);
  Clock base = op.generic;
  base.meet(op.tensor);
  pipe.order.join(op.tensor);
  pipe.base.join(base);
  pipe.shared.join(op.shared);
  pipe.global.join(op.global);
  for (const View v : {kTensor, kDrained, kAny}) group.view[v].raise(pipe.issued, pipe.tick);
  if (rules_.tensor_order_by_barrier) group.view[kExec].raise(pipe.issued, pipe.tick);
}

emu::OpId Knowledge::begin(emu::Who who, Agent agent, PipeStep step) {
  if (agent == Agent::tensor_commit) return begin_commit(who, step.cta_group);
  Warp& w = warp(who.warp.value);
  if (agent == Agent::tensor_pipe) w.split(who.lanes);
  const uint32_t index = new_operation();
  Operation& op = operations_[index];
  op.kind = agent;
  op.who = who;
  op.cta = w.cta;
  op.passes_on = agent != Agent::copy && agent != Agent::thread_copy;
  Knower room;
  const Knower& group = group_for_all(who, room);
  set_views(op, w, group);
  if (agent == Agent::tensor_pipe) {
    enter_pipe(op, w, w.group_of(who.lanes), step);
  } else {
    const Turn& turn = take_turn(w, group, who, agent);
    op.writer = turn.writer;
    op.reader = turn.reader;
    op.tick = turn.tick;
  }
  for (const AgentId a : {op.writer, op.reader}) {
    AgentInfo& info = registry_.agent(a);
    info.lanes = who.lanes;
    info.warp = who.warp.value;
    info.issuer = w.agent;
    info.issued = w.tick;
  }
  op.issued = w.tick;
  advance(w);
  return make_id(op.writer, op.tick, index);
}

void Knowledge::end(emu::OpId op) { free_operations_.push_back(index_of(op)); }

void Knowledge::drain_into(Knower& group, const AgentInfo& info, AgentId writer, Tick tick,
                           Covers covers, uint32_t lanes) const {
  const auto know = [&](std::initializer_list<View> views) {
    for (const View v : views) {
      Clock& c = group.view[v];
      if (info.kind == Agent::thread_copy) {
        c.raise(writer, tick, lanes & info.lanes, info.lanes);
      } else {
        c.raise(info.sibling, tick);
        if (covers == Covers::all) c.raise(writer, tick);
      }
    }
  };
  if (info.kind == Agent::thread_copy) {
    know({kBase, kExec, kAny, kTensor});
  } else if (is_tensor(info.kind)) {
    know({kTensor, kAny, kDrained});
    if (rules_.tensor_order_by_barrier) know({kBase, kExec});
  } else {
    know({kBase, kExec, kAny, kTensor, kAsyncShared, kAsyncGlobal});
  }
}

void Knowledge::drain(emu::Who who, emu::OpId op, Covers covers) {
  Warp& w = warp(who.warp.value);
  w.split(who.lanes);
  const AgentInfo& info = registry_.agent(writer_of(op));
  for (Knower& group : w.groups) {
    if ((group.lanes & who.lanes) == 0) continue;
    drain_into(group, info, writer_of(op), tick_of_id(op), covers, group.lanes);
  }
}

void Knowledge::publish(emu::OpId op, emu::SyncId id, uint32_t lanes) {
  if (writer_of(op) == kCommit) return publish_commit(operation(op), id);
  Sync& s = sync(id);
  const AgentId writer = writer_of(op);
  const AgentInfo& info = registry_.agent(writer);
  const Tick tick = tick_of_id(op);
  if (info.kind == Agent::thread_copy) {
    Bucket& b = s.gathered.at(info.cta, 0);
    for (const View v : {kBase, kExec}) {
      b.view[v].raise(writer, tick, lanes & info.lanes, info.lanes);
    }
    s.any_gathered.raise(writer, tick, lanes & info.lanes, info.lanes);
    return;
  }
  Bucket& b = s.gathered.at(kNear, 1);
  for (const View v : {kBase, kExec, kAsyncShared, kAsyncGlobal}) {
    b.view[v].raise(writer, tick);
    b.view[v].raise(info.sibling, tick);
  }
  s.any_gathered.raise(writer, tick);
  s.any_gathered.raise(info.sibling, tick);
}

emu::OpId Knowledge::begin_commit(const emu::Who& who, uint8_t cta_group) {
  const Warp& w = warp(who.warp.value);
  const uint32_t index = new_operation();
  Operation& op = operations_[index];
  op.kind = Agent::tensor_commit;
  op.who = who;
  op.cta = w.cta;
  for (Clock* c : {&op.generic, &op.shared, &op.global, &op.exec, &op.any}) *c = {};
  for (const Pipe& p : pipes_[registry_.cluster_of(w.cta)]) {
    if (p.warp != who.warp.value || (p.lane & who.lanes) == 0 || p.step.cta_group != cta_group) {
      continue;
    }
    op.generic.join(p.base);
    op.shared.join(p.shared);
    op.global.join(p.global);
    op.exec.join(p.order);
    op.any.join(p.order);
    for (Clock* c : {&op.generic, &op.shared, &op.global, &op.exec, &op.any}) {
      c->raise(p.done, p.tick);
    }
    op.exec.raise(p.issued, p.tick);
  }
  return make_id(kCommit, 0, index);
}

void Knowledge::publish_commit(const Operation& op, emu::SyncId id) {
  Sync& s = sync(id);
  Bucket& b = s.gathered.at(kNear, 1);
  b.view[kBase].join(op.generic);
  b.view[kAsyncShared].join(op.shared);
  b.view[kAsyncGlobal].join(op.global);
  b.view[kExec].join(op.exec);
  s.any_gathered.join(op.any);
}

void Knowledge::commit(emu::Who who, uint8_t cta_group, emu::SyncId id) {
  const emu::OpId op = begin_commit(who, cta_group);
  publish_commit(operation(op), id);
  end(op);
}

}  // namespace cohort::race
