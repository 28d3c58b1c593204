#include "engine/conformance.h"

namespace cohort::test::conformance {

namespace {

template <class F>
Near over_rows(const Tokens& t, int64_t group, F term) {
  Sum s;
  for (int64_t r = 0; r < t.rows; ++r) {
    if (t.group(r) == group) s.add(term(r));
  }
  return s.result();
}

}  // namespace

CONFORMANCE(d_bias, plain) {
  const auto x = c.matrix("x", 10);
  c.output("y", c.add(Load{.x = x.h, .groups = c.groups()}).then(DBias{}), {},
           [=, t = c.tokens()](int64_t g, int64_t n) {
             return over_rows(*t, g, [&](int64_t r) { return x(r, n); });
           });
}
CONFORMANCE(d_bias, scaled_as_bf16) {
  const auto x = c.matrix("x", 10);
  const auto p = c.row("p", DType::bf16);
  const auto y = c.add(Load{.x = x.h, .groups = c.groups({.form = GroupForm::slots})})
                     .then(DBias{.scaled_by = p.h});
  c.output("y", y, {.dtype = DType::bf16}, [=, t = c.tokens()](int64_t g, int64_t n) {
    return over_rows(*t, g, [&](int64_t r) { return p(r) * x(r, n); });
  });
}
CONFORMANCE(d_bias, as_an_operand) {
  // One row a group of sums goes on as the bias of another value.
  const auto x = c.matrix("x", 10);
  const auto value = c.add(Load{.x = x.h, .groups = c.groups()});
  c.output("y", value.then(Bias{.by = value.then(DBias{})}), {},
           [=, t = c.tokens()](int64_t r, int64_t n) {
             return x(r, n) + over_rows(*t, t->group(r), [&](int64_t q) { return x(q, n); });
           });
}

}  // namespace cohort::test::conformance
