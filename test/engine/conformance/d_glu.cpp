#include "engine/conformance.h"
#include "engine/gated.h"

namespace cohort::test::conformance {

namespace {

constexpr int64_t kHalf = 64;  // a multiple of every band

Near no_term(int64_t) { return 0.0; }

// Upstream gradients: more bits than bf16 has.
double fine(const Position& p) {
  return static_cast<double>((p[0] * 131 + p[1] * 577) % 2001 - 1000) / 256;
}
// Saved numbers on both sides of a clamp at 7; bf16 holds them.
double wide(const Position& p) {
  return static_cast<double>((p[0] * 37 + p[1] * 11) % 41 - 20) / 2;
}
// The gradient.
Data<Tensor> upstream(Case& c) {
  const auto x = c.matrix("x", kHalf);
  c.fill_with(x, fine);
  return x;
}

// All outputs of a backward: `y`, `p`, `term` by row; `parts` of a gate and an up.
template <class Y, class P, class T, class F>
void expect(Case& c, const DGated& d, const Data<Tensor>& saved, int64_t band, Y y, P p, T term,
            F parts) {
  const auto gate = [=](int64_t i) { return i / band * 2 * band + i % band; };
  const auto at = [=](int64_t r, int64_t i) {
    return parts(saved(r, gate(i)), saved(r, gate(i) + band));
  };
  c.output("d", d, {.tail = Tail::zero}, [=](int64_t r, int64_t n) {
    const int64_t i = n / (2 * band) * band + n % band;
    const bool is_up = n / band % 2 == 1;
    const Parts k = at(r, i);
    const Near yp = y(r, i) * p(r);
    return is_up ? product(yp * k.left, k.d_right) : product(yp * k.right, k.d_left);
  });
  c.output("dprob", d.dprob, {}, [=](int64_t r) {
    Sum sum;
    for (int64_t i = 0; i < kHalf; ++i) sum.add(y(r, i) * at(r, i).right * at(r, i).left);
    return sum.result() + term(r);
  });
  c.output("act", d.act_out, {.dtype = DType::bf16},
           [=](int64_t r, int64_t i) { return at(r, i).left * at(r, i).right * p(r); });
}

}  // namespace

CONFORMANCE(d_glu, swiglu_split) {
  const auto x = upstream(c);
  const auto saved = c.matrix("c", 2 * kHalf);
  const auto p = c.row("p");
  const auto term = c.row("term");
  const auto groups = c.groups();
  const Value s = c.add(Load{.x = saved.h, .groups = groups});
  const auto d = c.add(Load{.x = x.h, .groups = groups})
                     .then(DGlu{.c = s,
                                .act = GluAct::swiglu,
                                .packing = Packing::split,
                                .prob = p.h,
                                .dprob_add = RowTerm(term.h)});
  expect(c, d, saved, kHalf, x, p, term,
         [](Near g, Near u) { return gated(g, u, 1, 0, std::numeric_limits<double>::infinity()); });
}

CONFORMANCE(d_glu, gpt_oss_interleaved) {
  const auto x = upstream(c);
  const auto saved = c.matrix("c", 2 * kHalf, DType::bf16);
  c.fill_with(saved, wide);
  const auto p = c.row("p", DType::bf16);
  DGlu op = DGlu::of(Glu::gpt_oss(Packing::interleaved), c.add(Load{.x = saved.h}));
  op.prob = p.h;
  const auto d = c.add(Load{.x = x.h, .groups = c.groups()}).then(op);
  expect(c, d, saved, 1, x, p, no_term,
         [](Near g, Near u) { return gated(g, u, static_cast<double>(1.702f), 1, 7); });
}

CONFORMANCE(d_glu, clamped_bands8_without_prob) {
  const auto x = upstream(c);
  const auto saved = c.matrix("c", 2 * kHalf);
  const auto d =
      c.add(Load{.x = x.h, .groups = c.groups()})
          .then(DGlu::of(Glu::clamped(Packing::bands8, 2.0f), c.add(Load{.x = saved.h})));
  expect(
      c, d, saved, 8, x, [](int64_t) { return Near(1.0); }, no_term,
      [](Near g, Near u) { return gated(g, u, 1, 0, 2); });
}

CONFORMANCE(d_glu, geglu_bands32_rounded_accumulator) {
  const auto x = upstream(c);
  const auto saved = c.matrix("c", 2 * kHalf);
  c.fill_with(saved, wide);
  const auto d = c.add(Load{.x = x.h, .groups = c.groups()})
                     .then(DGlu{.c = c.add(Load{.x = saved.h}),
                                .act = GluAct::geglu,
                                .packing = Packing::bands32,
                                .acc_round = AccRound::bf16});
  expect(
      c, d, saved, 32, [=](int64_t r, int64_t n) { return Near(round_to(DType::bf16, x(r, n).v)); },
      [](int64_t) { return Near(1.0); }, no_term,
      [](Near g, Near u) { return gated(g, u, static_cast<double>(1.702f), 1, 7); });
}

CONFORMANCE(d_glu, situ_with_a_term_of_another_product) {
  const auto x = upstream(c);
  const auto saved = c.matrix("c", 2 * kHalf);
  const auto p = c.row("p");
  const auto w = c.weights("w", 3, 1, kHalf);
  const auto groups = c.groups();
  const auto term = c.add(GroupedGemm{.a = x.h, .b = w.h, .groups = groups});
  const auto d = c.add(Load{.x = x.h, .groups = groups})
                     .then(DGlu{.c = c.add(Load{.x = saved.h}),
                                .act = GluAct::situ,
                                .packing = Packing::split,
                                .gate_bound = 3.0f,
                                .up_bound = 5.0f,
                                .prob = p.h,
                                .dprob_add = RowTerm(term)});
  const auto sum = [=, t = c.tokens()](int64_t r) {
    Sum s;
    for (int64_t k = 0; k < kHalf; ++k) s.add(x(r, k) * w(t->group(r), 0, k));
    return s.result();
  };
  expect(c, d, saved, kHalf, x, p, sum, [](Near g, Near u) { return situ(g, u, 3, 5); });
}

}  // namespace cohort::test::conformance
