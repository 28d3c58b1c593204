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

}  // namespace

ir::OpRecord select() {
  ir::OpRecord r = ir::describe(Select{.if_true = 0.0, .if_false = 0.0});
  r.infer = infer;
  r.reference = {.kind = ir::Reference::Kind::map, .map = map};
  r.device_functor = "Select";
  r.formula = "y = x != 0 ? if_true : if_false";
  document(r, {{"if_true", "a number, or what broadcasts to (T, N): where x is not 0"},
               {"if_false", "a number, or what broadcasts to (T, N): where x is 0"}});
  return r;
}

}  // namespace cohort::ops
