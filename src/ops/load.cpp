#include "ops/product.h"
#include "ops/rules.h"

namespace cohort::ops {

namespace {

void infer(ir::Infer& c) {
  c.want_rank("x", 2, "(T, N)");
  want_counted(c, "groups");
  if (!c.knows("x")) return;
  const ir::Value& x = *c.operand("x");
  const int32_t given = c.graph().operand(c.node(), "groups");
  if (c.knows("groups") && given != ir::kNone && x.groups != ir::kNone && given != x.groups) {
    const auto text = [&](int32_t v) {
      return c.describe(c.graph().values[static_cast<size_t>(v)]);
    };
    c.fail("E-GROUPS", "groups", -1, text(x.groups), text(given),
           "the rows of " + c.describe(x) + " belong to other groups");
  }
  want_blocks_by_group(c, "x");
  const bool has_groups = c.has("groups") || x.groups != ir::kNone;
  if (x.scaled && is_placed_by_group(x.scaled->layout) && !has_groups) {
    c.fail("E-LAYOUT", "groups", -1, "groups", "nothing",
           std::string(name(x.scaled->layout)) + " scales of " + c.describe(x) +
               " cannot be found without groups");
  }
  if (x.scaled && x.scaled->axis == Axes::col && !has_groups) {
    c.fail("E-LAYOUT", "groups", -1, "groups", "nothing",
           "column blocks of " + c.describe(x) + " start anew at each group: groups are needed");
  }
  if (c.failed()) return;
  ir::Value y;
  y.shape = x.shape;
  y.groups = given == ir::kNone ? x.groups : given;
  // The groups that x was made by need not be said.
  if (given == x.groups) c.keep("groups", {});
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
