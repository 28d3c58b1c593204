#include "ops/rules.h"

namespace cohort::ops {

namespace {

void infer(ir::Infer& c) {
  if (!c.knows("in")) return want_row_vector(c, "scaled_by");
  const ir::Value y = grouped(c, {"scaled_by"});
  // Factors that are not sound may be those that would bring the groups.
  if (y.groups != ir::kNone || c.knows("scaled_by")) c.want_experts("by", y);
  c.want_extent("by", 1, y.shape[1], "feature count", "the value");
  want_row_vector(c, "scaled_by");
  same_type(c, y);
}

void map(const ir::Panel& p) {
  const float* by = p.operand[0].data;
  const float* scale = p.operand[1].data;
  if (scale == nullptr) {
    each(p, [&](float x, int64_t, int64_t n) { return x + by[n]; });
  } else {
    each(p, [&](float x, int64_t r, int64_t n) { return x + scale[r] * by[n]; });
  }
}

// The product is rounded by itself, or not at all: the sum may cancel.
void bound(const ir::BoundPanel& b) {
  each(b, [&](ir::Bound x, int64_t r, int64_t n) {
    const ir::Bound by = b.operand(0, n);
    return b.has(1) ? x + b.operand(1, r) * by : x + by;
  });
}

}  // namespace

ir::OpRecord bias() {
  ir::OpRecord r = ir::describe(Bias{.by = ir::any<GroupMat>()});
  r.infer = infer;
  r.reference = {.kind = ir::Reference::Kind::map, .map = map, .bound = bound};
  r.device_functor = "Bias";
  r.formula = "y[m,n] = x[m,n] + by[g(m)][n], or + scaled_by[m] * by[g(m)][n]";
  document(r, {{"by", "(E, N)"}, {"scaled_by", "(T): multiplies the bias only"}});
  return r;
}

}  // namespace cohort::ops
