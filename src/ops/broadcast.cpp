#include "ops/broadcast.h"

#include <string>

#include "ops/rules.h"

namespace cohort::ops {

namespace {

const ir::Value& value(const ir::Infer& c, int32_t number) {
  return c.graph().values[static_cast<size_t>(number)];
}

// One number or row an expert or group; one for all is good too.
void check_experts(ir::Infer& c, std::string_view field, const ir::Value& v, const ir::Value& y) {
  const int64_t groups = y.groups == ir::kNone ? 1 : value(c, y.groups).shape[0].bound;
  const int64_t experts = y.experts > 0 ? y.experts : groups;
  const ir::Extent got = v.shape[0];
  const bool known = got.symbol == ir::kNone;
  const bool one_number = v.role == Role::group_vec && got.bound == 1;
  if (!known || (got.bound != experts && got.bound != groups && !one_number)) {
    const std::string wanted = std::to_string(experts);
    c.fail(
        "E-SHAPE", field, 0, wanted, c.text(got),
        "experts differ: the rows have " + wanted + ", " + c.describe(v) + " has " + c.text(got));
  }
}

// `piped` is null when the piped value is not sound, `experts_known` false when the operand that
// groups the rows may be one that is not.
void check(ir::Infer& c, std::string_view field, const ir::Value* piped, bool experts_known) {
  const ir::Value* v = c.operand(field);
  if (v == nullptr) return;
  if (v->role == Role::scalar) return c.want_dtype(field, {DType::f32, DType::bf16});
  const bool is_matrix = v->role == Role::tensor || v->role == Role::value;
  if (is_matrix && !c.want_rank(field, 2, "(T, N)")) return;
  if (v->role == Role::group_vec && !c.want_rank(field, 1, "(E)")) return;
  if (piped == nullptr) {
    if (is_matrix || v->role == Role::row_vec) want_row_vector(c, field);
    return;
  }
  const ir::Value& y = *piped;
  switch (v->role) {
    case Role::tensor:
    case Role::value:
      c.want_extent(field, 0, y.shape[0], "row count", "the value");
      c.want_extent(field, 1, y.shape[1], "feature count", "the value");
      want_groups(c, field, y.groups);
      return;
    case Role::row_vec:
      want_row_vector(c, field, y.groups);
      return;
    case Role::col_vec:
      c.want_extent(field, 0, y.shape[1], "feature count", "the value");
      return;
    case Role::group_mat:
      c.want_extent(field, 1, y.shape[1], "feature count", "the value");
      [[fallthrough]];
    default:
      if (experts_known) check_experts(c, field, *v, y);
  }
}

}  // namespace

void infer_elementwise(ir::Infer& c, std::initializer_list<std::string_view> fields) {
  if (!c.knows("in")) {
    for (std::string_view field : fields) check(c, field, nullptr, false);
    return;
  }
  const ir::Value y = grouped(c, fields);
  const bool experts_known = y.groups != ir::kNone || c.knows(fields);
  for (std::string_view field : fields) check(c, field, &y, experts_known);
  same_type(c, y);
}

Broadcast broadcast(const ir::Panel& p, size_t index) {
  const ir::PanelData& d = p.operand[index];
  const ir::FieldValue& f = p.graph->fields[static_cast<size_t>(p.node->first_field) + index];
  if (f.kind != ir::FieldValue::Kind::value) return {d.data, 0, 0};
  switch (p.graph->values[static_cast<size_t>(f.value)].role) {
    case Role::tensor:
    case Role::value:
      return {d.data, d.stride, 1};
    case Role::row_vec:
      return {d.data, 1, 0};
    case Role::col_vec:
    case Role::group_mat:
      return {d.data, 0, 1};
    default:
      return {d.data, 0, 0};
  }
}

}  // namespace cohort::ops
