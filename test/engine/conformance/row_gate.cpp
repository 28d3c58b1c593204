#include "engine/conformance.h"

namespace cohort::test::conformance {

CONFORMANCE(row_gate, f32) {
  const auto x = c.matrix("x", 10);
  const auto p = c.row("p");
  const auto y = c.add(Load{.x = x.h, .groups = c.groups()}).then(RowGate{.by = p.h});
  c.output("y", y, {}, [=](int64_t r, int64_t n) { return p(r) * x(r, n); });
}

CONFORMANCE(row_gate, bf16) {
  const auto x = c.matrix("x", 7, DType::bf16);
  const auto p = c.row("p", DType::bf16);
  const auto y = c.add(Load{.x = x.h}).then(RowGate{.by = p.h});
  c.output("y", y, {.dtype = DType::bf16}, [=](int64_t r, int64_t n) { return p(r) * x(r, n); });
}

}  // namespace cohort::test::conformance
