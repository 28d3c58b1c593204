// The calls of a training step for one group that has all rows (a shared expert, a dense layer),
// written as plain products: no offsets are bound, and the rows are those of the tensors. And T = 0
// with the strides that callers hand over then. check_call runs the calls of the other files with
// groups of form whole, which bind nothing either: weights and gradients dense, behind pointers and
// added up, MXFP8 and NVFP4.
#include "engine/call_case.h"

namespace cohort::test::conformance {
namespace {

constexpr int64_t kK = 64, kFeatures = 64;
constexpr Format kFormat = Format::mxfp8_e4m3;

// sum_k a[r, k] b[n, k].
template <class A, class B>
Grid plain_product(const Case& c, A a, B b, int64_t n_count) {
  return remembered(c, n_count, [=](int64_t r, int64_t n) {
    Sum acc;
    for (int64_t k = 0; k < kK; ++k) acc.add(a(r, k) * b(n, k));
    return acc.result();
  });
}

void describe_f1(Case& c, const Activation& act, bool with_prob, Factors which = Factors::ones) {
  const int64_t n = act.inputs(kFeatures);
  const auto a = c.scaled("a", kK, kFormat);
  const auto b = c.scaled("b", kK, kFormat, {}, n);
  const auto alpha = factors(c, "alpha", DType::bf16, which, 1);
  const auto bias = c.group_mat("bias", 1, n, DType::bf16);
  const Value pre =
      c.add(Matmul{.a = a.h, .b = b.h}).then(Alpha{.by = alpha.h}).then(Bias{.by = bias.h});
  const Grid acc = plain_product(c, a, b, n);
  const Grid saved =
      remembered(c, n, [=](int64_t r, int64_t i) { return alpha(0) * acc(r, i) + bias(0, i); });
  c.output("c", pre, {.dtype = DType::bf16}, saved);
  Value y = act.is_gated ? pre.then(act.forward()) : pre.then(ReluSquared{});
  Grid d = [=](int64_t r, int64_t i) { return act.of(saved, r, i); };
  if (with_prob) {
    const auto p = c.row("prob", DType::bf16);
    y = y.then(RowGate{.by = p.h});
    d = [=](int64_t r, int64_t i) { return act.of(saved, r, i) * p(r); };
  }
  d = remembered(c, kFeatures, d);
  const Quantized q = y.then(Quantize{.to = kFormat, .axes = Axes::both});
  quantised_output(c, "d", q.row, d, kFeatures, Axes::row);
  quantised_output(c, "d_col", q.col, d, kFeatures, Axes::col);
  c.output("amax", y.then(Amax{.per = AmaxPer::tensor}), {}, [=, t = c.tokens()](int64_t) {
    Near m = 0.0;
    for (int64_t r = 0; r < t->rows; ++r) {
      for (int64_t i = 0; i < kFeatures; ++i) m = max(m, abs(d(r, i)));
    }
    return m;
  });
}

TEST(TrainingOneGroup, F1) {
  check_call("squared relu, unit scale", [](Case& c) { describe_f1(c, squared_relu(), false); });
  check_call("squared relu, prob", [](Case& c) { describe_f1(c, squared_relu(), true); });
  check_call("factor", [](Case& c) { describe_f1(c, squared_relu(), true, Factors::others); });
  check_call("swiglu, unit scale", [](Case& c) { describe_f1(c, swiglu(), false); });
  check_call("swiglu, prob", [](Case& c) { describe_f1(c, swiglu(), true, Factors::others); });
  check_call("clamped swiglu", [](Case& c) { describe_f1(c, clamped_swiglu(), true); });
  check_call("quick geglu", [](Case& c) { describe_f1(c, quick_geglu(), true); });
  check_call("situ", [](Case& c) { describe_f1(c, situ_glu(), false); });
}

TEST(TrainingOneGroup, F2) {
  check_call("bias times prob, wider buffer", [](Case& c) {
    const auto a = c.scaled("a", kK, kFormat);
    const auto b = c.scaled("b", kK, kFormat, {}, 96);
    const auto bias = c.group_mat("bias", 1, 96, DType::bf16);
    const auto p = c.row("prob", DType::bf16);
    const auto alpha = factors(c, "alpha", DType::bf16, Factors::others, 1);
    const Grid acc = plain_product(c, a, b, 96);
    c.output("d",
             c.add(Matmul{.a = a.h, .b = b.h})
                 .then(Alpha{.by = alpha.h})
                 .then(Bias{.by = bias.h, .scaled_by = p.h}),
             {.dtype = DType::bf16, .strides = {128, 1}},
             [=](int64_t r, int64_t n) { return alpha(0) * acc(r, n) + p(r) * bias(0, n); });
  });
}

// Both sides of every clamp, and 0.
double saved_number(const Position& p) {
  return static_cast<double>((p[0] * 37 + p[1] * 11) % 41 - 20) / 4;
}

// The outputs of B1: `d` is the gradient of `n` pre-activations, `h` the activation.
void expect_b1(Case& c, const Value& made, const Value& activation, int64_t n, const Grid& d,
               const Grid& h) {
  const Quantized q = made.then(Quantize{.to = kFormat, .axes = Axes::both});
  quantised_output(c, "d", q.row, d, n, Axes::row);
  quantised_output(c, "d_col", q.col, d, n, Axes::col);
  quantised_output(c, "d_srelu", activation.then(Quantize{.to = kFormat, .axes = Axes::col}).col, h,
                   kFeatures, Axes::col);
  c.output("dbias", made.then(DBias{}), {}, [=, t = c.tokens()](int64_t, int64_t i) {
    Sum sum;
    for (int64_t r = 0; r < t->rows; ++r) sum.add(d(r, i));
    return sum.result();
  });
}

struct B1 {
  Activation act{};
  bool with_prob = true;
  bool with_former = false;  ///< dprob holds something already.
  Factors alpha = Factors::ones;
};

void describe_b1(Case& c, const B1& s) {
  const Activation& act = s.act;
  const int64_t n = act.inputs(kFeatures);
  const auto a = c.scaled("a", kK, kFormat);
  const auto b = c.scaled("b", kK, kFormat, {}, kFeatures);
  const auto alpha = factors(c, "alpha", DType::bf16, s.alpha, 1);
  const auto stored = c.matrix("c", n, DType::bf16);
  c.fill_with(stored, saved_number);
  const Grid acc = plain_product(c, a, b, kFeatures);
  const Grid g = [=](int64_t r, int64_t i) { return alpha(0) * acc(r, i); };
  const Value y = c.add(Matmul{.a = a.h, .b = b.h}).then(Alpha{.by = alpha.h});
  const Value kept = c.add(Load{.x = stored.h});
  std::function<Near(int64_t)> p = [](int64_t) { return Near(1.0); };
  std::function<Near(int64_t)> before = [](int64_t) { return Near(0.0); };
  Maybe<RowVec> prob;
  Maybe<RowTerm> former;
  if (s.with_prob) {
    const auto row = c.row("prob");
    prob = row.h;
    p = row;
  }
  if (s.with_former) {
    const auto row = c.row("dprob_before");
    former = RowTerm(row.h);
    before = row;
  }
  const auto expect = [&](const Value& made, const Value& again, const RowVec& dprob,
                          const Grid& d) {
    const Grid h =
        remembered(c, kFeatures, [=](int64_t r, int64_t i) { return act.of(stored, r, i) * p(r); });
    expect_b1(c, made, again, n, d, h);
    if (!s.with_prob) return;
    c.output("dprob", dprob, {}, [=](int64_t r) {
      Sum sum;
      for (int64_t i = 0; i < kFeatures; ++i) sum.add(act.of(stored, r, i) * g(r, i));
      return sum.result() + before(r);
    });
  };
  if (!act.is_gated) {
    const DSrelu made = y.then(DReluSquared{.c = kept, .prob = prob, .dprob_add = former});
    return expect(made, made.d_srelu, made.dprob,
                  [=](int64_t r, int64_t i) { return g(r, i) * relu(stored(r, i)) * 2.0 * p(r); });
  }
  DGlu op = DGlu::of(act.forward(), kept);
  op.prob = prob;
  op.dprob_add = former;
  const DGated made = y.then(op);
  expect(made, made.act_out, made.dprob, remembered(c, n, [=](int64_t r, int64_t i) {
           const int64_t of = i / 64 * 32 + i % 32;
           const Parts k = act.parts(stored(r, act.gate(of)), stored(r, act.gate(of) + 32));
           const Near yp = g(r, of) * p(r);
           return i / 32 % 2 == 1 ? product(yp * k.left, k.d_right)
                                  : product(yp * k.right, k.d_left);
         }));
}

void check_b1(const char* name, const B1& s) {
  check_call(name, [&](Case& c) { describe_b1(c, s); });
}

TEST(TrainingOneGroup, B1) {
  check_b1("no prob", {.with_prob = false});
  check_b1("factor", {.with_former = true, .alpha = Factors::others});
}

TEST(TrainingOneGroup, GatedB1) {
  check_b1("swiglu, no prob", {.act = swiglu(), .with_prob = false});
  check_b1("swiglu, factor", {.act = swiglu(), .with_former = true, .alpha = Factors::others});
  check_b1("clamped swiglu", {.act = clamped_swiglu()});
  check_b1("quick geglu", {.act = quick_geglu()});
  check_b1("situ", {.act = situ_glu()});
}

// A columnwise matrix (rows, features): blocks along the rows, scales as those of its transposed.
// With strides (1, features) it is (features, rows) with blocks along its rows, which a plain
// product takes.
struct Columns {
  int64_t features;
  int64_t rows;
  std::vector<uint8_t> codes;
  std::vector<uint8_t> scales;

