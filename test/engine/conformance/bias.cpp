#include "engine/conformance.h"

namespace cohort::test::conformance {

namespace {

void plain(Case& c, DType type) {
  const auto x = c.matrix("x", 10);
  const auto b = c.group_mat("b", 3, 10, type);
  const auto y = c.add(Load{.x = x.h, .groups = c.groups()}).then(Bias{.by = b.h});
  c.output("y", y, {},
           [=, t = c.tokens()](int64_t r, int64_t n) { return x(r, n) + b(t->group(r), n); });
}

}  // namespace

CONFORMANCE(bias, f32) { plain(c, DType::f32); }
CONFORMANCE(bias, f16) { plain(c, DType::f16); }
CONFORMANCE(bias, bf16) { plain(c, DType::bf16); }

CONFORMANCE(bias, scaled_by_probability) {
  const auto x = c.matrix("x", 10);
  const auto b = c.group_mat("b", 2, 10);
  const auto p = c.row("p");
  const auto w = c.weights("w", 2, 10, 10);
  const auto y = c.add(GroupedGemm{.a = x.h, .b = w.h, .groups = c.groups({.count = 4})})
                     .then(Bias{.by = b.h, .scaled_by = p.h});
  c.output("y", y, {}, [=, t = c.tokens()](int64_t r, int64_t n) {
    const int64_t e = t->group(r) % 2;
    Sum acc;
    for (int64_t k = 0; k < 10; ++k) acc.add(x(r, k) * w(e, n, k));
    return acc.result() + p(r) * b(e, n);
  });
}

}  // namespace cohort::test::conformance
