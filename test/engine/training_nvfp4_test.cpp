// The calls of a training step in NVFP4: factors of experts from the maxima of both operands, d in
// bf16 with maxima before and after the Hadamard transform, gradients of weights from ragged
// columns with outer scales.
#include "engine/call_case.h"

namespace cohort::test::conformance {
namespace {

constexpr int64_t kK = 64, kFeatures = 64;
constexpr Format kFormat = Format::nvfp4;

// amax_a * amax_b / (448 * 6)^2 of made-up maxima, or the square root of it.
Data<GroupVec> alpha_of(Case& c, bool is_root) {
  const auto v = c.group_vec("alpha", c.experts());
  c.fill_with(v, [=](const Position& p) {
    const double maxima = (300 + 50 * static_cast<double>(p[0])) * 1000;
    const double product = maxima / (2688.0 * 2688.0);
    return round_to(DType::f32, is_root ? std::sqrt(product) : product);
  });
  return v;
}

Near largest(const Grid& x, const Tokens& t, int64_t group, int64_t features) {
  Near m = 0.0;
  const Range& range = t.ranges[static_cast<size_t>(group)];
  for (int64_t r = range.begin; r < range.begin + range.rows; ++r) {
    for (int64_t n = 0; n < features; ++n) m = max(m, abs(x(r, n)));
  }
  return m;
}

// x through bf16, times Sylvester's matrix of 16 over 4, through bf16.
Grid transformed(const Case& c, const Grid& x, Axes axis) {
  return [=, t = c.tokens()](int64_t r, int64_t n) {
    const int64_t at = axis == Axes::row ? n : t->row_in_group(r);
    Sum s;
    for (int64_t j = 0; j < 16; ++j) {
      const int64_t other = at / 16 * 16 + j;
      const Near v = axis == Axes::row ? x(r, other) : x(r - at + other, n);
      const bool is_odd = __builtin_popcountll(static_cast<uint64_t>(at % 16 & j)) % 2 != 0;
      s.add(is_odd ? -round_to(DType::bf16, v) : round_to(DType::bf16, v));
    }
    return round_to(DType::bf16, s.result() * 0.25);
  };
}

struct F1 {
  Activation act{};
  bool discrete = false;
  Maybe<Axes> hadamard{};
};

void describe(Case& c, const F1& f) {
  const int64_t n = f.act.inputs(kFeatures);
  const auto a = c.scaled("a", kK, kFormat);
  const CallWeights b = call_weights(c, "b", n, kK, kFormat, f.discrete);
  const auto alpha = alpha_of(c, false);
  const auto bias = c.group_mat("bias", c.experts(), n, DType::bf16);
  const auto p = c.row("prob");
  const auto t = c.tokens();
  const auto groups = c.groups({.form = GroupForm::ends, .multiple = 16});
  const Value pre = c.add(GroupedGemm{.a = a.h, .b = b.h, .groups = groups})
                        .then(Alpha{.by = alpha.h})
                        .then(Bias{.by = bias.h});
  const Grid acc = product_of(c, a, b, n, kK);
  const Grid saved = remembered(c, n, [=](int64_t r, int64_t i) {
    return alpha(t->group(r)) * acc(r, i) + bias(t->group(r), i);
  });
  c.output("c", pre, {.dtype = DType::bf16}, saved);
  const Value y =
      (f.act.is_gated ? pre.then(f.act.forward()) : pre.then(ReluSquared{})).then(RowGate{p.h});
  const Grid d =
      remembered(c, kFeatures, [=](int64_t r, int64_t i) { return f.act.of(saved, r, i) * p(r); });
  c.output("d", y, {.dtype = DType::bf16}, d);
  c.output("amax", y.then(Amax{.per = AmaxPer::expert}), {},
           [=](int64_t g) { return largest(d, *t, g, kFeatures); });
  if (!f.hadamard) return;
  const Value turned = y.then(Hadamard{.axis = *f.hadamard, .round_through = DType::bf16});
  const Grid h = transformed(c, d, *f.hadamard);
  c.output("amax_turned", turned.then(Amax{.per = AmaxPer::expert}), {},
           [=](int64_t g) { return largest(h, *t, g, kFeatures); });
}

TEST(TrainingNvfp4, F1) {
  const auto check = [](const char* name, const F1& f) {
    check_call(name, [&](Case& c) { describe(c, f); });
  };
  check("squared relu", {});
  check("squared relu, hadamard of tokens", {.discrete = true, .hadamard = Axes::col});
  check("swiglu, hadamard of features", {.act = swiglu(), .hadamard = Axes::row});
  check("quick geglu", {.act = quick_geglu(), .discrete = true});
}

// F2, and B3 with columnwise weights, which are stored (E, N, K) as well: D in bf16.
TEST(TrainingNvfp4, F2AndB3) {
  for (const bool with_bias : {true, false}) {
    check_call(with_bias ? "F2" : "B3", [&](Case& c) {
      const auto a = c.scaled("a", kK, kFormat);
      const CallWeights b = call_weights(c, "b", 96, kK, kFormat, !with_bias);
      const auto alpha = alpha_of(c, false);
      const auto t = c.tokens();
      Value y =
          c.add(GroupedGemm{.a = a.h, .b = b.h, .groups = c.groups({.form = GroupForm::ends})})
              .then(Alpha{.by = alpha.h});
      const Grid acc = product_of(c, a, b, 96, kK);
      Grid d = [=](int64_t r, int64_t n) { return alpha(t->group(r)) * acc(r, n); };
      if (with_bias) {
        const auto bias = c.group_mat("bias", c.experts(), 96, DType::bf16);
        const auto p = c.row("prob");
        y = y.then(Bias{.by = bias.h, .scaled_by = p.h});
        d = [=, x = d](int64_t r, int64_t n) { return x(r, n) + p(r) * bias(t->group(r), n); };
      }
      c.output("d", y, {.dtype = DType::bf16, .strides = {112, 1}}, d);
    });
  }
}

double saved_number(const Position& p) {
  return static_cast<double>((p[0] * 37 + p[1] * 11) % 41 - 20) / 4;
}

// The gated backward is given the square root of the factor and applies it twice.
void describe_b1(Case& c, const Activation& act) {
  const int64_t n = act.inputs(kFeatures);
  const auto a = c.scaled("a", kK, kFormat);
  const CallWeights b = call_weights(c, "b", kFeatures, kK, kFormat, act.is_gated);
  const auto alpha = alpha_of(c, act.is_gated);
  const auto p = c.row("prob");
  const auto stored = c.matrix("c", n, DType::bf16);
  c.fill_with(stored, saved_number);
  const auto t = c.tokens();
  const auto groups = c.groups({.form = GroupForm::ends});
  const Value kept = c.add(Load{.x = stored.h, .groups = groups});
  const Value y = c.add(GroupedGemm{.a = a.h, .b = b.h, .groups = groups})
                      .then(Alpha{.by = alpha.h, .power = act.is_gated ? 2 : 1});
  const Grid acc = product_of(c, a, b, kFeatures, kK);
  const Grid g = [=](int64_t r, int64_t i) {
    const Near factor = alpha(t->group(r));
    return (act.is_gated ? factor * factor : factor) * acc(r, i);
  };
  const Grid d = remembered(c, n, [=](int64_t r, int64_t i) -> Near {
    if (!act.is_gated) return g(r, i) * relu(stored(r, i)) * 2.0 * p(r);
    const int64_t at = i / 64 * 32 + i % 32;
    const Parts k = act.parts(stored(r, act.gate(at)), stored(r, act.gate(at) + 32));
    const Near yp = g(r, at) * p(r);
    return i / 32 % 2 == 1 ? product(yp * k.left, k.d_right) : product(yp * k.right, k.d_left);
  });
  const auto dprob = [=](int64_t r) {
    Sum sum;
    for (int64_t i = 0; i < kFeatures; ++i) sum.add(act.of(stored, r, i) * g(r, i));
    return sum.result();
  };
  const auto dbias = [=](int64_t e, int64_t i) {
    Sum sum;
    const Range& range = t->ranges[static_cast<size_t>(e)];
    for (int64_t r = range.begin; r < range.begin + range.rows; ++r) sum.add(d(r, i));
    return sum.result();
  };
  const auto publish = [&](const Value& made, const RowVec& prob) {
    c.output("d", made, {.dtype = DType::bf16}, d);
    c.output("dprob", prob, {}, dprob);
    c.output("dbias", made.then(DBias{}), {}, dbias);
    c.output("amax", made.then(Amax{.per = AmaxPer::expert}), {},
             [=](int64_t e) { return largest(d, *t, e, n); });
  };
  if (act.is_gated) {
    DGlu op = DGlu::of(act.forward(), kept);
    op.prob = p.h;
    const DGated made = y.then(op);
    publish(made, made.dprob);
  } else {
    const DSrelu made = y.then(DReluSquared{.c = kept, .prob = p.h});
    publish(made, made.dprob);
  }
}

TEST(TrainingNvfp4, B1) {
  check_call("squared relu", [](Case& c) { describe_b1(c, squared_relu()); });
  check_call("swiglu, root of the factor", [](Case& c) { describe_b1(c, swiglu()); });
  check_call("clamped swiglu", [](Case& c) { describe_b1(c, clamped_swiglu()); });
}

void describe_b2(Case& c, ColStorage storage, bool with_former, DType main_grad) {
  const ScaledSpec spec{.axis = Axes::col, .storage = storage};
  const auto a = c.scaled("a", 96, kFormat, spec);
  const auto b = c.scaled("b", kK, kFormat, spec);
  const auto sa = c.group_vec("global_scale_a", c.experts());
  const auto sb = c.group_vec("global_scale_b", c.experts());
  GroupedWgrad op{.a = a.h,
                  .b = b.h,
                  .groups = c.groups({.form = GroupForm::ends, .multiple = 2, .unit = 5}),
                  .global_scale_a = sa.h,
                  .global_scale_b = sb.h};
  std::function<Near(int64_t, int64_t, int64_t)> old;
  if (with_former) {
    const auto w = c.weights("old", c.experts(), 96, kK, main_grad);
    op.accumulate = w.h;
    old = w;
  }
  c.output("dw", c.add(op), {.dtype = main_grad},
           [=, t = c.tokens()](int64_t e, int64_t i, int64_t j) -> Near {
             const Range& range = t->ranges[static_cast<size_t>(e)];
             if (range.rows == 0) return old ? old(e, i, j) : Near(0.0);
             Sum sum;
             for (int64_t r = range.begin; r < range.begin + range.rows; ++r) {
               sum.add(a(r, i) * b(r, j));
             }
             const Near x = sum.result() * sa(e) * sb(e);
             return old ? x + old(e, i, j) : x;
           });
}

TEST(TrainingNvfp4, B2) {
  check_call("ragged", [](Case& c) { describe_b2(c, ColStorage::ragged, false, DType::f32); });
  check_call("ragged, added to",
             [](Case& c) { describe_b2(c, ColStorage::ragged, true, DType::f32); });
  check_call("ragged, bf16",
             [](Case& c) { describe_b2(c, ColStorage::ragged, true, DType::bf16); });
  check_call("transposed",
             [](Case& c) { describe_b2(c, ColStorage::transposed, true, DType::f32); });
}

}  // namespace
}  // namespace cohort::test::conformance
