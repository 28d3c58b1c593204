#include "engine/conformance.h"

namespace cohort::test::conformance {

CONFORMANCE(add, residual) {
  const auto x = c.matrix("x", 10);
  const auto r0 = c.matrix("residual", 10, DType::bf16);
  const auto w = c.weights("w", 3, 10, 10);
  const auto residual = c.add(Load{.x = r0.h});
  const auto y =
      c.add(GroupedGemm{.a = x.h, .b = w.h, .groups = c.groups()}).then(Add{.c = residual});
  c.output("y", y, {}, [=, t = c.tokens()](int64_t r, int64_t n) {
    Sum acc;
    for (int64_t k = 0; k < 10; ++k) acc.add(x(r, k) * w(t->group(r), n, k));
    return acc.result() + r0(r, n);
  });
}

CONFORMANCE(add, to_itself) {
  const auto x = c.matrix("x", 6);
  const auto value = c.add(Load{.x = x.h, .groups = c.groups()});
  c.output("y", value.then(Add{.c = value}), {},
           [=](int64_t r, int64_t n) { return x(r, n) + x(r, n); });
}

}  // namespace cohort::test::conformance
