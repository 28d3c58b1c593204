#include "engine/conformance.h"

namespace cohort::test::conformance {

namespace {

// The largest magnitude in the columns that `counts` picks of rows of one group, or of all (-1).
Near largest(const Data<Tensor>& x, const Tokens& t, int64_t group,
             const std::function<bool(int64_t)>& counts) {
  Near m = 0.0;
  for (int64_t r = 0; r < t.rows; ++r) {
    const int64_t g = t.group(r);
    if (g < 0 || (group >= 0 && g != group)) continue;
    for (int64_t n = 0; n < x.stored->extents[1]; ++n) {
      if (counts(n)) m = max(m, abs(x(r, n)));
    }
  }
  return m;
}

bool every(int64_t) { return true; }

// Gate, then up, in bands of this many.
void halves(Case& c, int64_t features, int64_t band, Packing packing) {
  const auto x = c.matrix("x", features);
  // The largest of a half is its last column: each packing has others.
  c.fill_with(x, [](const Position& p) {
    const auto magnitude = static_cast<double>(p[1] + 1 + p[0] % 3) / 4;
    return (p[0] + p[1]) % 2 == 0 ? magnitude : -magnitude;
  });
  const auto y = c.add(Load{.x = x.h, .groups = c.groups({.form = GroupForm::slots})})
                     .then(Amax{.per = AmaxPer::expert_half, .packing = packing});
  c.output("y", y, {}, [=, t = c.tokens()](int64_t g, int64_t half) {
    return largest(x, *t, g, [=](int64_t n) { return n / band % 2 == half; });
  });
}

}  // namespace

CONFORMANCE(amax, tensor) {
  const auto x = c.matrix("x", 10);
  c.output("y", c.add(Load{.x = x.h, .groups = c.groups()}).then(Amax{.per = AmaxPer::tensor}), {},
           [=, t = c.tokens()](int64_t) { return largest(x, *t, -1, every); });
}

CONFORMANCE(amax, expert) {
  const auto x = c.matrix("x", 10);
  c.output("y", c.add(Load{.x = x.h, .groups = c.groups()}).then(Amax{.per = AmaxPer::expert}), {},
           [=, t = c.tokens()](int64_t g) { return largest(x, *t, g, every); });
}

CONFORMANCE(amax, expert_half) { halves(c, 10, 5, Packing::split); }
CONFORMANCE(amax, expert_half_interleaved) { halves(c, 10, 1, Packing::interleaved); }
CONFORMANCE(amax, expert_half_bands8) { halves(c, 48, 8, Packing::bands8); }
CONFORMANCE(amax, expert_half_bands32) { halves(c, 128, 32, Packing::bands32); }

}  // namespace cohort::test::conformance
