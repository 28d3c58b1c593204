// The forward calls of an MXFP8 training step: F1 (FC1 and its activation) and F2 (FC2).
#include "engine/call_case.h"

namespace cohort::test::conformance {
namespace {

constexpr int64_t kK = 64, kFeatures = 64;
constexpr Format kFormat = Format::mxfp8_e4m3;

struct F1 {
  Activation act{};
  bool discrete = false;
  bool with_bias = true;
  Maybe<DType> prob = DType::bf16;  ///< The model's type; f32 for other recipes; or a unit scale.
  Strides saved_strides{};          ///< Of the pre-activation, in a wider buffer of the caller.
  GroupsSpec groups{.form = GroupForm::ends};
  Factors alpha = Factors::ones;
};

// The columns of one call: c in bf16, d by rows and by columns, scales of columns an expert.
void describe(Case& c, const F1& f) {
  const int64_t n = f.act.inputs(kFeatures);
  const auto a = c.scaled("a", kK, kFormat);
  const CallWeights b = call_weights(c, "b", n, kK, kFormat, f.discrete);
  const auto alpha = factors(c, "alpha", DType::bf16, f.alpha);
  const auto t = c.tokens();
  Value pre = c.add(GroupedGemm{.a = a.h, .b = b.h, .groups = c.groups(f.groups)})
                  .then(Alpha{.by = alpha.h});
  const Grid acc = product_of(c, a, b, n, kK);
  Grid saved = [=](int64_t r, int64_t i) { return alpha(t->group(r)) * acc(r, i); };
  if (f.with_bias) {
    const auto bias = c.group_mat("bias", c.experts(), n, DType::bf16);
    pre = pre.then(Bias{.by = bias.h});
    saved = [=](int64_t r, int64_t i) {
      return alpha(t->group(r)) * acc(r, i) + bias(t->group(r), i);
    };
  }
  saved = remembered(c, n, saved);
  c.output("c", pre, {.dtype = DType::bf16, .strides = f.saved_strides}, saved);
  Value y = f.act.is_gated ? pre.then(f.act.forward()) : pre.then(ReluSquared{});
  Grid d = [=](int64_t r, int64_t i) { return f.act.of(saved, r, i); };
  if (f.prob) {
    const auto p = c.row("prob", *f.prob);
    y = y.then(RowGate{.by = p.h});
    d = [=](int64_t r, int64_t i) { return f.act.of(saved, r, i) * p(r); };
  }
  d = remembered(c, kFeatures, d);
  const auto norm = c.scalar("norm_const", 1);
  const Quantized q = y.then(Quantize{.to = kFormat, .axes = Axes::both, .norm = norm.h});
  quantised_output(c, "d", q.row, d, kFeatures, Axes::row);
  quantised_output(c, "d_col", q.col, d, kFeatures, Axes::col);
}

void check_f1(const char* name, const F1& f) {
  check_call(name, [&](Case& c) { describe(c, f); });
}

TEST(TrainingF1, SquaredRelu) {
  check_f1("dense", {});
  check_f1("discrete", {.discrete = true});
  check_f1("prob in f32, c in a wider buffer", {.prob = DType::f32, .saved_strides = {72, 1}});
  check_f1("no bias", {.with_bias = false});
  check_f1("no prob", {.prob = {}});
  check_f1("neither", {.with_bias = false, .prob = {}});
  check_f1("factors", {.alpha = Factors::others});
}

// Scales of columns of more than one 128-row atom an expert.
TEST(TrainingF1, GroupsOfManyRows) {
  check_f1("any number", {.groups = {.form = GroupForm::ends, .unit = 8}});
  check_f1("padded", {.discrete = true, .groups = {.form = GroupForm::ends, .multiple = 128}});
}

TEST(TrainingF1, GatedActivations) {
  check_f1("swiglu", {.act = swiglu()});
  check_f1("swiglu, discrete, f32", {.act = swiglu(), .discrete = true, .prob = DType::f32});
  check_f1("swiglu, no bias", {.act = swiglu(), .with_bias = false, .prob = {}});
  check_f1("clamped swiglu", {.act = clamped_swiglu(), .saved_strides = {160, 1}});
  check_f1("quick geglu", {.act = quick_geglu()});
  check_f1("swiglu, factors", {.act = swiglu(), .alpha = Factors::others});
  check_f1("situ", {.act = situ_glu(), .discrete = true});
}

struct F2 {
  bool discrete = false;
  bool with_bias = true;
  Maybe<DType> prob = DType::bf16;  ///< Scales the bias only.
  Major major = Major::k;
  Strides strides{};  ///< Of D, in the caller's buffer.
  Tail tail = Tail::leave;
  Factors alpha = Factors::ones;
};

void describe(Case& c, const F2& f) {
  constexpr int64_t kN = 96;
  const auto a = c.scaled("a", kFeatures, kFormat);
  const CallWeights b = call_weights(c, "b", kN, kFeatures, kFormat, f.discrete, f.major);
  const auto alpha = factors(c, "alpha", DType::bf16, f.alpha);
  const auto t = c.tokens();
  Value y = c.add(GroupedGemm{.a = a.h, .b = b.h, .groups = c.groups({.form = GroupForm::ends})})
                .then(Alpha{.by = alpha.h});
  const Grid acc = product_of(c, a, b, kN, kFeatures);
  Grid d = [=](int64_t r, int64_t n) { return alpha(t->group(r)) * acc(r, n); };
  if (f.with_bias && f.prob) {
    const auto bias = c.group_mat("bias", c.experts(), kN, DType::bf16);
    const auto p = c.row("prob", *f.prob);
    y = y.then(Bias{.by = bias.h, .scaled_by = p.h});
    d = [=, x = d](int64_t r, int64_t n) { return x(r, n) + p(r) * bias(t->group(r), n); };
  } else if (f.with_bias) {
    const auto bias = c.group_mat("bias", c.experts(), kN, DType::bf16);
    y = y.then(Bias{.by = bias.h});
    d = [=, x = d](int64_t r, int64_t n) { return x(r, n) + bias(t->group(r), n); };
  }
  c.output("d", y, {.dtype = DType::bf16, .tail = f.tail, .strides = f.strides}, d);
}

void check_f2(const char* name, const F2& f) {
  check_call(name, [&](Case& c) { describe(c, f); });
}

TEST(TrainingF2, IntoTheBufferOfTheCaller) {
  check_f2("dense", {});
  check_f2("discrete, wider buffer", {.discrete = true, .strides = {128, 1}});
  check_f2("prob in f32", {.prob = DType::f32, .strides = {104, 1}, .tail = Tail::zero});
  check_f2("bias alone", {.prob = {}});
  check_f2("no bias", {.with_bias = false, .tail = Tail::zero});
  check_f2("factors", {.alpha = Factors::others});
}

// The same call gives the gradient of the tokens (B3): columnwise weights, no bias.
TEST(TrainingB3, IntoTheBufferOfTheCaller) {
  check_f2("dense", {.with_bias = false, .major = Major::n});
  check_f2("factors", {.with_bias = false, .major = Major::n, .alpha = Factors::others});
  check_f2("discrete, wider buffer",
           {.discrete = true, .with_bias = false, .major = Major::n, .strides = {128, 1}});
}

}  // namespace
}  // namespace cohort::test::conformance