  Columns(int64_t features_, int64_t rows_, uint32_t seed) : features(features_), rows(rows_) {
    std::mt19937 random(seed);
    for (int64_t i = 0; i < rows * features; ++i) {
      const auto x = static_cast<uint32_t>(random());
      codes.push_back(static_cast<uint8_t>((x & 0x87) | (5 + (x >> 8 & 1)) << 3));
    }
    scales.assign(static_cast<size_t>(128 * ((rows + 127) / 128 * 4)), 0xFF);
    for (int64_t n = 0; n < features; ++n) {
      for (int64_t s = 0; s * 32 < rows; ++s) {
        scales[static_cast<size_t>(tiled_byte(n, s, (rows + 31) / 32))] =
            static_cast<uint8_t>(125 + (n * 7 + s * 3) % 5);
      }
    }
  }
  [[nodiscard]] double at(int64_t n, int64_t r) const {
    const uint8_t code = codes[static_cast<size_t>(r * features + n)];
    const uint8_t scale = scales[static_cast<size_t>(tiled_byte(n, r / 32, (rows + 31) / 32))];
    const double v = slow_value(slow_formats()[2], code & 0x7Fu);  // e4m3
    return (code > 127 ? -v : v) * std::ldexp(1.0, scale - 127);
  }
};

// B3: columnwise weights (N, K), stored as (K, N).
TEST(TrainingOneGroup, B3) {
  constexpr int64_t kN = 96;
  Builder g("b3");
  const Dim t = g.dynamic("T", 4096);
  g.output("d",
           g.add(Matmul{.a = g.scaled_input("a", {t, kK}, kFormat),
                        .b = g.scaled_input("b", {kN, kK}, kFormat, {.strides = {1, kN}})})
               .then(Alpha{.by = g.group_input("alpha", 1)}),
           {.dtype = DType::bf16, .strides = {128, 1}});
  const Graph graph = finish(g);
  for (const int64_t rows : {0, 1, 40}) {
    SCOPED_TRACE(rows);
    Bench bench(graph, {{"T", rows}});
    const Columns b(kN, kK, 4);
    const Columns a(rows, kK, 5);  // a is the transposed of one
    std::vector<uint8_t> tokens;
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t k = 0; k < kK; ++k) {
        tokens.push_back(a.codes[static_cast<size_t>(k * rows + r)]);
      }
    }
    bench.tensors.set("a", tokens);
    bench.tensors.set("a.scale", rows > 0 ? a.scales : std::vector<uint8_t>());
    bench.tensors.set("b", b.codes);
    bench.tensors.set("b.scale", b.scales);
    bench.tensors.set<float>("alpha", {0.75f});
    bench.run_well();
    const auto* d = bench.tensors.data<uint16_t>("d");
    for (int64_t i = 0; i < rows * kN; ++i) {
      Sum sum;
      for (int64_t k = 0; k < kK; ++k) sum.add(Near(a.at(i / kN, k)) * b.at(i % kN, k));
      const Near want = round_to(DType::bf16, sum.result() * 0.75);
      float got = 0;
      ASSERT_TRUE(decode(DType::bf16, reinterpret_cast<const std::byte*>(&d[i / kN * 128 + i % kN]),
                         1, &got));
      ASSERT_NEAR(static_cast<double>(got), want.v, want.e) << i;
    }
  }
}

