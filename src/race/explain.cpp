// From two accesses that no clock orders to a fault: whether it is one, and what is missing.
#include <algorithm>

#include "race/watch.h"

namespace cohort::race {

using emu::Agent;
using emu::Fault;
using emu::FaultCode;
using emu::Kind;
using emu::Missing;
using emu::Scope;
using emu::Space;

namespace {

bool is_lifetime(Kind kind) {
  return kind == Kind::allocate || kind == Kind::free || kind == Kind::barrier_init ||
         kind == Kind::barrier_inval;
}

FaultCode code_for(Missing missing) {
  switch (missing) {
    case Missing::nothing:
    case Missing::edge:
      break;
    case Missing::wider_scope:
      return FaultCode::scope;
    case Missing::memory_fence:
      return FaultCode::relaxed;
    case Missing::async_proxy_fence:
      return FaultCode::proxy;
    case Missing::tensor_map_release:
    case Missing::tensor_map_acquire:
      return FaultCode::tensor_map;
    case Missing::tensor_before:
    case Missing::tensor_after:
      return FaultCode::tensor_fence;
    case Missing::completion:
    case Missing::full_completion:
      return FaultCode::incomplete;
    case Missing::pipelined_pair:
      return FaultCode::pipeline;
    case Missing::mutual_scope:
    case Missing::same_bytes:
    case Missing::same_proxy:
      return FaultCode::atomic;
  }
  return FaultCode::race;
}

int reach_of_strong(Scope scope) {
  if (scope == Scope::cluster) return 1;
  return scope == Scope::gpu || scope == Scope::sys ? 2 : 0;
}

}  // namespace

emu::Touch Watch::touch(Epoch e, uint32_t lanes) const {
  const Registry& r = registry();
  const AgentInfo& a = r.agent(agent_of(e));
  const Site& s = r.site_at(site_of(e));
  emu::Touch t;
  t.by.is_operation = a.is_operation;
  t.by.agent = a.kind;
  t.by.cta = a.cta;
  t.by.warp = a.warp;
  t.by.lanes = a.is_operation && a.kind != Agent::thread_copy ? a.lanes : lanes;
  t.pc = s.pc;
  t.kind = s.kind;
  t.proxy = s.proxy;
  t.scope = s.scope;
  return t;
}

Fault Watch::at_place(uint64_t offset, uint32_t bytes) const {
  Fault f;
  f.has_place = true;
  f.space = now_.space;
  f.block = now_.block;
  f.offset = offset;
  f.bytes = bytes;
  return f;
}

bool Watch::include_each_other(Epoch me, Epoch earlier) const {
  const Registry& r = registry();
  const int distance = r.distance(r.agent(agent_of(me)).cta, r.agent(agent_of(earlier)).cta);
  return distance <= reach_of_strong(r.site_at(site_of(me)).scope) &&
         distance <= reach_of_strong(r.site_at(site_of(earlier)).scope);
}

// PTX 8.7: strong, of scopes that include each other, through one proxy, of the same bytes.
Missing Watch::missing_strength(Epoch me, Epoch earlier) const {
  const Registry& r = registry();
  const Site& a = r.site_at(site_of(me));
  const Site& b = r.site_at(site_of(earlier));
  if (a.proxy != b.proxy) return Missing::same_proxy;
  if (!include_each_other(me, earlier)) return Missing::mutual_scope;
  if (a.bytes != b.bytes) return Missing::same_bytes;
  return Missing::nothing;
}

bool Watch::is_allowed(Epoch me, Epoch earlier) const {
  constexpr Epoch kSameInstruction = ~kLaneMask;
  const Registry& r = registry();
  const Site& a = r.site_at(site_of(me));
  return rules_.one_lane_of_a_store_wins && ((me ^ earlier) & kSameInstruction) == 0 &&
         a.kind == Kind::write && !r.agent(agent_of(me)).is_operation;
}

// Of an operation that is not known to be complete: was it known to be begun?
Missing Watch::missing_completion(Epoch earlier, uint32_t lanes) const {
  const Registry& r = registry();
  const AgentInfo& x = r.agent(agent_of(earlier));
  const Clock& any = now_.op != nullptr ? now_.op->any : now_.group->view[kAny];
  if (x.kind == Agent::tensor_pipe) {
    const bool is_begun = any.at(x.sibling) >= tick_of(earlier);
    const bool is_pipe = now_.op != nullptr && now_.op->kind == Agent::tensor_pipe;
    if (is_begun) return is_pipe ? Missing::pipelined_pair : Missing::completion;
  }
  if (x.kind == Agent::copy && any.covers(x.sibling, tick_of(earlier), kAllLanes)) {
    return Missing::full_completion;
  }
  // A warp begins it as one: any lane of the warp stands for that.
  for (uint32_t m = x.kind == Agent::thread_copy ? lanes : x.lanes; m != 0; m &= m - 1) {
    const uint32_t lane = m & (~m + 1);
    const bool is_own =
        now_.op == nullptr && now_.warp == x.warp && (now_.group->lanes & lane) != 0;
    if (is_own || any.covers(x.issuer, x.issued, lane)) return Missing::completion;
  }
  return Missing::edge;
}

Missing Watch::missing(const Reach& reach, Epoch earlier, uint32_t lanes) const {
  const Registry& r = registry();
  const AgentInfo& x = r.agent(agent_of(earlier));
  const bool by_op = now_.op != nullptr;
  const auto known = [&](const Clock& c) {
    return c.covers(agent_of(earlier), tick_of(earlier), lanes);
  };
  const Clock& base = by_op ? now_.op->generic : now_.group->view[kBase];
  const Clock& exec = by_op ? now_.op->exec : now_.group->view[kExec];
  const Clock& any = by_op ? now_.op->any : now_.group->view[kAny];
  if (is_earlier_grid(earlier)) return Missing::tensor_map_acquire;
  if (known(base)) {
    // Later knowledge of the issuer does for the words.
    const Knower& issuer = by_op ? knowledge_.group_of(now_.op->who) : *now_.group;
    if (reach.to_map) {
      return known(issuer.view[kMapReleased]) ? Missing::tensor_map_acquire
                                              : Missing::tensor_map_release;
    }
    const View proxy = now_.space == Space::global ? kAsyncGlobal : kAsyncShared;
    if (by_op && (now_.space == Space::tensor || known(issuer.view[proxy]))) {
      return Missing::tensor_after;
    }
    return Missing::async_proxy_fence;
  }
  if (known(exec)) {
    return by_op && now_.space == Space::tensor ? Missing::tensor_after : Missing::memory_fence;
  }
  if (known(any)) {
    const bool is_tensor = x.is_operation && now_.space == Space::tensor;
    return is_tensor ? Missing::tensor_before : Missing::wider_scope;
  }
  return x.is_operation ? missing_completion(earlier, lanes) : Missing::edge;
}

void Watch::conflict(const Reach& reach, Epoch me, Epoch earlier, uint32_t lanes, uint64_t offset,
                     uint32_t bytes) {
  const Registry& r = registry();
  const Site& a = r.site_at(site_of(me));
  const Site& b = r.site_at(site_of(earlier));
  Fault f = at_place(offset, bytes);
  const bool both_strong = a.scope != Scope::weak && b.scope != Scope::weak &&
                           !is_lifetime(a.kind) && !is_lifetime(b.kind);
  if (both_strong) {
    f.missing = missing_strength(me, earlier);
    if (f.missing == Missing::nothing) return;
  } else {
    if (is_allowed(me, earlier)) return;
    f.missing = missing(reach, earlier, lanes);
  }
  f.code = code_for(f.missing);
  if (is_lifetime(a.kind) || is_lifetime(b.kind)) f.code = FaultCode::lifetime;
  f.now = touch(me, r.lanes_of(me));
  f.earlier = touch(earlier, lanes);
  f.has_earlier = true;
  sink_.fault(f);
}

void Watch::no_data(Epoch me, Epoch writer, uint64_t offset, uint32_t bytes) {
  const Registry& r = registry();
  Fault f = at_place(offset, bytes);
  f.code = FaultCode::uninitialised;
  f.now = touch(me, r.lanes_of(me));
  if (writer != 0) {
    f.has_earlier = true;
    f.earlier = touch(writer, r.lanes_of(writer));
  }
  sink_.fault(f);
}

}  // namespace cohort::race
