#include "engine/conformance.h"

namespace cohort::test::conformance {

namespace {

template <class F>
void mode(Case& c, UnaryMode m, F f) {
  const auto x = c.matrix("x", 10);
  c.output("y", c.add(Load{.x = x.h, .groups = c.groups()}).then(Unary{.mode = m}), {},
           [=](int64_t r, int64_t n) { return f(x(r, n)); });
}

}  // namespace

CONFORMANCE(unary, identity) {
  mode(c, UnaryMode::identity, [](Near x) { return x; });
}
CONFORMANCE(unary, relu) {
  mode(c, UnaryMode::relu, [](Near x) { return relu(x); });
}

}  // namespace cohort::test::conformance
