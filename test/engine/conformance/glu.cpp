#include "engine/conformance.h"

namespace cohort::test::conformance {

namespace {

constexpr int64_t kHalf = 64;  // a multiple of every band

// Where gate i stands, and how far behind it its up.
struct Layout {
  int64_t band;
  [[nodiscard]] int64_t gate(int64_t i) const { return i / band * 2 * band + i % band; }
  [[nodiscard]] int64_t up(int64_t i) const { return gate(i) + band; }
};

// y of gate g and up u, by the given formula.
template <class F>
void one(Case& c, const Glu& op, int64_t band, const OutputOptions& options, F y) {
  const auto x = c.matrix("x", 2 * kHalf);
  c.fill_with(x, [](const Position& p) {  // on both sides of a clamp at 7
    return static_cast<double>((p[0] * 37 + p[1] * 11) % 41 - 20) / 2;
  });
  const Layout at{band};
  c.output("y", c.add(Load{.x = x.h, .groups = c.groups()}).then(op), options,
           [=](int64_t r, int64_t n) { return y(x(r, at.gate(n)), x(r, at.up(n))); });
}

Near clamped_gate(Near g, double limit) { return min(g, limit); }
Near clamped_up(Near u, double limit) { return max(min(u, limit), -limit); }

}  // namespace

CONFORMANCE(glu, swiglu_split) {
  one(c, {.act = GluAct::swiglu, .packing = Packing::split}, kHalf, {},
      [](Near g, Near u) { return sigmoid(g) * g * u; });
}

CONFORMANCE(glu, swiglu_gpt_oss_interleaved) {
  one(c, Glu::gpt_oss(Packing::interleaved), 1, {.dtype = DType::bf16}, [](Near g, Near u) {
    g = clamped_gate(g, 7);
    return sigmoid(Near(static_cast<double>(1.702f)) * g) * g * (clamped_up(u, 7) + 1.0);
  });
}

CONFORMANCE(glu, swiglu_clamped_bands8) {
  one(c, Glu::clamped(Packing::bands8, 2.0f), 8, {.tail = Tail::zero}, [](Near g, Near u) {
    g = clamped_gate(g, 2);
    return sigmoid(g) * g * clamped_up(u, 2);
  });
}

CONFORMANCE(glu, geglu_bands32) {
  one(c, {.act = GluAct::geglu, .packing = Packing::bands32}, 32, {}, [](Near g, Near u) {
    g = clamped_gate(g, 7);
    return sigmoid(Near(static_cast<double>(1.702f)) * g) * g * (clamped_up(u, 7) + 1.0);
  });
}

CONFORMANCE(glu, situ) {
  one(c, {.act = GluAct::situ, .packing = Packing::split, .gate_bound = 3.0f, .up_bound = 5.0f},
      kHalf, {},
      [](Near g, Near u) { return 3.0 * tanh(g / 3.0) * sigmoid(g) * (5.0 * tanh(u / 5.0)); });
}

CONFORMANCE(glu, with_gate_of_a_product) {
  const auto x = c.matrix("x", 9);
  const auto w = c.weights("w", 3, 8, 9);
  const auto p = c.row("p", DType::bf16);
  const auto y = c.add(GroupedGemm{.a = x.h, .b = w.h, .groups = c.groups()})
                     .then(Glu{.act = GluAct::swiglu, .packing = Packing::split})
                     .then(RowGate{.by = p.h});
  c.output("y", y, {}, [=, t = c.tokens()](int64_t r, int64_t n) {
    Sum gate, up;
    for (int64_t k = 0; k < 9; ++k) {
      gate.add(x(r, k) * w(t->group(r), n, k));
      up.add(x(r, k) * w(t->group(r), n + 4, k));
    }
    return p(r) * (sigmoid(gate.result()) * gate.result() * up.result());
  });
}

}  // namespace cohort::test::conformance
