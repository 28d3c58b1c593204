// The C++ builder: handles, and the calls that fill a Recording.
#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <vector>

#include <cohort/graph.h>

#include "base/diagnostics.h"
#include "ir/recording.h"
#include "ir/state.h"
#include "ir/stored.h"

namespace cohort {

using ir::kNone;

namespace detail {

State::~State() {
  if (frozen != nullptr) frozen->release();
}

State::State(std::string_view graph_name) : recording(graph_name) {
  static std::atomic<uint32_t> next{1};
  serial = next.fetch_add(1, std::memory_order_relaxed);
}

int32_t State::dead(std::string reason, Where where) {
  dead_handles.push_back({std::move(reason), where});
  return -1 - static_cast<int32_t>(dead_handles.size());
}

ir::DeadHandle State::death(int32_t id) const {
  const auto i = static_cast<size_t>(-2 - id);
  return id <= -2 && i < dead_handles.size() ? dead_handles[i]
                                             : ir::DeadHandle{"was never made", {nullptr, 0}};
}

namespace {

void release(State* state) {
  if (state != nullptr && state->references.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    delete state;
  }
}

// Fields on their way from Recorder::put to Recording::add_node. One thread builds one op at a
// time, and put never builds another, so one buffer a thread suffices.
struct Pending {
  std::array<ir::FieldValue, ir::kMaxFields> fields;
  size_t count = 0;
  const ir::OpRecord* op = nullptr;
  int32_t in = kNone;
  Where where{nullptr, 0};
};
thread_local Pending pending;

ir::Place node_place(State& s, Where where) {
  return {"nodes", static_cast<int64_t>(s.recording.graph().nodes.size()), where};
}

// The number of a handle's value in `s`; kNone, with a finding, when it is dead or foreign.
// `meant`: the roles that may stand there.
int32_t open(State& s, const Handle& h, std::string_view op, std::string_view field, Where where,
             ir::RoleSet meant) {
  State* owner = Access::state(h);
  const int32_t id = Access::id(h);
  if (owner == &s && id >= 0) return id;
  ir::DeadHandle why;
  if (owner == nullptr) {
    why = {"was made when memory had run out", {nullptr, 0}};
  } else if (id < 0) {
    why = owner->death(id);
  } else {
    why = {"belongs to another builder, '" + owner->name + "', and was made", owner->made(id)};
  }
  s.recording.report_dead(op, field, why, where, node_place(s, where));
  s.recording.miss({.roles = meant, .name = {}, .may_be_input = meant != ~ir::RoleSet{0}});
  return kNone;
}

}  // namespace

Where State::made(int32_t id) {
  if (out_of_memory) return {nullptr, 0};
  const ir::Graph& g = frozen != nullptr ? *frozen : recording.graph();
  const ir::Value& v = g.values[static_cast<size_t>(id)];
  return v.node == kNone ? g.inputs[static_cast<size_t>(v.input)].where
                         : g.nodes[static_cast<size_t>(v.node)].where;
}

Recorder::Recorder(State* state, const Handle* in, const char* op, Where where) noexcept
    : state_(state) {
  pending.count = 0;
  pending.where = where;
  pending.op = nullptr;
  pending.in = kNone;
  if (state_ == nullptr || state_->out_of_memory) return;
  try {
    pending.op = ir::find_op(op);
    if (in != nullptr && state_->records()) {
      pending.in = open(*state_, *in, op, "in", where, ir::role_bit(Role::value));
    }
  } catch (...) {
    state_->out_of_memory = true;
  }
}

void Recorder::put(const Handle& handle) noexcept {
  ir::FieldValue f;
  f.kind = ir::FieldValue::Kind::value;
  if (state_ != nullptr && state_->records() && pending.op != nullptr) {
    try {
      const ir::FieldRecord& record = pending.op->fields[pending.count];
      f.value = open(*state_, handle, pending.op->name, record.name, pending.where, record.roles);
    } catch (...) {
      state_->out_of_memory = true;
    }
  }
  pending.fields[pending.count++] = f;
}

namespace {
void put_number(double value) {
  ir::FieldValue f;
  f.kind = ir::FieldValue::Kind::number;
  f.number = value;
  pending.fields[pending.count++] = f;
}
void put_integer(ir::FieldValue::Kind kind, int64_t value) {
  ir::FieldValue f;
  f.kind = kind;
  f.integer = value;
  pending.fields[pending.count++] = f;
}
}  // namespace

void Recorder::put(const ScalarArg& arg) noexcept {
  if (Access::handle(arg)) return put(static_cast<const Handle&>(*Access::handle(arg)));
  put_number(Access::value(arg));
}
void Recorder::put(const Arg& arg) noexcept {
  if (Access::handle(arg)) return put(*Access::handle(arg));
  put_number(Access::value(arg));
}
void Recorder::put(bool flag) noexcept { put_integer(ir::FieldValue::Kind::flag, flag ? 1 : 0); }
void Recorder::put(int64_t number) noexcept { put_integer(ir::FieldValue::Kind::integer, number); }
void Recorder::put(float number) noexcept {
  ir::FieldValue f;
  f.kind = ir::FieldValue::Kind::real;
  f.real = number;
  pending.fields[pending.count++] = f;
}
void Recorder::put_choice(int word) noexcept { put_integer(ir::FieldValue::Kind::choice, word); }
void Recorder::put_none() noexcept { pending.fields[pending.count++] = ir::FieldValue{}; }

void Recorder::commit() noexcept {
  if (state_ == nullptr || state_->out_of_memory) return;
  try {
    if (state_->finished) {
      first_result_ =
          state_->dead("comes from '" + std::string(pending.op->name) + "', added after finish()",
                       pending.where);
      failed_ = true;
      return;
    }
    if (pending.op == nullptr) return;
    first_result_ = state_->recording.add_node(
        *pending.op, pending.in, {pending.fields.data(), pending.count}, pending.where);
  } catch (...) {
    state_->out_of_memory = true;
    first_result_ = kNone;
    failed_ = true;
  }
}

int32_t Recorder::result(int port) const noexcept {
  return failed_ || first_result_ < 0 ? first_result_ : first_result_ + port;
}

}  // namespace detail

Handle::Handle(detail::State* state, int32_t id) noexcept : state_(state), id_(id) {
  if (state_ != nullptr) state_->references.fetch_add(1, std::memory_order_relaxed);
}
Handle::Handle(const Handle& other) noexcept : Handle(other.state_, other.id_) {}
Handle& Handle::operator=(const Handle& other) noexcept {
  Handle copy(other);
  std::swap(state_, copy.state_);
  std::swap(id_, copy.id_);
  return *this;
}
Handle::~Handle() { detail::release(state_); }

Builder::Builder(std::string_view name) noexcept : state_(nullptr) {
  try {
    state_ = new detail::State(name);
    state_->name = name.substr(0, ir::kMaxName);
  } catch (...) {
    detail::release(state_);
    state_ = nullptr;
  }
}
Builder::~Builder() { detail::release(state_); }

namespace {

// Adds an input unless the builder is finished or out of memory; always gives a handle.
template <class H, class F>
H input(detail::State* s, Where where, std::string_view name, F&& type) noexcept {
  int32_t id = kNone;
  if (s != nullptr && !s->out_of_memory) {
    try {
      id = s->finished
               ? s->dead("was declared as '" + std::string(name) + "' after finish()", where)
               : s->recording.add_input(name, type(), where);
    } catch (...) {
      s->out_of_memory = true;
    }
  }
  return detail::Access::make<H>(s, id);
}

ir::Value typed(detail::State& s, Role role, Shape shape, DType dtype, std::string_view name,
                Where where) {
  ir::Value v;
  v.role = role;
  v.dtype = dtype;
  for (const Dim& d : shape) {
    const auto symbol = detail::Access::symbol(d);
    if (v.shape.rank < kMaxRank) {
      ir::Extent& e = v.shape[v.shape.rank];
      e = {d.bound(), symbol};
      if (symbol != kNone && detail::Access::owner(d) != s.serial) {
        e.symbol = kNone;
        v.faulty = true;
        const ir::Place place{"inputs", static_cast<int64_t>(s.recording.graph().inputs.size()),
                              where};
        const bool late = detail::Access::owner(d) == 0;
        s.recording.report_dead(
            name, "shape",
            {late ? "is a Dim that was made after finish()" : "is a Dim of another builder, made",
             detail::Access::made(d)},
            where, place);
      } else if (symbol != kNone) {
        v.faulty = v.faulty || s.recording.graph().symbols[static_cast<size_t>(symbol)].faulty;
      }
    }
    ++v.shape.rank;
  }
  return v;
}

ir::Value scaled(ir::Value v, Format format, const Maybe<DType>& element,
                 const Maybe<ScaleLayout>& layout, Axes axis, ColStorage storage) {
  v.dtype = element ? *element : info(format).element;
  v.scaled =
      ir::ScaledType{format, layout ? *layout : ir::default_layout(format, axis), axis, storage};
  return v;
}

ir::Value weight(ir::Value v, const WeightOptions& o) {
  v.major = o.major;
  v.strides = o.strides;
  v.alignment = o.alignment;
  return v;
}

}  // namespace

Dim Builder::dynamic(std::string_view name, int64_t bound, Where where) noexcept {
  // No builder has the serial 0: whoever receives such a Dim says so.
  const Dim late = detail::Access::dim(bound, 0, 0, where);
  if (state_ == nullptr || !state_->records()) return late;
  try {
    const int32_t symbol = state_->recording.add_symbol(name, bound, where);
    return detail::Access::dim(bound, symbol, state_->serial, where);
  } catch (...) {
    state_->out_of_memory = true;
    return late;
  }
}

Tensor Builder::input(std::string_view name, Shape shape, DType dtype, const TensorOptions& options,
                      Where where) noexcept {
  return cohort::input<Tensor>(state_, where, name, [&] {
    ir::Value v = typed(*state_, Role::tensor, shape, dtype, name, where);
    v.strides = options.strides;
    v.alignment = options.alignment;
    return v;
  });
}

ScaledTensor Builder::scaled_input(std::string_view name, Shape shape, Format format,
                                   const ScaledOptions& o, Where where) noexcept {
  return cohort::input<ScaledTensor>(state_, where, name, [&] {
    ir::Value v = scaled(typed(*state_, Role::scaled_tensor, shape, DType::e4m3, name, where),
                         format, o.element, o.layout, o.axis, o.storage);
    v.strides = o.strides;
    v.alignment = o.alignment;
    return v;
  });
}

Weights Builder::weights(std::string_view name, Shape shape, DType dtype, const WeightOptions& o,
                         Where where) noexcept {
  return cohort::input<Weights>(state_, where, name, [&] {
    return weight(typed(*state_, Role::weights, shape, dtype, name, where), o);
  });
}

Weights Builder::scaled_weights(std::string_view name, Shape shape, Format format,
                                const WeightOptions& o, Where where) noexcept {
  return cohort::input<Weights>(state_, where, name, [&] {
    return weight(scaled(typed(*state_, Role::weights, shape, DType::e4m3, name, where), format,
                         o.element, o.layout, Axes::row, ColStorage::as_rows),
                  o);
  });
}

WeightPointers Builder::weight_pointers(std::string_view name, Shape shape, DType dtype,
                                        const WeightOptions& o, Where where) noexcept {
  return cohort::input<WeightPointers>(state_, where, name, [&] {
    return weight(typed(*state_, Role::weight_pointers, shape, dtype, name, where), o);
  });
}

WeightPointers Builder::weight_pointers(std::string_view name, Shape shape, Format format,
                                        const WeightOptions& o, Where where) noexcept {
  return cohort::input<WeightPointers>(state_, where, name, [&] {
    return weight(scaled(typed(*state_, Role::weight_pointers, shape, DType::e4m3, name, where),
                         format, o.element, o.layout, Axes::row, ColStorage::as_rows),
                  o);
  });
}

Groups Builder::groups(std::string_view name, Dim count, GroupForm form,
                       const GroupOptions& options, Where where) noexcept {
  return cohort::input<Groups>(state_, where, name, [&] {
    ir::Value v = typed(*state_, Role::groups, {count}, options.dtype, name, where);
    v.form = form;
    v.row_alignment = options.row_alignment;
    return v;
  });
}

RowVec Builder::row_input(std::string_view name, Dim rows, DType dtype, Where where) noexcept {
  return cohort::input<RowVec>(state_, where, name, [&] {
    return typed(*state_, Role::row_vec, {rows}, dtype, name, where);
  });
}

ColVec Builder::col_input(std::string_view name, Dim features, DType dtype, Where where) noexcept {
  return cohort::input<ColVec>(state_, where, name, [&] {
    return typed(*state_, Role::col_vec, {features}, dtype, name, where);
  });
}

GroupVec Builder::group_input(std::string_view name, int64_t count, DType dtype,
                              Where where) noexcept {
  return cohort::input<GroupVec>(state_, where, name, [&] {
    return typed(*state_, Role::group_vec, {count}, dtype, name, where);
  });
}

GroupMat Builder::group_matrix(std::string_view name, Shape shape, DType dtype,
                               Where where) noexcept {
  return cohort::input<GroupMat>(state_, where, name, [&] {
    return typed(*state_, Role::group_mat, shape, dtype, name, where);
  });
}

Scalar Builder::scalar(std::string_view name, DType dtype, Where where) noexcept {
  return cohort::input<Scalar>(
      state_, where, name, [&] { return typed(*state_, Role::scalar, {1}, dtype, name, where); });
}

Index Builder::index(std::string_view name, Dim count, DType dtype, Where where) noexcept {
  return index(name, Shape{count}, dtype, where);
}

Index Builder::index(std::string_view name, Shape shape, DType dtype, Where where) noexcept {
  return cohort::input<Index>(
      state_, where, name, [&] { return typed(*state_, Role::index, shape, dtype, name, where); });
}

void Builder::output(std::string_view name, const Handle& value, const OutputOptions& o,
                     Where where) noexcept {
  if (state_ == nullptr || !state_->records()) return;
  try {
    const int32_t id = detail::open(*state_, value, name, "value", where, ~ir::RoleSet{0});
    constexpr ir::RoleSet kIndex = ir::role_bit(Role::index);
    ir::OutputFields fields{o.dtype, o.tail, o.strides, o.alignment, o.discrete};
    if (o.scatter)
      fields.scatter = detail::open(*state_, *o.scatter, name, "scatter", where, kIndex);
    if (o.slot) fields.slot = detail::open(*state_, *o.slot, name, "slot", where, kIndex);
    fields.broken.scatter = o.scatter && fields.scatter == kNone;
    fields.broken.slot = o.slot && fields.slot == kNone;
    fields.top_k = o.top_k;
    if (o.rows) {
      const ir::Value rows = typed(*state_, Role::value, {*o.rows}, DType::f32, name, where);
      fields.rows = rows.shape[0];
      fields.broken.rows = rows.faulty;
    }
    state_->recording.add_output(name, id, fields, where);
  } catch (...) {
    state_->out_of_memory = true;
  }
}

}  // namespace cohort
