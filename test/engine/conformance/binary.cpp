#include "engine/conformance.h"

namespace cohort::test::conformance {

namespace {

// Numbers of both signs that bf16 holds, none of them 0.
double nonzero(const Position& p) {
  const auto i = p[0] * 10 + p[1];
  const double v = static_cast<double>(i * 5 % 31 + 1) / 4;
  return i % 3 == 0 ? -v : v;
}

// A true and a false one in every combination with what `nth` of the other matrix makes.
auto truths(int64_t nth) {
  return [nth](const Position& p) { return (p[0] * 10 + p[1]) / nth % 2 == 0 ? 0.0 : 1.5; };
}

// Two matrices in memory; f as the op has it, `swapped` taken into account.
template <class F>
void two(Case& c, BinaryMode mode, F f, bool swapped = false) {
  const auto x = c.matrix("x", 10);
  const auto y = c.matrix("by", 10, DType::bf16);
  c.fill_with(y, nonzero);
  if (mode == BinaryMode::logical_and || mode == BinaryMode::logical_or) {
    c.fill_with(x, truths(1));
    c.fill_with(y, truths(2));
  }
  const Binary op{.mode = mode, .by = y.h, .swapped = swapped};
  c.output(
      "y", c.add(Load{.x = x.h, .groups = c.groups()}).then(op), {},
      [=](int64_t r, int64_t n) { return swapped ? f(y(r, n), x(r, n)) : f(x(r, n), y(r, n)); });
}

// A product with an operand of some role.
template <class F>
void by(Case& c, const Arg& operand, F at) {
  const auto x = c.matrix("x", 10);
  const Binary op{.mode = BinaryMode::mul, .by = operand};
  c.output("y", c.add(Load{.x = x.h, .groups = c.groups()}).then(op), {},
           [=, t = c.tokens()](int64_t r, int64_t n) { return x(r, n) * at(*t, r, n); });
}

Near truth(bool b) { return Near(b ? 1.0 : 0.0); }

}  // namespace

CONFORMANCE(binary, add) {
  two(c, BinaryMode::add, [](Near a, Near b) { return a + b; });
}
CONFORMANCE(binary, sub) {
  two(c, BinaryMode::sub, [](Near a, Near b) { return a - b; });
}
CONFORMANCE(binary, sub_swapped) {
  two(
      c, BinaryMode::sub, [](Near a, Near b) { return a - b; }, true);
}
CONFORMANCE(binary, mul) {
  two(c, BinaryMode::mul, [](Near a, Near b) { return a * b; });
}
CONFORMANCE(binary, div) {
  two(c, BinaryMode::div, [](Near a, Near b) { return a / b; });
}
CONFORMANCE(binary, min) {
  two(c, BinaryMode::min, [](Near a, Near b) { return min(a, b); });
}
CONFORMANCE(binary, max) {
  two(c, BinaryMode::max, [](Near a, Near b) { return max(a, b); });
}
CONFORMANCE(binary, pow_swapped) {
  // A fixed base: by ^ x.
  const auto x = c.matrix("x", 10);
  const Binary op{.mode = BinaryMode::pow, .by = 1.5, .swapped = true};
  c.output("y", c.add(Load{.x = x.h, .groups = c.groups()}).then(op), {},
           [=](int64_t r, int64_t n) {
             const double v = std::pow(1.5, x(r, n).v);
             return std::isnan(v) ? Near(v) : Near(v, 16 * kUnit * v);
           });
}
CONFORMANCE(binary, mod) {
  two(c, BinaryMode::mod, [](Near a, Near b) { return Near(std::fmod(a.v, b.v)); });
}
CONFORMANCE(binary, add_square) {
  two(c, BinaryMode::add_square, [](Near a, Near b) { return a + b * b; });
}
CONFORMANCE(binary, logical_and) {
  two(c, BinaryMode::logical_and, [](Near a, Near b) { return truth(a.v != 0 && b.v != 0); });
}
CONFORMANCE(binary, logical_or) {
  two(c, BinaryMode::logical_or, [](Near a, Near b) { return truth(a.v != 0 || b.v != 0); });
}

CONFORMANCE(binary, by_number) {
  by(c, 0.75, [](const Tokens&, int64_t, int64_t) { return Near(0.75); });
}
CONFORMANCE(binary, by_scalar) {
  const auto s = c.scalar("s", 1.5, DType::bf16);
  by(c, s.h, [=](const Tokens&, int64_t, int64_t) { return s(0); });
}
CONFORMANCE(binary, by_row) {
  const auto v = c.row("v", DType::bf16);
  by(c, v.h, [=](const Tokens&, int64_t r, int64_t) { return v(r); });
}
CONFORMANCE(binary, by_column) {
  const auto v = c.column("v", 10, DType::bf16);
  by(c, v.h, [=](const Tokens&, int64_t, int64_t n) { return v(n); });
}
CONFORMANCE(binary, by_group) {
  const auto v = c.group_vec("v", 3);
  by(c, v.h, [=](const Tokens& t, int64_t r, int64_t) { return v(t.group(r)); });
}
CONFORMANCE(binary, by_group_row) {
  const auto v = c.group_mat("v", 3, 10, DType::f16);
  by(c, v.h, [=](const Tokens& t, int64_t r, int64_t n) { return v(t.group(r), n); });
}
// Every role in the types that it has.
CONFORMANCE(binary, by_row_f16) {
  const auto v = c.row("v", DType::f16);
  by(c, v.h, [=](const Tokens&, int64_t r, int64_t) { return v(r); });
}
CONFORMANCE(binary, by_column_f16) {
  const auto v = c.column("v", 10, DType::f16);
  by(c, v.h, [=](const Tokens&, int64_t, int64_t n) { return v(n); });
}
CONFORMANCE(binary, by_group_f16) {
  const auto v = c.group_vec("v", 3, DType::f16);
  by(c, v.h, [=](const Tokens& t, int64_t r, int64_t) { return v(t.group(r)); });
}
CONFORMANCE(binary, by_matrix_with_strides) {
  const auto v = c.matrix("v", 10, DType::f16, {.strides = {1, 4096}});
  by(c, v.h, [=](const Tokens&, int64_t r, int64_t n) { return v(r, n); });
}
CONFORMANCE(binary, by_value) {
  const auto v = c.matrix("v", 10);
  by(c, c.add(Load{.x = v.h}), [=](const Tokens&, int64_t r, int64_t n) { return v(r, n); });
}
CONFORMANCE(binary, by_expert_of_more_groups) {
  const auto x = c.matrix("x", 10);
  const auto w = c.weights("w", 2, 10, 10);
  const auto v = c.group_vec("v", 2);
  const auto y = c.add(GroupedGemm{.a = x.h, .b = w.h, .groups = c.groups({.count = 4})})
                     .then(Binary{.mode = BinaryMode::mul, .by = v.h});
  c.output("y", y, {}, [=, t = c.tokens()](int64_t r, int64_t n) {
    const int64_t e = t->group(r) % 2;
    Sum acc;
    for (int64_t k = 0; k < 10; ++k) acc.add(x(r, k) * w(e, n, k));
    return acc.result() * v(e);
  });
}

}  // namespace cohort::test::conformance
