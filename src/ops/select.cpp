#include "ops/broadcast.h"
#include "ops/rules.h"

namespace cohort::ops {

namespace {

void infer(ir::Infer& c) { infer_elementwise(c, {"if_true", "if_false"}); }

void map(const ir::Panel& p) {
  const Broadcast yes = broadcast(p, 0);
  const Broadcast no = broadcast(p, 1);
  each(p, [&](float x, int64_t r, int64_t n) {
    const Broadcast& b = x != 0 ? yes : no;
    return b.data[r * b.row_step + n * b.column_step];
  });
}

void bound(const ir::BoundPanel& b) {
  const Broadcast yes = broadcast(b.low, 0);
  const Broadcast no = broadcast(b.low, 1);
  each(b, [&](ir::Bound x, int64_t r, int64_t n) {
    const ir::Bound t = operand_bound(b, yes, 0, r, n);
    const ir::Bound f = operand_bound(b, no, 1, r, n);
    const Truth condition = truth(x);
    if (condition != Truth::unknown) return condition == Truth::yes ? t : f;
    return t.is_nan() || f.is_nan() ? unknown_bound() : ir::hull(t, f);
  });
}

}  // namespace

ir::OpRecord select() {
  ir::OpRecord r = ir::describe(Select{.if_true = 0.0, .if_false = 0.0});
  r.infer = infer;
  r.reference = {.kind = ir::Reference::Kind::map, .map = map, .bound = bound};
  r.device_functor = "Select";
  r.formula = "y = x != 0 ? if_true : if_false";
  document(r, {{"if_true", "a number, or what broadcasts to (T, N): where x is not 0"},
               {"if_false", "a number, or what broadcasts to (T, N): where x is 0"}});
  return r;
}

}  // namespace cohort::ops
