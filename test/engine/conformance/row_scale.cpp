#include "engine/conformance.h"

namespace cohort::test::conformance {

CONFORMANCE(row_scale, between_product_and_alpha) {
  const auto x = c.matrix("x", 9);
  const auto w = c.weights("w", 3, 5, 9);
  const auto by = c.row("scale");
  const auto alpha = c.group_vec("alpha", 3);
  const auto y = c.add(GroupedGemm{.a = x.h, .b = w.h, .groups = c.groups()})
                     .then(RowScale{.by = by.h})
                     .then(Alpha{.by = alpha.h});
  c.output("y", y, {}, [=, t = c.tokens()](int64_t r, int64_t n) {
    Sum acc;
    for (int64_t k = 0; k < 9; ++k) acc.add(x(r, k) * w(t->group(r), n, k));
    return alpha(t->group(r)) * (by(r) * acc.result());
  });
}

CONFORMANCE(row_scale, bf16_of_a_plain_product) {
  const auto a = c.matrix("a", 8, DType::bf16);
  const auto b = c.fixed("b", 6, 8, DType::bf16);
  const auto by = c.row("scale", DType::bf16);
  const auto y = c.add(Matmul{.a = a.h, .b = b.h}).then(RowScale{.by = by.h});
  c.output("y", y, {}, [=](int64_t r, int64_t n) {
    Sum acc;
    for (int64_t k = 0; k < 8; ++k) acc.add(a(r, k) * b(n, k));
    return by(r) * acc.result();
  });
}

CONFORMANCE(row_scale, behind_a_value) {
  const auto x = c.matrix("x", 8);
  const auto b = c.fixed("b", 6, 8);
  const auto by = c.row("scale");
  const auto a = c.add(Load{.x = x.h});
  const auto y = c.add(Matmul{.a = a, .b = b.h}).then(RowScale{.by = by.h});
  c.output("y", y, {}, [=](int64_t r, int64_t n) {
    Sum acc;
    for (int64_t k = 0; k < 8; ++k) acc.add(x(r, k) * b(n, k));
    return by(r) * acc.result();
  });
}

}  // namespace cohort::test::conformance
