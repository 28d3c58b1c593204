#include "ops/rules.h"

namespace cohort::ops {

namespace {

void infer(ir::Infer& c) {
  want_accumulator(c);
  c.want_experts("by");
  if (c.failed()) return;
  c.result(0, c.in());
}

void map(const ir::Panel& p) {
  const float alpha = *p.operand[0].data;
  each(p, [&](float x, int64_t, int64_t) { return alpha * x; });
}

}  // namespace

ir::OpRecord alpha() {
  ir::OpRecord r = ir::describe(Alpha{.by = ir::any<GroupVec>()});
  r.infer = infer;
  r.reference = {.kind = ir::Reference::Kind::map, .map = map, .monotone = true};
  r.device_functor = "Alpha";
  r.formula = "y[m,n] = by[g(m)] * x[m,n]";
  document(r, {{"by", "one factor an expert (E) or group"}});
  return r;
}

}  // namespace cohort::ops
