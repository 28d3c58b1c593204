#include "ops/rules.h"

namespace cohort::ops {

namespace {

void infer(ir::Infer& c) {
  want_row_vector(c, "by");
  if (!c.failed()) same_type(c, grouped(c, {"by"}));
}

void map(const ir::Panel& p) {
  const float* by = p.operand[0].data;
  each(p, [&](float x, int64_t r, int64_t) { return by[r] * x; });
}

}  // namespace

ir::OpRecord row_gate() {
  ir::OpRecord r = ir::describe(RowGate{.by = ir::any<RowVec>()});
  r.infer = infer;
  r.reference = {.kind = ir::Reference::Kind::map, .map = map, .monotone = true};
  r.device_functor = "RowGate";
  r.formula = "y[m,n] = by[m] * x[m,n]";
  document(r, {{"by", "one factor a row (T): the routing probability"}});
  return r;
}

}  // namespace cohort::ops
