#include "ops/rules.h"

namespace cohort::ops {

namespace {

void infer(ir::Infer& c) {
  const ir::Value& x = c.in();
  const ir::Value& other = *c.operand("c");
  c.want_extent("c", 0, x.shape[0], "row count", "the value");
  c.want_extent("c", 1, x.shape[1], "feature count", "the value");
  if (other.groups != ir::kNone && x.groups != ir::kNone && other.groups != x.groups) {
    c.fail("E-GROUPS", "c", -1, c.describe(c.graph().values[static_cast<size_t>(x.groups)]),
           c.describe(c.graph().values[static_cast<size_t>(other.groups)]),
           "the rows of " + c.describe(other) + " belong to other groups");
  }
  if (c.failed()) return;
  ir::Value y = x;
  y.dtype = DType::f32;
  y.accumulator = false;
  if (y.groups == ir::kNone) y.groups = other.groups;
  c.result(0, y);
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