// B2: the sum runs along the tokens.
TEST(TrainingOneGroup, B2) {
  constexpr int64_t kOut = 48, kIn = 40;
  for (const bool with_former : {false, true}) {
    Builder g("b2");
    const Dim t = g.dynamic("T", 4096);
    Value dw = g.add(Matmul{.a = g.scaled_input("a", {kOut, t}, kFormat, {.strides = {1, kOut}}),
                            .b = g.scaled_input("b", {kIn, t}, kFormat, {.strides = {1, kIn}})});
    if (with_former) {
      dw = dw.then(Add{.c = g.add(Load{.x = g.input("old", {kOut, kIn}, DType::f32)})});
    }
    g.output("dw", dw, {.dtype = DType::f32});
    const Graph graph = finish(g);
    for (const int64_t rows : {0, 33, 160}) {
      SCOPED_TRACE(rows);
      Bench bench(graph, {{"T", rows}});
      const Columns a(kOut, rows, 1);
      const Columns b(kIn, rows, 2);
      bench.tensors.set("a", a.codes);
      bench.tensors.set("b", b.codes);
      bench.tensors.set("a.scale", a.scales);
      bench.tensors.set("b.scale", b.scales);
      const std::vector<float> old = whole_numbers(kOut * kIn, 3);
      if (with_former) bench.tensors.set("old", old);
      bench.run_well();
      const auto got = bench.tensors.values<float>("dw");
      for (int64_t i = 0; i < kOut * kIn; ++i) {
        Sum sum;
        for (int64_t r = 0; r < rows; ++r) sum.add(Near(a.at(i / kIn, r)) * b.at(i % kIn, r));
        const Near want = with_former
                              ? sum.result() + static_cast<double>(old[static_cast<size_t>(i)])
                              : sum.result();
        ASSERT_NEAR(static_cast<double>(got[static_cast<size_t>(i)]), want.v, want.e) << i;
      }
    }
  }
}

