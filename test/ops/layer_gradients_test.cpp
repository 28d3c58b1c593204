// A whole layer with biases, where tokens choose how many experts they like: gather, FC1, SwiGLU,
// FC2, combine, and every gradient, against finite differences in f64.
#include <cmath>
#include <random>
#include <vector>

#include "engine/harness.h"

namespace cohort::test {
namespace {

constexpr int64_t kTokens = 7, kD = 8, kN = 4, kExperts = 4;

// Entries of token t: koff[t] .. koff[t + 1]. Token 2 has none, expert 2 gets none.
struct Choice {
  std::vector<int32_t> koff{0, 2, 3, 3, 6, 7, 9, 11};
  std::vector<int32_t> expert{1, 3, 0, 0, 3, 1, 3, 3, 0, 1, 3};  // by entry
  std::vector<int32_t> ends, scat, rev, tok, token;              // token: by entry

  Choice() : rev(expert.size()) {
    for (size_t t = 0; t + 1 < koff.size(); ++t) {
      token.resize(static_cast<size_t>(koff[t + 1]), static_cast<int32_t>(t));
    }
    for (int32_t e = 0; e < kExperts; ++e) {
      for (size_t i = 0; i < expert.size(); ++i) {
        if (expert[i] != e) continue;
        rev[i] = static_cast<int32_t>(scat.size());
        scat.push_back(static_cast<int32_t>(i));
        tok.push_back(token[i]);
      }
      ends.push_back(static_cast<int32_t>(scat.size()));
    }
  }
  [[nodiscard]] int64_t entries() const { return static_cast<int64_t>(expert.size()); }
};

struct Numbers {
  std::vector<double> x, w1, b1, w2, b2, s;  // w1 (E, 2n, d): gate and up of a feature side by side
};

std::vector<double> drawn(int64_t count, double deviation, std::mt19937& random) {
  std::normal_distribution<double> normal(0, deviation);
  std::vector<double> v(static_cast<size_t>(count));
  for (double& f : v) f = static_cast<float>(normal(random));
  return v;
}

double at(const std::vector<double>& v, int64_t i) { return v[static_cast<size_t>(i)]; }

// sum of c * o, o as the formulas say.
double loss(const Choice& choice, const Numbers& v, const std::vector<double>& c) {
  double sum = 0;
  for (int64_t i = 0; i < choice.entries(); ++i) {
    const int64_t e = choice.expert[static_cast<size_t>(i)];
    const int64_t t = choice.token[static_cast<size_t>(i)];
    std::vector<double> a(static_cast<size_t>(kN));
    for (int64_t j = 0; j < kN; ++j) {
      const auto half = [&](int64_t row) {
        double h = at(v.b1, e * 2 * kN + row);
        for (int64_t k = 0; k < kD; ++k) {
          h += at(v.w1, (e * 2 * kN + row) * kD + k) * at(v.x, t * kD + k);
        }
        return h;
      };
      const double gate = half(2 * j);
      a[static_cast<size_t>(j)] = gate / (1 + std::exp(-gate)) * half(2 * j + 1);
    }
    for (int64_t n = 0; n < kD; ++n) {
      double y = at(v.b2, e * kD + n);
      for (int64_t j = 0; j < kN; ++j) y += at(v.w2, (e * kD + n) * kN + j) * at(a, j);
      sum += at(v.s, i) * at(c, t * kD + n) * y;
    }
  }
  return sum;
}

Graph layer(const Choice& choice) {
  Builder g("layer");
  const Dim M = g.dynamic("M", 64);  // entries, and rows: as many
  const Dim T = g.dynamic("T", 64);
  const auto x = g.input("x", {T, kD}, DType::f32);
  const auto w1 = g.weights("w1", {kExperts, 2 * kN, kD}, DType::f32);
  const auto w2 = g.weights("w2", {kExperts, kD, kN}, DType::f32);
  // The same memory, read the other way round.
  const auto w1_t =
      g.weights("w1_t", {kExperts, kD, 2 * kN}, DType::f32, {.strides = {2 * kN * kD, 1, kD}});
  const auto w2_t =
      g.weights("w2_t", {kExperts, kN, kD}, DType::f32, {.strides = {kD * kN, 1, kN}});
  const auto b2 = g.group_matrix("b2", {kExperts, kD});
  const auto b2_row = g.weights("b2_row", {kExperts, 1, kD}, DType::f32);
  const auto s = g.input("s", {M}, DType::f32);
  const auto s_row = g.row_input("s_row", M);
  const auto d_out = g.input("d_out", {T, kD}, DType::f32);
  const auto ends = g.groups("ends", static_cast<int64_t>(choice.ends.size()), GroupForm::ends);
  const auto koff = g.groups("koff", T, GroupForm::boundaries);
  const auto tok = g.index("tok", M);
  const auto rev = g.index("rev", M);
  const auto scat = g.index("scat", M);
  const Glu act{.act = GluAct::swiglu, .packing = Packing::interleaved};

  const auto h = g.add(GroupedGemm{.a = x, .b = w1, .groups = ends, .gather = tok})
                     .then(Bias{.by = g.group_matrix("b1", {kExperts, 2 * kN})});
  const auto y = g.add(GroupedGemm{.a = h.then(act), .b = w2, .groups = ends}).then(Bias{.by = b2});
  g.output("o", g.add(Combine{.y = y, .rev = rev, .weights = s, .koff = koff}));

  // What a row adds to the gradient of its score through the bias of FC2.
  const auto through_b2 =
      g.add(GroupedGemm{.a = d_out, .b = b2_row, .groups = ends, .gather = tok});
  auto backward = DGlu::of(act, h);
  backward.prob = s_row;
  backward.dprob_add = RowTerm(through_b2);
  const auto dh =
      g.add(GroupedGemm{.a = d_out, .b = w2_t, .groups = ends, .gather = tok}).then(backward);
  g.output("ds", dh.dprob, {.scatter = scat, .rows = M});
  g.output("db1", dh.then(DBias{}));
  g.output("dx", g.add(Combine{.y = g.add(GroupedGemm{.a = dh, .b = w1_t, .groups = ends}),
                               .rev = rev,
                               .koff = koff}));
  g.output("dw1", g.add(GroupedWgrad{.a = dh, .b = x, .groups = ends, .gather_b = tok}));
  g.output("dw2",
           g.add(GroupedWgrad{.a = d_out, .b = dh.act_out, .groups = ends, .gather_a = tok}));
  g.output("db2",
           g.add(DCombine{.d_out = d_out, .scat = scat, .weights = s, .koff = koff, .groups = ends})
               .then(DBias{}));
  // The same scores' gradient the long way, from the rows of FC2.
  g.output("ds_of_y", g.add(DCombineWeights{.d_out = d_out, .y = y, .rev = rev, .koff = koff}));
  return finish(g);
}

void put(Tensors& t, const char* name, const std::vector<double>& v) {
  t.set(name, std::vector<float>(v.begin(), v.end()));
}

TEST(LayerGradients, WithBiasesAndAnyNumberOfExpertsAToken) {
  const Choice choice;
  std::mt19937 random(14);
  Numbers v{.x = drawn(kTokens * kD, 1, random),
            .w1 = drawn(kExperts * 2 * kN * kD, 0.25, random),
            .b1 = drawn(kExperts * 2 * kN, 1, random),
            .w2 = drawn(kExperts * kD * kN, 0.5, random),
            .b2 = drawn(kExperts * kD, 1, random),
            .s = drawn(choice.entries(), 1, random)};
  const std::vector<double> c = drawn(kTokens * kD, 1, random);
  Bench bench(layer(choice), {{"T", kTokens}, {"M", choice.entries()}});
  Tensors& t = bench.tensors;
  put(t, "x", v.x);
  put(t, "w1", v.w1);
  put(t, "w1_t", v.w1);
  put(t, "b1", v.b1);
  put(t, "w2", v.w2);
  put(t, "w2_t", v.w2);
  put(t, "b2", v.b2);
  put(t, "b2_row", v.b2);
  put(t, "s", v.s);
  std::vector<double> by_row;
  for (const int32_t entry : choice.scat) by_row.push_back(at(v.s, entry));
  put(t, "s_row", by_row);
  put(t, "d_out", c);
  t.set("ends", choice.ends);
  t.set("koff", choice.koff);
  t.set("tok", choice.tok);
  t.set("rev", choice.rev);
  t.set("scat", choice.scat);
  bench.run_well();

  double total = 0;
  const auto o = t.values<float>("o");
  for (size_t i = 0; i < o.size(); ++i) total += static_cast<double>(o[i]) * c[i];
  EXPECT_NEAR(total, loss(choice, v, c), 1e-4);
  const auto check = [&](const char* name, std::vector<double>& numbers) {
    const auto got = t.values<float>(name);
    ASSERT_EQ(got.size(), numbers.size()) << name;
    const double h = 0x1p-14;
    for (size_t i = 0; i < numbers.size(); ++i) {
      const double x = numbers[i];
      numbers[i] = x + h;
      const double above = loss(choice, v, c);
      numbers[i] = x - h;
      const double below = loss(choice, v, c);
      numbers[i] = x;
      EXPECT_NEAR(got[i], (above - below) / (2 * h), 2e-5) << name << " " << i;
    }
  };
  check("dx", v.x);
  check("dw1", v.w1);
  check("db1", v.b1);
  check("dw2", v.w2);
  check("db2", v.b2);
  check("ds", v.s);
  check("ds_of_y", v.s);
}

}  // namespace
}  // namespace cohort::test
