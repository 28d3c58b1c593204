#include "ops/rules.h"

namespace cohort::ops {

namespace {

void infer(ir::Infer& c) {
  want_like_value(c, "c");
  if (c.failed()) return;
  same_type(c, grouped(c, {"c"}));
}

void map(const ir::Panel& p) {
  const ir::PanelData& other = p.operand[0];
  each(p, [&](float x, int64_t r, int64_t n) { return x + other.data[r * other.stride + n]; });
}

}  // namespace

ir::OpRecord add() {
  ir::OpRecord r = ir::describe(Add{.c = ir::any<Value>()});
  r.infer = infer;
  r.reference = {.kind = ir::Reference::Kind::map, .map = map, .monotone = true};
  r.device_functor = "Add";
  r.formula = "y[m,n] = x[m,n] + c[m,n]";
  document(r, {{"c", "(T, N): the residual"}});
  return r;
}

}  // namespace cohort::ops
