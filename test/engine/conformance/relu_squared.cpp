#include "engine/conformance.h"

namespace cohort::test::conformance {

CONFORMANCE(relu_squared, plain) {
  const auto x = c.matrix("x", 10);
  const auto y = c.add(Load{.x = x.h, .groups = c.groups()}).then(ReluSquared{});
  c.output("y", y, {}, [=](int64_t r, int64_t n) { return relu(x(r, n)) * relu(x(r, n)); });
}

CONFORMANCE(relu_squared, tanh_clamp) {
  const auto x = c.matrix("x", 10);
  const auto y = c.add(Load{.x = x.h, .groups = c.groups()}).then(ReluSquared{.clamp = 1.5f});
  c.output("y", y, {}, [=](int64_t r, int64_t n) {
    const Near t = min(tanh(relu(x(r, n)) / 1.5), 1.0);
    const Near h = 1.5 * t;
    return h * h;
  });
}

}  // namespace cohort::test::conformance
