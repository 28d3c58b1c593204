#include "race/stream.h"

namespace cohort::race_test {

Op& Op::touch(const Box& box) {
  run_.checker().access(id_, box);
  return *this;
}

Op& Op::read(Space space, uint32_t block, uint64_t begin, uint64_t bytes, Proxy proxy) {
  return touch({space, proxy, Kind::read, block, begin, bytes});
}

Op& Op::write(Space space, uint32_t block, uint64_t begin, uint64_t bytes, Proxy proxy) {
  return touch({space, proxy, Kind::write, block, begin, bytes});
}

Op& Op::lanes(Kind kind, Space space, uint32_t block, uint64_t begin, emu::Who who) {
  std::array<uint64_t, 32> offset{};
  for (uint64_t l = 0; l < 32; ++l) offset[l] = begin + 4 * l;
  run_.checker().access(id_, {who, space, kind, Scope::weak, 4, block, offset.data()});
  return *this;
}

Op& Op::publish(Bar bar, uint32_t lanes) {
  run_.checker().publish(id_, bar.id, lanes);
  return *this;
}

emu::Who Lanes::who() const { return {{warp_}, lanes_, run_.next_pc()}; }

const Lanes& Lanes::access(Kind kind, Space space, uint32_t block, uint64_t begin, uint8_t bytes,
                           uint64_t stride, Scope scope) const {
  std::array<uint64_t, 32> offset{};
  for (uint64_t l = 0; l < 32; ++l) offset[l] = begin + stride * l;
  run_.checker().access({who(), space, kind, scope, bytes, block, offset.data()});
  return *this;
}

const Lanes& Lanes::touch(const Box& box, Scope scope) const {
  run_.checker().access(who(), box, scope);
  return *this;
}

const Lanes& Lanes::release(Bar bar, Scope scope, Order order) const {
  run_.checker().release(who(), bar.id, scope, order);
  return *this;
}

const Lanes& Lanes::acquire(Bar bar, Scope scope, Order order) const {
  run_.checker().acquire(who(), bar.id, scope, order);
  return *this;
}

const Lanes& Lanes::arrive(Bar bar, Scope scope, Order order) const {
  release(bar, scope, order);
  run_.flip(bar);
  return *this;
}

const Lanes& Lanes::fence(Fence fence, Scope scope) const {
  run_.checker().fence(who(), fence, scope);
  return *this;
}

const Lanes& Lanes::sync() const {
  run_.checker().warp_sync(who());
  return *this;
}

const Lanes& Lanes::commit(Bar bar, uint8_t cta_group) const {
  run_.checker().commit(who(), cta_group, bar.id);
  run_.flip(bar);
  return *this;
}

const Lanes& Lanes::drain(const Op& op, Covers covers) const {
  run_.checker().drain(who(), op.id(), covers);
  return *this;
}

Op Lanes::begin(Agent agent, PipeStep step) const {
  return {run_, run_.checker().begin(who(), agent, step)};
}

Stream::Stream(const emu::Rules& rules, Shape shape) : checker_(race::make_checker(rules, list_)) {
  grid(shape, false);
}

void Stream::grid(Shape shape, bool overlaps) {
  const uint32_t threads =
      shape.threads_per_cta != 0 ? shape.threads_per_cta : 32 * shape.warps_per_cta;
  checker_->begin_grid({warps_, ctas_, shape.ctas, shape.warps_per_cta, threads, shape.cluster_size,
                        uint64_t{200} << 10, overlaps});
  warps_ += shape.ctas * shape.warps_per_cta;
  ctas_ += shape.ctas;
}

void Stream::barrier(std::initializer_list<Lanes> who) {
  const Bar b = bar();
  for (const Lanes& w : who) w.release(b, Scope::cta);
  flip(b);
  for (const Lanes& w : who) w.acquire(b, Scope::cta);
}

Faults Stream::found() {
  Faults seen;
  for (; told_ < faults().size(); ++told_) {
    seen.push_back({faults()[told_].code, faults()[told_].missing});
  }
  return seen;
}

}  // namespace cohort::race_test
