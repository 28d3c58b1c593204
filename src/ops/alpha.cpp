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
  const float by = *p.operand[0].data;
  const float alpha = p.graph->field(*p.node, "power").integer == 2 ? by * by : by;
  each(p, [&](float x, int64_t, int64_t) { return alpha * x; });
}

}  // namespace

ir::OpRecord alpha() {
  ir::OpRecord r = ir::describe(Alpha{.by = ir::any<GroupVec>()});
  r.infer = infer;
  r.reference = {.kind = ir::Reference::Kind::map, .map = map, .monotone = true};
  r.device_functor = "Alpha";
  r.formula = "y[m,n] = by[g(m)]^power * x[m,n]";
  range(r, "power", 1, 2);
  document(r, {{"by", "one factor an expert (E) or group"},
               {"power", "1, or 2: the square, rounded to f32 first"}});
  return r;
}

}  // namespace cohort::ops
