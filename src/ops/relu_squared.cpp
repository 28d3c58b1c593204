#include <limits>

#include "numerics/smooth.h"
#include "ops/rules.h"

namespace cohort::ops {

namespace {

void infer(ir::Infer& c) { same_as_input(c); }

void map(const ir::Panel& p) {
  const ir::FieldValue& clamp = p.graph->field(*p.node, "clamp");
  if (clamp.kind == ir::FieldValue::Kind::none) {
    each(p, [](float x, int64_t, int64_t) {
      const float c = x < 0 ? 0.0f : x;
      return c * c;
    });
    return;
  }
  const float s = clamp.real;
  each(p, [s](float x, int64_t, int64_t) {
    const float c = x < 0 ? 0.0f : x;
    const float h = s * numerics::tanh(c / s);  // never above 1
    return h * h;
  });
}

void bound(const ir::BoundPanel& b) {
  const ir::FieldValue& clamp = b.low.graph->field(*b.low.node, "clamp");
  each(b, [&](ir::Bound x, int64_t, int64_t) {
    const ir::Bound c = relu(x);
    if (clamp.kind == ir::FieldValue::Kind::none) return square(c);
    const ir::Bound s = static_cast<double>(clamp.real);
    return square(s * min(tanh(c / s), 1.0));
  });
}

}  // namespace

ir::OpRecord relu_squared() {
  ir::OpRecord r = ir::describe(ReluSquared{});
  r.infer = infer;
  r.reference = {.kind = ir::Reference::Kind::map, .map = map, .bound = bound};
  r.device_functor = "ReluSquared";
  r.formula = "y = relu(x)^2; with clamp s: y = (s * min(tanh(relu(x) / s), 1))^2";
  range(r, "clamp", std::numeric_limits<float>::min(), std::numeric_limits<float>::max());
  document(r, {{"clamp", "s > 0, the tanh clamp"}});
  return r;
}

}  // namespace cohort::ops
