#include "ops/rules.h"

namespace cohort::ops {

namespace {

void infer(ir::Infer& c) {
  want_accumulator(c);
  want_row_vector(c, "by");
  if (!c.failed()) c.result(0, grouped(c, {"by"}));
}

void map(const ir::Panel& p) {
  const float* by = p.operand[0].data;
  each(p, [&](float x, int64_t r, int64_t) { return by[r] * x; });
}

}  // namespace

ir::OpRecord row_scale() {
  ir::OpRecord r = ir::describe(RowScale{.by = ir::any<RowVec>()});
  r.infer = infer;
  r.reference = {.kind = ir::Reference::Kind::map, .map = map, .monotone = true};
  r.device_functor = "RowScale";
  r.formula = "y[m,n] = by[m] * x[m,n]";
  document(r, {{"by", "one factor a row (T)"}});
  return r;
}

}  // namespace cohort::ops
