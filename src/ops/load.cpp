#include "ops/rules.h"

namespace cohort::ops {

namespace {

void infer(ir::Infer& c) {
  if (!c.want_rank("x", 2, "(T, N)")) return;
  const ir::Value& x = *c.operand("x");
  if (x.scaled && x.scaled->layout == ScaleLayout::shifted_128 && c.operand("groups") == nullptr) {
    c.fail("E-LAYOUT", "groups", -1, "groups", "nothing",
           "shifted_128 scales of " + c.describe(x) + " cannot be found without groups");
  }
  if (x.scaled && x.scaled->axis == Axes::col && c.operand("groups") == nullptr) {
    c.fail("E-LAYOUT", "groups", -1, "groups", "nothing",
           "column blocks of " + c.describe(x) + " start anew at each group: groups are needed");
  }
  if (c.failed()) return;
  ir::Value y;
  y.shape = x.shape;
  y.groups = c.graph().operand(c.node(), "groups");
  c.result(0, y);
}

}  // namespace

ir::OpRecord load() {
  ir::OpRecord r = ir::describe(Load{.x = ir::any<Tensor>()});
  r.infer = infer;
  r.reference.kind = ir::Reference::Kind::load;
  r.formula = "y = x as f32";
  document(r, {{"x", "(T, N), plain or quantised"},
               {"groups", "which rows belong to which group, for ops that need it"}});
  return r;
}

}  // namespace cohort::ops
