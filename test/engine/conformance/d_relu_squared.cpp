#include "engine/conformance.h"

namespace cohort::test::conformance {

namespace {

constexpr int64_t kN = 10;

// Outputs of a backward without clamp, from what went into the activation and the gradient.
template <class A, class G, class P, class T>
void expect(Case& c, const DSrelu& y, A a, G g, P p, T term) {
  c.output("d", y, {}, [=](int64_t r, int64_t n) { return g(r, n) * relu(a(r, n)) * 2.0 * p(r); });
  c.output("dprob", y.dprob, {.tail = Tail::zero}, [=](int64_t r) {
    Sum sum;
    for (int64_t n = 0; n < kN; ++n) sum.add(relu(a(r, n)) * relu(a(r, n)) * g(r, n));
    return sum.result() + term(r);
  });
  c.output("h", y.d_srelu, {.dtype = DType::bf16},
           [=](int64_t r, int64_t n) { return relu(a(r, n)) * relu(a(r, n)) * p(r); });
}

}  // namespace

CONFORMANCE(d_relu_squared, grad_acc) {
  const auto x = c.matrix("x", kN);
  const auto saved = c.matrix("c", kN, DType::bf16);
  const auto p = c.row("p");
  const auto groups = c.groups();
  const auto y =
      c.add(Load{.x = x.h, .groups = groups})
          .then(DReluSquared{.c = c.add(Load{.x = saved.h, .groups = groups}), .prob = p.h});
  expect(c, y, saved, x, p, [](int64_t) { return Near(0.0); });
}

CONFORMANCE(d_relu_squared, recompute_with_row_term) {
  const auto x = c.matrix("x", kN);
  const auto gradient = c.matrix("c", kN);
  const auto term = c.row("term", DType::bf16);
  const auto y = c.add(Load{.x = x.h, .groups = c.groups()})
                     .then(DReluSquared{.c = c.add(Load{.x = gradient.h}),
                                        .mode = DReluSquaredMode::recompute,
                                        .dprob_add = RowTerm(term.h)});
  expect(
      c, y, x, gradient, [](int64_t) { return Near(1.0); }, term);
}

CONFORMANCE(d_relu_squared, term_of_another_product) {
  const auto x = c.matrix("x", kN);
  const auto saved = c.matrix("c", kN);
  const auto p = c.row("p", DType::bf16);
  const auto w = c.weights("w", 3, 1, kN);
  const auto groups = c.groups();
  const auto term = c.add(GroupedGemm{.a = x.h, .b = w.h, .groups = groups});
  const auto y = c.add(Load{.x = x.h, .groups = groups})
                     .then(DReluSquared{
                         .c = c.add(Load{.x = saved.h}), .prob = p.h, .dprob_add = RowTerm(term)});
  expect(c, y, saved, x, p, [=, t = c.tokens()](int64_t r) {
    Sum sum;
    for (int64_t k = 0; k < kN; ++k) sum.add(x(r, k) * w(t->group(r), 0, k));
    return sum.result();
  });
}

CONFORMANCE(d_relu_squared, tanh_clamp) {
  const auto x = c.matrix("x", kN);
  const auto saved = c.matrix("c", kN);
  const auto y = c.add(Load{.x = x.h, .groups = c.groups()})
                     .then(DReluSquared{.c = c.add(Load{.x = saved.h}), .clamp = 1.5f});
  const auto t = [=](int64_t r, int64_t n) { return tanh(relu(saved(r, n)) / 1.5); };
  c.output("d", y, {}, [=](int64_t r, int64_t n) {
    const Near one = 1.0;
    return 2.0 * (1.5 * t(r, n)) * ((one - t(r, n)) * (one + t(r, n))) * x(r, n);
  });
  c.output("dprob", y.dprob, {.dtype = DType::bf16}, [=](int64_t r) {
    Sum sum;
    for (int64_t n = 0; n < kN; ++n) sum.add((1.5 * t(r, n)) * (1.5 * t(r, n)) * x(r, n));
    return sum.result();
  });
  c.output("h", y.d_srelu, {},
           [=](int64_t r, int64_t n) { return (1.5 * t(r, n)) * (1.5 * t(r, n)); });
}

}  // namespace cohort::test::conformance
