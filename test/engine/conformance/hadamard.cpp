#include "engine/conformance.h"

namespace cohort::test::conformance {

CONFORMANCE_REFUSED(hadamard, axis, "both");
CONFORMANCE_REFUSED(hadamard, round_through, "f32 e4m3 e5m2 e3m2 e2m3 e2m1 e8m0 i32 i64");

namespace {

// Entry (i, j) of Sylvester's matrix: the parity of the bits that i and j share.
double sign(int64_t i, int64_t j) {
  double s = 1;
  for (int64_t both = i & j; both != 0; both &= both - 1) s = -s;
  return s;
}

// x(r, n) of a block, transformed; `step`: along features, or along the tokens of a group.
Near transformed(const Data<Tensor>& x, const Tokens& t, bool row, DType through, double factor,
                 int64_t r, int64_t n) {
  const int64_t at = row ? n : t.row_in_group(r);
  Sum s;
  for (int64_t j = 0; j < 16; ++j) {
    const int64_t other = at / 16 * 16 + j;
    const Near v = row ? x(r, other) : x(r - at + other, n);
    s.add(Near(sign(at % 16, j)) * round_to(through, v));
  }
  return round_to(through, s.result() * factor);
}

void whole(Case& c, const Hadamard& op) {
  const bool row = op.axis == Axes::row;
  const DType through = op.round_through ? *op.round_through : DType::f32;
  const auto x = c.matrix("x", 32);
  c.fill_with(x, [](const Position& p) {  // more bits than f16 has
    return static_cast<double>((p[0] * 1231 + p[1] * 4177) % 20001 - 10000) / 4096;
  });
  const auto groups = c.groups({.multiple = 16});
  c.output("y", c.add(Load{.x = x.h, .groups = groups}).then(op), {},
           [=, t = c.tokens(), factor = op.normalised ? 0.25 : 1.0](int64_t r, int64_t n) {
             return transformed(x, *t, row, through, factor, r, n);
           });
}

}  // namespace

CONFORMANCE(hadamard, row) { whole(c, {}); }
CONFORMANCE(hadamard, col) { whole(c, {.axis = Axes::col}); }
CONFORMANCE(hadamard, row_plain) { whole(c, {.normalised = false}); }
CONFORMANCE(hadamard, row_through_bf16) { whole(c, {.round_through = DType::bf16}); }
CONFORMANCE(hadamard, col_through_f16) {
  whole(c, {.axis = Axes::col, .round_through = DType::f16});
}

}  // namespace cohort::test::conformance
