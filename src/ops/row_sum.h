// What the backwards of activations share: prob, and dprob, a sum over the features of a row.
#pragma once

#include "ops/rules.h"

namespace cohort::ops {

/// The piped value of a backward, with the groups of the rows of all its results.
inline ir::Value gradient_rows(const ir::Infer& c) {
  return grouped(c, {"c", "prob", "dprob_add"});
}

/// prob and dprob_add: one number a row each, of the rows that dprob has.
inline void want_prob(ir::Infer& c) {
  if (!c.knows("in")) {
    want_row_vector(c, "prob");
    return want_row_vector(c, "dprob_add");
  }
  const int32_t groups = gradient_rows(c).groups;
  want_row_vector(c, "prob", groups);
  const ir::Value* add = c.operand("dprob_add");
  if (add == nullptr) return;
  if (add->role == Role::value) {
    c.want_extent("dprob_add", 1, ir::Extent{1}, "feature count", "a row term");
  }
  want_row_vector(c, "dprob_add", groups);
}

/// The type of dprob: a number for each row of the other results.
inline ir::Value row_sum_type(const ir::Value& rows) {
  ir::Value v;
  v.shape = {rows.shape[0]};
  v.groups = rows.groups;
  v.experts = rows.experts;
  return v;
}

/// Row `r` of an operand that holds one number a row; `otherwise` when it is absent.
inline float row_number(const ir::PanelData& rows, int64_t r, float otherwise) {
  return rows.data == nullptr ? otherwise : rows.data[r * rows.stride];
}

/// The same for bounds.
inline ir::Bound row_bound(const ir::BoundPanel& b, size_t field, int64_t r, double otherwise) {
  return b.has(field) ? b.operand(field, r, 0) : ir::Bound(otherwise);
}

}  // namespace cohort::ops