// TE: 0 rows with strides (16, 1), whatever the shape would have; the gradient is 0, or stays.
TEST(TrainingNoRows, StridesOfNothingMeanNothing) {
  for (const ColStorage storage : {ColStorage::as_rows, ColStorage::transposed}) {
    for (const bool with_former : {false, true}) {
      Builder g("nothing");
      const Dim t = g.dynamic("T", 4096);
      const ScaledOptions columns{.axis = Axes::col, .storage = storage};
      GroupedWgrad op{.a = g.scaled_input("a", {t, 96}, kFormat, columns),
                      .b = g.scaled_input("b", {t, kK}, kFormat, columns),
                      .groups = g.groups("ends", 4, GroupForm::ends)};
      if (with_former) op.accumulate = g.weights("old", {4, 96, kK}, DType::f32);
      g.output("dw", g.add(op));
      Bench bench(finish(g), {{"T", 0}});
      for (const char* name : {"a", "b"}) {
        TensorView& v = bench.tensors.view(name);
        v.strides[0] = 16;
        v.strides[1] = 1;
        v.data = nullptr;
      }
      std::swap(bench.tensors.view("b").strides[0], bench.tensors.view("b").strides[1]);
      bench.tensors.set<int32_t>("ends", {0, 0, 0, 0});
      const std::vector<float> old = whole_numbers(4 * 96 * kK, 3);
      if (with_former) bench.tensors.set("old", old);
      bench.run_well();
      const auto dw = bench.tensors.values<float>("dw");
      expect_same_bits(dw, with_former ? old : std::vector<float>(dw.size(), 0));
    }
  }
}

}  // namespace
}  // namespace cohort::test::conformance
