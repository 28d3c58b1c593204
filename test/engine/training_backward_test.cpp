// The backward call of an MXFP8 training step through FC2 and the activation: B1.
#include "engine/call_case.h"

namespace cohort::test::conformance {
namespace {

constexpr int64_t kK = 64, kFeatures = 64;
constexpr Format kFormat = Format::mxfp8_e4m3;

struct B1 {
  Activation act{};
  bool discrete = false;
  bool with_bias = true;  ///< FC1 has a bias: its gradient is an output.
  bool with_prob = true;
  bool with_former = false;  ///< dprob holds something already.
  bool with_reuse = false;   ///< The activation comes out again, by columns only.
  Format gradient = kFormat;
  DType d_bias = DType::f32;
  Factors alpha = Factors::ones;
  Factors beta = Factors::ones;  ///< Of gated calls only.
};

// What went into the activation: both sides of every clamp, bf16.
double saved_number(const Position& p) {
  return static_cast<double>((p[0] * 37 + p[1] * 11) % 41 - 20) / 4;
}

// Gradient of the pre-activation, by the definition.
Grid gradient_of(const Activation& act, const Grid& y, const Grid& saved,
                 const std::function<Near(int64_t)>& p) {
  return [=](int64_t r, int64_t n) -> Near {
    if (!act.is_gated) return y(r, n) * relu(saved(r, n)) * 2.0 * p(r);
    const int64_t i = n / 64 * 32 + n % 32;
    const Parts k = act.parts(saved(r, act.gate(i)), saved(r, act.gate(i) + 32));
    const Near yp = y(r, i) * p(r);
    return n / 32 % 2 == 1 ? product(yp * k.left, k.d_right) : product(yp * k.right, k.d_left);
  };
}

// What the op is given, for either kind of activation.
struct Recorded {
  Value d;
  RowVec dprob;
  Value activation;
};
Recorded record(const B1& b, const Value& y, const Value& saved, const Maybe<RowVec>& prob,
                const Maybe<RowTerm>& former) {
  if (!b.act.is_gated) {
    const DSrelu d = y.then(DReluSquared{.c = saved, .prob = prob, .dprob_add = former});
    return {d, d.dprob, d.d_srelu};
  }
  DGlu op = DGlu::of(b.act.forward(), saved);
  op.prob = prob;
  op.dprob_add = former;
  const DGated d = y.then(op);
  return {d, d.dprob, d.act_out};
}

void describe(Case& c, const B1& b) {
  const int64_t n = b.act.inputs(kFeatures);
  const auto a = c.scaled("a", kK, b.gradient);
  const CallWeights w = call_weights(c, "b", kFeatures, kK, kFormat, b.discrete, Major::n);
  const auto alpha = factors(c, "alpha", DType::bf16, b.alpha);
  const auto t = c.tokens();
  const auto groups = c.groups({.form = GroupForm::ends});
  const auto stored = c.matrix("c", n, DType::bf16);
  c.fill_with(stored, saved_number);
  Value kept = c.add(Load{.x = stored.h, .groups = groups});
  Grid saved = stored;
  if (b.act.is_gated) {  // the wrapper of gated ones has a factor an expert for c too
    const auto beta = factors(c, "beta", DType::bf16, b.beta);
    kept = kept.then(Binary{.mode = BinaryMode::mul, .by = beta.h});
    saved = [=](int64_t r, int64_t i) { return stored(r, i) * beta(t->group(r)); };
  }
  const Value y =
      c.add(GroupedGemm{.a = a.h, .b = w.h, .groups = groups}).then(Alpha{.by = alpha.h});
  const Grid acc = product_of(c, a, w, kFeatures, kK);
  const Grid g = [=](int64_t r, int64_t i) { return alpha(t->group(r)) * acc(r, i); };
  std::function<Near(int64_t)> p = [](int64_t) { return Near(1.0); };
  Maybe<RowVec> prob;
  Maybe<RowTerm> former;
  std::function<Near(int64_t)> before = [](int64_t) { return Near(0.0); };
  if (b.with_prob) {
    const auto row = c.row("prob");
    prob = row.h;
    p = row;
  }
  if (b.with_former) {
    const auto row = c.row("dprob_before");
    former = RowTerm(row.h);
    before = row;
  }
  const Recorded made = record(b, y, kept, prob, former);
  const Grid d = remembered(c, n, gradient_of(b.act, g, saved, p));
  if (b.with_prob) {
    c.output("dprob", made.dprob, {}, [=, act = b.act](int64_t r) {
      Sum sum;
      for (int64_t i = 0; i < kFeatures; ++i) sum.add(act.of(saved, r, i) * g(r, i));
      return sum.result() + before(r);
    });
  }
  const Quantized q = made.d.then(Quantize{.to = kFormat, .axes = Axes::both});
  quantised_output(c, "d", q.row, d, n, Axes::row);
  quantised_output(c, "d_col", q.col, d, n, Axes::col);
  if (b.with_bias) {
    c.output("dbias", made.d.then(DBias{}), {.dtype = b.d_bias}, [=](int64_t e, int64_t i) {
      Sum sum;
      const Range& range = t->ranges[static_cast<size_t>(e)];
      for (int64_t r = range.begin; r < range.begin + range.rows; ++r) sum.add(d(r, i));
      return sum.result();
    });
  }
  if (b.with_reuse) {
    const Quantized again = made.activation.then(Quantize{.to = kFormat, .axes = Axes::col});
    const Grid h = [=, act = b.act](int64_t r, int64_t i) { return act.of(saved, r, i) * p(r); };
    quantised_output(c, "d_srelu", again.col, h, kFeatures, Axes::col);
  }
}

void check_b1(const char* name, const B1& b) {
  check_call(name, [&](Case& c) { describe(c, b); });
}

TEST(TrainingB1, SquaredRelu) {
  check_b1("dense", {});
  check_b1("discrete, reuse", {.discrete = true, .with_reuse = true});
  check_b1("no bias, reuse", {.with_bias = false, .with_reuse = true});
  check_b1("no prob", {.with_prob = false, .d_bias = DType::bf16});
  check_b1("dprob added to", {.with_former = true});
  check_b1("gradients in e5m2", {.gradient = Format::mxfp8_e5m2});
  check_b1("factors", {.with_reuse = true, .alpha = Factors::others});
}

TEST(TrainingB1, GatedActivations) {
  check_b1("swiglu", {.act = swiglu()});
  check_b1("swiglu, discrete", {.act = swiglu(), .discrete = true, .d_bias = DType::bf16});
  check_b1("swiglu, nothing", {.act = swiglu(), .with_bias = false, .with_prob = false});
  check_b1("clamped swiglu", {.act = clamped_swiglu(), .with_former = true});
  check_b1("quick geglu", {.act = quick_geglu(), .gradient = Format::mxfp8_e5m2});
  check_b1("situ", {.act = situ_glu()});
  check_b1("swiglu, alpha", {.act = swiglu(), .alpha = Factors::others});
  check_b1("swiglu, beta", {.act = swiglu(), .with_reuse = true, .beta = Factors::others});
  check_b1("activation again", {.act = swiglu(), .with_reuse = true});
}

}  // namespace
}  // namespace cohort::test::conformance
