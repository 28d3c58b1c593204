#include "engine/conformance.h"

namespace cohort::test::conformance {

namespace {

using At = std::function<Near(const Tokens&, int64_t, int64_t)>;

// A condition of zeros and others, NaN among them.
void choice(Case& c, const Arg& yes, At at_yes, const Arg& no, At at_no) {
  const auto x = c.matrix("condition", 10, DType::bf16);
  c.fill_with(x, [](const Position& p) { return static_cast<double>((p[0] * 3 + p[1]) % 3 - 1); });
  const Select op{.if_true = yes, .if_false = no};
  c.output("y", c.add(Load{.x = x.h, .groups = c.groups()}).then(op), {},
           [=, t = c.tokens()](int64_t r, int64_t n) {
             return x(r, n).v != 0 ? at_yes(*t, r, n) : at_no(*t, r, n);
           });
}

}  // namespace

CONFORMANCE(select, numbers) {
  choice(
      c, 2.5, [](auto&, int64_t, int64_t) { return Near(2.5); }, -1.0,
      [](auto&, int64_t, int64_t) { return Near(-1.0); });
}
CONFORMANCE(select, matrix_or_value) {
  const auto a = c.matrix("a", 10, DType::f16);
  const auto b = c.matrix("b", 10);
  choice(
      c, a.h, [=](auto&, int64_t r, int64_t n) { return a(r, n); },
      c.add(Load{.x = b.h, .groups = c.groups()}),
      [=](auto&, int64_t r, int64_t n) { return b(r, n); });
}
CONFORMANCE(select, value_or_matrix) {
  const auto a = c.matrix("a", 10);
  const auto b = c.matrix("b", 10);
  choice(
      c, c.add(Load{.x = a.h}), [=](auto&, int64_t r, int64_t n) { return a(r, n); }, b.h,
      [=](auto&, int64_t r, int64_t n) { return b(r, n); });
}
CONFORMANCE(select, row_or_column) {
  const auto a = c.row("a");
  const auto b = c.column("b", 10);
  choice(
      c, a.h, [=](auto&, int64_t r, int64_t) { return a(r); }, b.h,
      [=](auto&, int64_t, int64_t n) { return b(n); });
}
CONFORMANCE(select, column_or_row) {
  const auto a = c.column("a", 10);
  const auto b = c.row("b");
  choice(
      c, a.h, [=](auto&, int64_t, int64_t n) { return a(n); }, b.h,
      [=](auto&, int64_t r, int64_t) { return b(r); });
}
CONFORMANCE(select, group_or_group_row) {
  const auto a = c.group_vec("a", 3);
  const auto b = c.group_mat("b", 3, 10);
  choice(
      c, a.h, [=](auto& t, int64_t r, int64_t) { return a(t.group(r)); }, b.h,
      [=](auto& t, int64_t r, int64_t n) { return b(t.group(r), n); });
}
CONFORMANCE(select, group_row_or_group) {
  const auto a = c.group_mat("a", 3, 10);
  const auto b = c.group_vec("b", 3);
  choice(
      c, a.h, [=](auto& t, int64_t r, int64_t n) { return a(t.group(r), n); }, b.h,
      [=](auto& t, int64_t r, int64_t) { return b(t.group(r)); });
}
CONFORMANCE(select, scalars) {
  const auto a = c.scalar("a", 3);
  const auto b = c.scalar("b", -0.25, DType::bf16);
  choice(
      c, a.h, [=](auto&, int64_t, int64_t) { return a(0); }, b.h,
      [=](auto&, int64_t, int64_t) { return b(0); });
}

}  // namespace cohort::test::conformance
