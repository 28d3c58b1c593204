#include "engine/conformance.h"

namespace cohort::test::conformance {

namespace {

// y = alpha of the expert, or of the group, times a product.
void product_times_alpha(Case& c, DType type, int64_t count, int64_t power = 1) {
  const auto x = c.matrix("x", 9);
  const auto w = c.weights("w", 3, 5, 9);
  const auto by = c.group_vec("alpha", count, type);
  const auto y = c.add(GroupedGemm{.a = x.h, .b = w.h, .groups = c.groups({.count = 6})})
                     .then(Alpha{.by = by.h, .power = power});
  c.output("y", y, {.tail = Tail::zero}, [=, t = c.tokens()](int64_t r, int64_t n) {
    const int64_t g = t->group(r);
    Sum acc;
    for (int64_t k = 0; k < 9; ++k) acc.add(x(r, k) * w(g % 3, n, k));
    const Near alpha = power == 2 ? by(g % count) * by(g % count) : by(g % count);
    return alpha * acc.result();
  });
}

}  // namespace

CONFORMANCE(alpha, of_experts) { product_times_alpha(c, DType::f32, 3); }
CONFORMANCE(alpha, of_groups_bf16) { product_times_alpha(c, DType::bf16, 6); }
CONFORMANCE(alpha, squared) { product_times_alpha(c, DType::f32, 3, 2); }

CONFORMANCE(alpha, behind_a_value) {
  const auto x = c.matrix("x", 9);
  const auto w = c.weights("w", 3, 5, 9);
  const auto by = c.group_vec("alpha", 3);
  const auto groups = c.groups();
  const auto a = c.add(Load{.x = x.h, .groups = groups}).then(Unary{.mode = UnaryMode::relu});
  const auto y = c.add(GroupedGemm{.a = a, .b = w.h, .groups = groups}).then(Alpha{.by = by.h});
  c.output("y", y, {}, [=, t = c.tokens()](int64_t r, int64_t n) {
    Sum acc;
    for (int64_t k = 0; k < 9; ++k) acc.add(relu(x(r, k)) * w(t->group(r), n, k));
    return by(t->group(r)) * acc.result();
  });
}

}  // namespace cohort::test::conformance
