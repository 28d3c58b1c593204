// Pieces that several ops share: documentation of fields, common shape rules, panel loops.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "ir/bound.h"
#include "ir/canonical.h"
#include "ir/describe.h"
#include "ir/infer.h"
#include "ir/op_record.h"

namespace cohort::ops {

/// Sets the one-line documentation of fields.
inline void document(ir::OpRecord& record,
                     std::initializer_list<std::pair<std::string_view, const char*>> docs) {
  for (const auto& [field, text] : docs) {
    record.fields[static_cast<size_t>(record.field_index(field))].doc = text;
  }
}

/// Sets the range of a numeric field, ends included.
inline void range(ir::OpRecord& record, std::string_view field, double minimum, double maximum) {
  ir::FieldRecord& f = record.fields[static_cast<size_t>(record.field_index(field))];
  f.minimum = minimum;
  f.maximum = maximum;
  f.ranged = true;
}

/// A number as JSON has it, for findings.
inline std::string number_text(float x) {
  std::string s;
  ir::append_number(s, x);
  return s;
}

/// The result of an elementwise op without findings: type `v` as unrounded f32.
inline void same_type(ir::Infer& infer, ir::Value v) {
  if (infer.failed()) return;
  v.dtype = DType::f32;
  v.accumulator = false;
  infer.result(0, v);
}
/// The same, of the piped value's type.
inline void same_as_input(ir::Infer& infer) {
  if (!infer.failed()) same_type(infer, infer.in());
}

/// E-GROUPS when the rows of an operand belong to other groups than `groups`, those of the value.
inline void want_groups(ir::Infer& infer, std::string_view field, int32_t groups) {
  const ir::Value* other = infer.operand(field);
  if (other == nullptr || other->groups == ir::kNone || groups == ir::kNone) return;
  if (other->groups == groups) return;
  const auto& values = infer.graph().values;
  infer.fail("E-GROUPS", field, -1, infer.describe(values[static_cast<size_t>(groups)]),
             infer.describe(values[static_cast<size_t>(other->groups)]),
             "the rows of " + infer.describe(*other) + " belong to other groups");
}

/// What a matrix operand must be: as many rows as the piped value, of the same groups, and `width`
/// features. Rows alone where nothing else of the piped value is known.
inline void want_matrix(ir::Infer& infer, std::string_view field, const ir::Extent& width,
                        std::string_view width_of) {
  const ir::Value* rows = infer.rows();
  if (infer.operand(field) == nullptr || rows == nullptr) return;
  infer.want_extent(field, 0, rows->shape[0], "row count", "the value");
  if (infer.knows("in")) infer.want_extent(field, 1, width, "feature count", width_of);
  want_groups(infer, field, rows->groups);
}

/// As many features as the piped value has, too.
inline void want_like_value(ir::Infer& infer, std::string_view field) {
  if (infer.rows() != nullptr) want_matrix(infer, field, infer.in().shape[1], "the value");
}

/// The piped value with the groups of its rows: rows without groups take those of the first of
/// these operands whose rows have some, a matrix or a computed row vector. Only with a sound piped
/// value.
inline ir::Value grouped(const ir::Infer& infer, std::initializer_list<std::string_view> fields) {
  ir::Value y = infer.in();
  for (std::string_view field : fields) {
    const ir::Value* v = infer.operand(field);
    if (v == nullptr || y.groups != ir::kNone) continue;
    y.groups = v->groups;
    if (v->groups != ir::kNone) y.experts = v->experts;
  }
  return y;
}

/// What a row operand must be: one number a row of the piped value. Stored ones have no groups of
/// their own; a computed one, as dprob, must have `groups`. Nothing when the rows of the piped
/// value are not known.
inline void want_row_vector(ir::Infer& infer, std::string_view field, int32_t groups) {
  if (infer.rows() == nullptr) return;
  infer.want_extent(field, 0, infer.rows()->shape[0], "row count", "the value");
  want_groups(infer, field, groups);
}

/// The same for the only row operand: a value without groups takes its groups.
inline void want_row_vector(ir::Infer& infer, std::string_view field) {
  if (infer.rows() != nullptr) want_row_vector(infer, field, infer.rows()->groups);
}

/// E-CHAIN unless the piped value is a product, or one times alpha and row_scale.
inline void want_accumulator(ir::Infer& infer) {
  if (!infer.knows("in") || infer.in().accumulator) return;
  infer.fail("E-CHAIN", "in", -1, "a product", infer.describe(infer.in()),
             "multiplies the accumulator only: it stands directly after a product, got " +
                 infer.describe(infer.in()));
}

/// Calls f(x, column) for each element of a panel and stores what it returns.
template <class F>
void each(const ir::Panel& p, F&& f) {
  for (int64_t r = 0; r < p.rows; ++r) {
    const float* x = p.in.data + r * p.in.stride;
    float* y = p.out[0].data + r * p.out[0].stride;
    for (int64_t n = 0; n < p.columns; ++n) y[n] = f(x[n], r, n);
  }
}

/// Bounds of an elementwise op: f(interval of the element, row, column).
template <class F>
void each(const ir::BoundPanel& b, F&& f) {
  for (int64_t r = 0; r < b.low.rows; ++r) {
    for (int64_t n = 0; n < b.low.columns; ++n) b.put(0, r, n, f(b.in(r, n), r, n));
  }
}

}  // namespace cohort::ops
