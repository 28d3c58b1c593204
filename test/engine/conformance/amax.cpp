#include "engine/conformance.h"

namespace cohort::test::conformance {

namespace {

// The largest magnitude of columns begin .. end - 1 of rows of one group, or of all (-1).
Near largest(const Data<Tensor>& x, const Tokens& t, int64_t group, int64_t begin, int64_t end) {
  Near m = 0.0;
  for (int64_t r = 0; r < t.rows; ++r) {
    const int64_t g = t.group(r);
    if (g < 0 || (group >= 0 && g != group)) continue;
    for (int64_t n = begin; n < end; ++n) m = max(m, abs(x(r, n)));
  }
  return m;
}

}  // namespace

CONFORMANCE(amax, tensor) {
  const auto x = c.matrix("x", 10);
  c.output("y", c.add(Load{.x = x.h, .groups = c.groups()}).then(Amax{.per = AmaxPer::tensor}), {},
           [=, t = c.tokens()](int64_t) { return largest(x, *t, -1, 0, 10); });
}

CONFORMANCE(amax, expert) {
  const auto x = c.matrix("x", 10);
  c.output("y", c.add(Load{.x = x.h, .groups = c.groups()}).then(Amax{.per = AmaxPer::expert}), {},
           [=, t = c.tokens()](int64_t g) { return largest(x, *t, g, 0, 10); });
}

CONFORMANCE(amax, expert_half) {
  const auto x = c.matrix("x", 10);
  const auto y = c.add(Load{.x = x.h, .groups = c.groups({.form = GroupForm::slots})})
                     .then(Amax{.per = AmaxPer::expert_half});
  c.output("y", y, {}, [=, t = c.tokens()](int64_t g, int64_t half) {
    return largest(x, *t, g, half * 5, half * 5 + 5);
  });
}

}  // namespace cohort::test::conformance
