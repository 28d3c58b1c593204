#include "engine/conformance.h"

namespace cohort::test::conformance {

namespace {

// x with an operand of some role; numbers are whole, so many are equal.
template <class F, class At>
void by(Case& c, CompareMode mode, F relation, const Arg& operand, At at) {
  const auto x = c.matrix("x", 10);
  const Compare op{.mode = mode, .by = operand};
  c.output("y", c.add(Load{.x = x.h, .groups = c.groups()}).then(op), {},
           [=, t = c.tokens()](int64_t r, int64_t n) {
             return Near(relation(x(r, n).v, at(*t, r, n).v) ? 1.0 : 0.0);
           });
}

}  // namespace

CONFORMANCE(compare, eq_matrix) {
  const auto v = c.matrix("v", 10, DType::bf16);
  by(
      c, CompareMode::eq, [](double a, double b) { return a == b; }, v.h,
      [=](const Tokens&, int64_t r, int64_t n) { return v(r, n); });
}
CONFORMANCE(compare, ne_value) {
  const auto v = c.matrix("v", 10);
  by(
      c, CompareMode::ne, [](double a, double b) { return a != b; },
      c.add(Load{.x = v.h, .groups = c.groups()}),
      [=](const Tokens&, int64_t r, int64_t n) { return v(r, n); });
}
CONFORMANCE(compare, lt_row) {
  const auto v = c.row("v");
  by(
      c, CompareMode::lt, [](double a, double b) { return a < b; }, v.h,
      [=](const Tokens&, int64_t r, int64_t) { return v(r); });
}
CONFORMANCE(compare, le_column) {
  const auto v = c.column("v", 10);
  by(
      c, CompareMode::le, [](double a, double b) { return a <= b; }, v.h,
      [=](const Tokens&, int64_t, int64_t n) { return v(n); });
}
CONFORMANCE(compare, gt_group) {
  const auto v = c.group_vec("v", 3);
  by(
      c, CompareMode::gt, [](double a, double b) { return a > b; }, v.h,
      [=](const Tokens& t, int64_t r, int64_t) { return v(t.group(r)); });
}
CONFORMANCE(compare, ge_group_row) {
  const auto v = c.group_mat("v", 3, 10);
  by(
      c, CompareMode::ge, [](double a, double b) { return a >= b; }, v.h,
      [=](const Tokens& t, int64_t r, int64_t n) { return v(t.group(r), n); });
}
CONFORMANCE(compare, lt_number) {
  by(
      c, CompareMode::lt, [](double a, double b) { return a < b; }, 1.0,
      [](const Tokens&, int64_t, int64_t) { return Near(1.0); });
}
CONFORMANCE(compare, ge_scalar) {
  const auto s = c.scalar("s", 2);
  by(
      c, CompareMode::ge, [](double a, double b) { return a >= b; }, s.h,
      [=](const Tokens&, int64_t, int64_t) { return s(0); });
}

}  // namespace cohort::test::conformance
