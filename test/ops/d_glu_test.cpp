// Gated activations backwards: masks and rounding by hand, gradients against differences in f64,
// dprob as the router needs it.
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include <cohort/numerics.h>

#include "engine/gemm_case.h"
#include "fixtures/findings.h"

namespace cohort::test {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr double kNone = std::numeric_limits<double>::infinity();

struct Results {
  std::vector<float> d, dprob, act;
};

// One row a probability; y has `count` columns.
Results run(const Glu& forward, const std::vector<float>& y, const std::vector<float>& c,
            const std::vector<float>& prob, AccRound round = AccRound::none) {
  const auto rows = static_cast<int64_t>(prob.size());
  const int64_t count = static_cast<int64_t>(y.size()) / rows;
  Builder g("d_glu");
  const auto x = g.input("y", {rows, count}, DType::f32);
  const auto saved = g.input("c", {rows, 2 * count}, DType::f32);
  DGlu op = DGlu::of(forward, g.add(Load{.x = saved}));
  op.prob = g.row_input("prob", rows);
  op.acc_round = round;
  const DGated d = g.add(Load{.x = x}).then(op);
  g.output("d", d);
  g.output("dprob", d.dprob);
  g.output("act", d.act_out);
  Bench bench(finish(g));
  bench.tensors.set("y", y);
  bench.tensors.set("c", c);
  bench.tensors.set("prob", prob);
  bench.run_well();
  return {bench.tensors.values<float>("d"), bench.tensors.values<float>("dprob"),
          bench.tensors.values<float>("act")};
}

struct Parameters {
  double alpha = 1, beta = 0, limit = kNone, b1 = 0, b2 = 0;
};

// The forward in f64.
double activation(const Parameters& k, double g, double u) {
  if (k.b1 > 0) {
    return k.b1 * std::tanh(g / k.b1) / (1 + std::exp(-g)) * (k.b2 * std::tanh(u / k.b2));
  }
  g = std::min(g, k.limit);
  u = std::max(std::min(u, k.limit), -k.limit);
  return g / (1 + std::exp(-k.alpha * g)) * (u + k.beta);
}

// cudnn-frontend#568, #1144: gradients at and beyond the clamp, with a factor an expert.
TEST(DGlu, ClampMasksAndAlphaIsAFactor) {
  const std::vector<float> points{-8, -7, 0, 6.999f, 7, 7.001f, 8};
  const float factors[] = {2, -0.5f};
  std::vector<float> c;
  for (float gate : points) {
    for (float up : points) c.insert(c.end(), {gate, up});
  }
  const auto count = static_cast<int64_t>(c.size() / 2);
  Builder g("clamped");
  const auto ends = g.groups("ends", 2, GroupForm::ends);
  const auto x = g.input("x", {2, 1}, DType::f32);
  const auto w = g.weights("w", {2, count, 1}, DType::f32);
  const auto saved = g.input("c", {2, 2 * count}, DType::f32);
  const auto y = g.add(GroupedGemm{.a = x, .b = w, .groups = ends})
                     .then(Alpha{.by = g.group_input("alpha", 2)});
  const DGated d =
      y.then(DGlu::of(Glu::gpt_oss(Packing::interleaved), g.add(Load{.x = saved, .groups = ends})));
  g.output("d", d);
  g.output("dprob", d.dprob);
  Bench bench(finish(g));
  bench.tensors.set<float>("x", {1, 1});
  bench.tensors.set("w", std::vector<float>(static_cast<size_t>(2 * count), 3));
  bench.tensors.set<float>("alpha", {factors[0], factors[1]});
  bench.tensors.set<int32_t>("ends", {1, 2});
  std::vector<float> both = c;
  both.insert(both.end(), c.begin(), c.end());
  bench.tensors.set("c", both);
  bench.run_well();
  const auto got = bench.tensors.values<float>("d");
  const Parameters k{static_cast<double>(1.702f), 1, 7, 0, 0};
  for (size_t e = 0; e < 2; ++e) {
    const double upstream = 3 * static_cast<double>(factors[e]);
    double dprob = 0;
    for (size_t i = 0; i < c.size() / 2; ++i) {
      const auto gate = static_cast<double>(c[2 * i]);
      const auto up = static_cast<double>(c[2 * i + 1]);
      const float d_gate = got[e * c.size() + 2 * i];
      const float d_up = got[e * c.size() + 2 * i + 1];
      // At the limit the gradient passes: it is the one-sided difference from inside.
      const double h = 1e-6;
      const double inside = gate == 7 ? 0 : h;
      const double by_gate =
          (activation(k, gate + inside, up) - activation(k, gate - h, up)) / (inside + h);
      const double above = up == 7 ? 0 : h;
      const double below = up == -7 ? 0 : h;
      const double by_up =
          (activation(k, gate, up + above) - activation(k, gate, up - below)) / (above + below);
      if (gate > 7) {
        EXPECT_EQ(d_gate, 0) << gate << " " << up;
      } else {
        EXPECT_NEAR(d_gate, upstream * by_gate, 1e-4) << gate << " " << up;
      }
      if (std::fabs(up) > 7) {
        EXPECT_EQ(d_up, 0) << gate << " " << up;
      } else {
        EXPECT_NEAR(d_up, upstream * by_up, 1e-4) << gate << " " << up;
        if (gate != 0) {
          EXPECT_NE(d_up, 0) << gate << " " << up;
        }
      }
      dprob += upstream * activation(k, gate, up);
    }
    EXPECT_NEAR(bench.tensors.values<float>("dprob")[e], dprob, 1e-4 * std::fabs(dprob));
  }
}

// cudnn-frontend#1187: exact masks, and the accumulator rounded to bf16 before the derivative.
TEST(DGlu, MasksRoundingAndRecomputedActivation) {
  const std::vector<float> points{-11, -10, 0, 10, 11};
  std::vector<float> c;
  for (float gate : points) {
    for (float up : points) c.insert(c.end(), {gate, up});
  }
  const std::vector<float> y(c.size() / 2, 1.00390625f);  // 1 + 2^-8: a tie of bf16
  const Glu forward = Glu::clamped(Packing::interleaved, 10.0f);
  const Results plain = run(forward, y, c, {0.5f});
  const Results rounded = run(forward, y, c, {0.5f}, AccRound::bf16);
  const Results one = run(forward, std::vector<float>(y.size(), 1.0f), c, {0.5f});
  expect_same_bits(rounded.d, one.d);
  expect_same_bits(rounded.dprob, one.dprob);
  EXPECT_NE(plain.d, one.d);
  expect_same_bits(plain.act, one.act);
  const Parameters k{1, 0, 10, 0, 0};
  for (size_t i = 0; i < c.size() / 2; ++i) {
    const float gate = c[2 * i];
    const float up = c[2 * i + 1];
    const double act = activation(k, static_cast<double>(gate), static_cast<double>(up));
    EXPECT_NEAR(plain.act[i], 0.5 * act, 1e-6 * (1 + std::fabs(act)));
    const bool gate_passes = gate <= 10 && up != 0 && gate != 0;
    if (gate_passes) {
      EXPECT_NE(plain.d[2 * i], 0) << gate << " " << up;
    }
    if (gate > 10) {
      EXPECT_EQ(plain.d[2 * i], 0) << gate << " " << up;
    }
    const bool up_passes = up >= -10 && up <= 10;
    EXPECT_EQ(plain.d[2 * i + 1] != 0, up_passes && gate != 0) << gate << " " << up;
    // y enters as a factor: 1.00390625 where it is not rounded.
    EXPECT_NEAR(plain.d[2 * i + 1], 1.00390625 * static_cast<double>(one.d[2 * i + 1]), 1e-5);
  }
}

TEST(DGlu, RoundingOfTheAccumulatorIsToNearestEven) {
  const std::vector<float> y{1.00390625f, 1.01171875f, -1.0039064f, 3.4e38f, kNan, 1e-40f};
  const std::vector<float> want{
      1, 1.015625f, -1.0078125f, std::numeric_limits<float>::infinity(), kNan, 0x1p-133f};
  std::vector<float> c;
  for (size_t i = 0; i < y.size(); ++i) c.insert(c.end(), {1, 1});
  const Glu forward{.act = GluAct::swiglu, .packing = Packing::interleaved, .alpha = 0.0f};
  const Results got = run(forward, y, c, {1.0f}, AccRound::bf16);
  for (size_t i = 0; i < y.size(); ++i) {
    const float d_up = got.d[2 * i + 1];  // y / 2
    if (std::isnan(want[i])) {
      EXPECT_TRUE(std::isnan(d_up));
    } else {
      EXPECT_EQ(d_up, want[i] * 0.5f) << i;
    }
  }
}

struct GluGradient : ::testing::TestWithParam<std::tuple<int, Packing>> {};

TEST_P(GluGradient, EqualsTheFiniteDifference) {
  const auto [which, packing] = GetParam();
  const auto f = [](double x) { return static_cast<float>(x); };
  const double of_geglu = static_cast<double>(1.702f);
  const Parameters sets[] = {{1, 0, kNone, 0, 0},  {of_geglu, 1, 7, 0, 0}, {1, 0, 2, 0, 0},
                             {1, 0, kNone, 4, 25}, {1, 0, kNone, 0.5, 2},  {of_geglu, 1, 7, 0, 0},
                             {0.5, 0.25, 3, 0, 0}};
  const Parameters k = sets[which];
  const bool is_geglu = which >= 5;
  Glu forward{.act = GluAct::swiglu, .packing = packing};
  if (is_geglu) forward.act = GluAct::geglu;
  if (k.b1 > 0) {
    forward.act = GluAct::situ;
    forward.gate_bound = f(k.b1);
    forward.up_bound = f(k.b2);
  } else if (which != 5) {  // 5: the defaults of geglu
    forward.alpha = f(k.alpha);
    forward.beta = f(k.beta);
    forward.limit = f(k.limit);
  }
  constexpr int64_t kCount = 64, kRows = 6;
  std::mt19937 random(17);
  std::normal_distribution<float> normal(0, 3);
  std::vector<float> y(kRows * kCount), split(2 * y.size()), prob(kRows);
  for (float& v : y) v = normal(random);
  for (float& v : split) v = normal(random);
  for (float& v : prob) v = normal(random);
  std::vector<float> c(split.size());
  const GluMatrix m{.dtype = DType::f32, .outer = kRows, .features = 2 * kCount};
  ASSERT_TRUE(pack_glu(packing, m, reinterpret_cast<const std::byte*>(split.data()),
                       reinterpret_cast<std::byte*>(c.data())));
  const Results packed = run(forward, y, c, prob);
  std::vector<float> d(c.size());
  ASSERT_TRUE(unpack_glu(packing, m, reinterpret_cast<const std::byte*>(packed.d.data()),
                         reinterpret_cast<std::byte*>(d.data())));
  const double h = 1e-6;
  for (size_t r = 0; r < kRows; ++r) {
    double dprob = 0;
    double size = 0;
    for (size_t i = 0; i < kCount; ++i) {
      const size_t gate_at = r * 2 * kCount + i;
      const auto g = static_cast<double>(split[gate_at]);
      const auto u = static_cast<double>(split[gate_at + kCount]);
      const auto upstream = static_cast<double>(y[r * kCount + i]);
      const double yp = upstream * static_cast<double>(prob[r]);
      const double by_gate = (activation(k, g + h, u) - activation(k, g - h, u)) / (2 * h);
      const double by_up = (activation(k, g, u + h) - activation(k, g, u - h)) / (2 * h);
      const double act = activation(k, g, u);
      EXPECT_NEAR(d[gate_at], yp * by_gate, 1e-5 * (1 + std::fabs(yp * act) + std::fabs(yp)));
      EXPECT_NEAR(d[gate_at + kCount], yp * by_up, 1e-5 * (1 + std::fabs(yp * by_up)));
      const double gated = act * static_cast<double>(prob[r]);
      EXPECT_NEAR(packed.act[r * kCount + i], gated, 1e-6 * (1 + std::fabs(gated)));
      dprob += upstream * act;
      size += std::fabs(upstream * act);
    }
    EXPECT_NEAR(packed.dprob[r], dprob, 1e-6 * size);
  }
}

INSTANTIATE_TEST_SUITE_P(All, GluGradient,
                         ::testing::Combine(::testing::Range(0, 7),
                                            ::testing::Values(Packing::split, Packing::interleaved,
                                                              Packing::bands8, Packing::bands32)));

// A layer's second half and its backward: dprob must be the gradient of the router's weight, with
// and without an FC2 bias: <dO, p * (act W2^T + b2)> differentiated by p.
TEST(DGlu, DprobEqualsTheProductOfOutputAndItsGradient) {
  constexpr int64_t kRows = 7, kD = 5, kN = 6;
  Builder g("dprob");
  const auto ends = g.groups("ends", 2, GroupForm::ends);
  const auto token = g.index("token", kRows);
  const auto d_out = g.input("d_out", {3, kD}, DType::f32);
  const auto w2t = g.weights("w2t", {2, kN, kD}, DType::f32);
  const auto b2 = g.weights("b2", {2, 1, kD}, DType::f32);
  const auto saved = g.input("c", {kRows, 2 * kN}, DType::f32);
  DGlu op = DGlu::of({.act = GluAct::swiglu, .packing = Packing::split},
                     g.add(Load{.x = saved, .groups = ends}));
  op.dprob_add = RowTerm(g.add(GroupedGemm{.a = d_out, .b = b2, .groups = ends, .gather = token}));
  const DGated d =
      g.add(GroupedGemm{.a = d_out, .b = w2t, .groups = ends, .gather = token}).then(op);
  g.output("dprob", d.dprob);
  Bench bench(finish(g));
  const auto dy = whole_numbers(3 * kD, 1);
  const auto w = whole_numbers(2 * kN * kD, 2);
  const auto b = whole_numbers(2 * kD, 3);
  const auto c = whole_numbers(kRows * 2 * kN, 4);
  const std::vector<int32_t> tokens{2, 0, 1, 1, 2, 0, 0};
  bench.tensors.set("d_out", dy);
  bench.tensors.set("w2t", w);
  bench.tensors.set("b2", b);
  bench.tensors.set("c", c);
  bench.tensors.set("token", tokens);
  bench.tensors.set<int32_t>("ends", {3, 7});
  bench.run_well();
  const auto dprob = bench.tensors.values<float>("dprob");
  for (size_t r = 0; r < kRows; ++r) {
    const size_t e = r < 3 ? 0 : 1;
    double sum = 0;
    for (size_t i = 0; i < kD; ++i) {
      double out = static_cast<double>(b[e * kD + i]);
      for (size_t n = 0; n < kN; ++n) {
        out += activation({}, static_cast<double>(c[r * 2 * kN + n]),
                          static_cast<double>(c[r * 2 * kN + kN + n])) *
               static_cast<double>(w[(e * kN + n) * kD + i]);
      }
      sum += out * static_cast<double>(dy[static_cast<size_t>(tokens[r]) * kD + i]);
    }
    EXPECT_NEAR(dprob[r], sum, 1e-5 * (1 + std::fabs(sum))) << r;
  }
}

// flashinfer#3559: a row's bits do not depend on its neighbours.
TEST(DGlu, RowsAloneAndAmongOthersAreTheSame) {
  constexpr int64_t kN = 40;
  std::mt19937 random(29);
  std::normal_distribution<float> normal;
  std::vector<float> y(64 * kN), c(2 * y.size()), p(64);
  for (std::vector<float>* v : {&y, &c, &p}) {
    for (float& e : *v) e = normal(random);
  }
  const Glu forward{.act = GluAct::geglu, .packing = Packing::interleaved};
  const Results all = run(forward, y, c, p);
  y.resize(8 * kN);
  c.resize(16 * kN);
  p.resize(8);
  const Results few = run(forward, y, c, p);
  expect_same_bits(few.d, {all.d.begin(), all.d.begin() + 16 * kN});
  expect_same_bits(few.dprob, {all.dprob.begin(), all.dprob.begin() + 8});
  expect_same_bits(few.act, {all.act.begin(), all.act.begin() + 8 * kN});
}

TEST(DGlu, MistakesAreFound) {
  Builder g("wrong");
  const auto x = g.add(Load{.x = g.input("x", {4, 8}, DType::f32)});
  const auto wide = g.add(Load{.x = g.input("wide", {4, 16}, DType::f32)});
  const auto other = g.add(Load{.x = g.input("other", {5, 16}, DType::f32)});
  const auto n = g.dynamic("N", 64);
  const auto named = g.add(Load{.x = g.input("named", {4, n}, DType::f32)});
  const auto prob = g.row_input("prob", 3);
  const auto swiglu = GluAct::swiglu;
  const auto split = Packing::split;
  g.output("a", x.then(DGlu{.c = x, .act = swiglu, .packing = split}));
  g.output("b", x.then(DGlu{.c = other, .act = swiglu, .packing = split}));
  g.output("c", x.then(DGlu{.c = wide, .act = swiglu, .packing = Packing::bands32}));
  g.output("d", named.then(DGlu{.c = wide, .act = swiglu, .packing = split}));
  g.output("e", x.then(DGlu{.c = wide, .act = swiglu, .packing = split, .prob = prob}));
  g.output("f", x.then(DGlu{.c = wide, .act = swiglu, .packing = split, .gate_bound = 2.0f}));
  g.output("g", x.then(DGlu{.c = wide, .act = swiglu, .packing = split, .dprob_add = RowTerm(x)}));
  const Findings f = std::move(g).finish().findings();
  const char* wanted[7][2] = {{"E-SHAPE", "c"},        {"E-SHAPE", "c"},
                              {"E-SHAPE", "c"},        {"E-SHAPE", "in"},
                              {"E-SHAPE", "prob"},     {"E-ATTRIBUTE", "gate_bound"},
                              {"E-SHAPE", "dprob_add"}};
  ASSERT_EQ(f.size(), 7) << f.text();
  for (int i = 0; i < 7; ++i) {
    EXPECT_EQ(f[i].op, "d_glu") << f.text();
    EXPECT_EQ(f[i].code, wanted[i][0]) << f.text();
    EXPECT_EQ(f[i].field, wanted[i][1]) << f.text();
  }
}

}  // namespace
}  // namespace cohort::test
