#include "engine/conformance.h"

namespace cohort::test::conformance {

CONFORMANCE_REFUSED(cast, to, "e3m2 e2m3 e2m1 e8m0 i32 i64");

namespace {

// Numbers that none of the types holds, past the largest of fp8 and f16 among them.
double awkward(const Position& p) {
  const double v = std::ldexp(1.0 + static_cast<double>(p[0] * 37 + p[1] * 11) / 1013,
                              static_cast<int>(p[0] * 5 + p[1] * 3) % 40 - 20);
  return round_to(DType::f32, (p[0] + p[1]) % 2 == 0 ? v : -v);
}

// What the output shows is the rounding of the cast, not its own: it is f32 after one more op.
void plain(Case& c, DType type) {
  const auto x = c.matrix("x", 10);
  c.fill_with(x, awkward);
  const auto y = c.add(Load{.x = x.h, .groups = c.groups()})
                     .then(Cast{.to = type})
                     .then(Unary{.mode = UnaryMode::identity});
  c.output("y", y, {}, [=](int64_t r, int64_t n) { return round_to(type, x(r, n)); });
}

void stored(Case& c, DType type) {
  const auto x = c.matrix("x", 10);
  c.fill_with(x, awkward);
  const auto y = c.add(Load{.x = x.h, .groups = c.groups()}).then(Cast{.to = type});
  c.output("y", y, {}, [=](int64_t r, int64_t n) { return round_to(type, x(r, n)); });
}

void given_scale(Case& c, DType type, DType scale_type) {
  const auto x = c.matrix("x", 10);
  c.fill_with(x, awkward);
  const auto s = c.scalar("scale", 0.6875, scale_type);
  const auto y = c.add(Load{.x = x.h, .groups = c.groups()}).then(Cast{.to = type, .scale = s.h});
  c.output("y", y, {}, [=](int64_t r, int64_t n) {
    // One rounding to f32, then one to the type: no freedom.
    return round_to(type, Near(round_to(DType::f32, x(r, n).v * 0.6875)));
  });
}

}  // namespace

CONFORMANCE(cast, f32) { plain(c, DType::f32); }
CONFORMANCE(cast, f16) { plain(c, DType::f16); }
CONFORMANCE(cast, bf16) { plain(c, DType::bf16); }
CONFORMANCE(cast, e4m3) { stored(c, DType::e4m3); }
CONFORMANCE(cast, e5m2) { stored(c, DType::e5m2); }
CONFORMANCE(cast, e4m3_given_scale) { given_scale(c, DType::e4m3, DType::f32); }
CONFORMANCE(cast, e5m2_given_bf16_scale) { given_scale(c, DType::e5m2, DType::bf16); }

}  // namespace cohort::test::conformance
