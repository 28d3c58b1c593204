// Combine and its gradients: values by hand, by the definition, and by finite differences.
#include <cmath>
#include <limits>
#include <random>

#include "engine/gemm_case.h"
#include "fixtures/findings.h"

namespace cohort::test {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// Three tokens of two experts; five grouped rows, of which row 3 belongs to nobody.
struct Layer {
  int64_t tokens = 3, top_k = 2, rows = 5, d = 2;
  std::vector<float> y{1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  std::vector<int32_t> rev{4, 0, 2, -1, 1, 1};
  std::vector<float> weights{0.5f, 2, 1, kNaN, -1, 3};
};

std::vector<float> combined(const Layer& l, bool has_weights) {
  Builder g("combine");
  const Dim t = g.dynamic("T", 64);
  const Dim r = g.dynamic("R", 64);
  Combine op{.y = g.input("y", {r, l.d}, DType::f32), .rev = g.index("rev", {t, l.top_k})};
  if (has_weights) op.weights = g.input("w", {t, l.top_k}, DType::f32);
  g.output("o", g.add(op));
  Bench bench(finish(g), {{"T", l.tokens}, {"R", l.rows}});
  bench.tensors.set("y", l.y);
  bench.tensors.set("rev", l.rev);
  if (has_weights) bench.tensors.set("w", l.weights);
  bench.run_well();
  return bench.tensors.values<float>("o");
}

TEST(Combine, ByHand) {
  // Token 0: 0.5 * [9 10] + 2 * [1 2]; token 1: [5 6]; token 2 names row 1 twice.
  expect_same_bits(combined({}, true), {6.5f, 9, 5, 6, 6, 8});
  expect_same_bits(combined({}, false), {10, 12, 5, 6, 6, 8});
}

// Each step is rounded to f32, entries ascending: 1e8 + 1 - 1e8 is 0, in another order it is 1.
TEST(Combine, AddsInTheOrderOfTheEntries) {
  Layer l;
  l.tokens = 2;
  l.top_k = 3;
  l.rows = 3;
  l.d = 1;
  l.y = {1e8f, 1, -1e8f};
  l.rev = {0, 1, 2, 0, 2, 1};
  expect_same_bits(combined(l, false), {0, 1});
}

TEST(Combine, NoTokensNoExpertsNoFeatures) {
  Layer l;
  l.tokens = 0;
  l.rev = {};
  EXPECT_TRUE(combined(l, false).empty());
  l = {};
  l.top_k = 0;
  l.rev = {};
  expect_same_bits(combined(l, false), {0, 0, 0, 0, 0, 0});
  l = {};
  l.d = 0;
  l.y = {};
  EXPECT_TRUE(combined(l, false).empty());
}

// vllm#39593: -1 counts for nothing; what lies outside is refused, and never read.
TEST(Combine, BadEntriesAreFindings) {
  for (const int32_t bad : {-2, 5, std::numeric_limits<int32_t>::max()}) {
    Builder g("combine");
    g.output("o",
             g.add(Combine{.y = g.input("y", {5, 2}, DType::f32), .rev = g.index("rev", {3, 2})}));
    Bench bench(finish(g));
    const Layer l;
    bench.tensors.set("y", l.y);
    std::vector<int32_t> rev = l.rev;
    rev[3] = bad;
    bench.tensors.set("rev", rev);
    const Status s = bench.run();
    ASSERT_FALSE(s);
    const auto f = only(s.findings());
    EXPECT_EQ(f.code, "E-INDEX");
    EXPECT_EQ(f.op, "rev");
    EXPECT_EQ(f.wanted, "-1 .. 4");
  }
}

// vllm#39593: a token that is routed to one row twice has it twice.
TEST(Combine, ARowNamedTwiceCountsTwice) {
  Layer l;
  l.rev = {3, 3, -1, 3, 0, -1};
  const std::vector<float> y = l.y;
  const std::vector<float> wanted{2 * y[6], 2 * y[7], y[6], y[7], y[0], y[1]};
  expect_same_bits(combined(l, false), wanted);
}

// Tokens with 2, 0, 1 and 3 entries, said in every way.
TEST(Combine, VariableNumberOfExperts) {
  const std::vector<int64_t> counts{2, 0, 1, 3};
  const std::vector<float> y = whole_numbers(8 * 3, 5);
  const std::vector<float> w = whole_numbers(6, 6);
  const std::vector<int64_t> rev{7, 0, 3, -1, 2, 3};
  std::vector<float> wanted(12, 0);
  for (size_t e = 0, t = 0; e < 6; ++e) {
    t = e < 2 ? 0 : e < 3 ? 2 : 3;
    for (size_t n = 0; n < 3 && rev[e] >= 0; ++n) {
      wanted[t * 3 + n] += w[e] * y[static_cast<size_t>(rev[e]) * 3 + n];
    }
  }
  for (const GroupForm form : {GroupForm::starts, GroupForm::ends, GroupForm::boundaries,
                               GroupForm::counts, GroupForm::slots}) {
    Builder g("variable");
    const Dim t = g.dynamic("T", 64);
    const Dim e = g.dynamic("E", 512);
    g.output("o", g.add(Combine{.y = g.input("y", {8, 3}, DType::f32),
                                .rev = g.index("rev", e, DType::i64),
                                .weights = g.input("w", {e}, DType::f32),
                                .koff = g.groups("koff", t, form)}));
    Bench bench(finish(g), {{"T", 4}, {"E", 6}});
    bench.tensors.set("y", y);
    bench.tensors.set("w", w);
    bench.tensors.set("rev", rev);
    put_groups(bench.tensors, "koff", form, DType::i32, consecutive(counts));
    bench.run_well();
    expect_same_bits(bench.tensors.values<float>("o"), wanted);
  }
}

// A layer end: the product of this graph, quantised rows, and bf16.
TEST(Combine, ReadsWhatTheGraphComputed) {
  GemmCase c;
  Builder g("end");
  const auto y = g.add(GroupedGemm{.a = g.input("x", {c.rows, c.sum}, DType::f32),
                                   .b = g.weights("w", {c.experts, c.features, c.sum}, DType::f32),
                                   .groups = g.groups("g", 3, c.form)});
  const auto rev = g.index("rev", {20, 2});
  g.output("o", g.add(Combine{.y = y, .rev = rev}));
  const auto q = y.then(Quantize{.to = Format::mxfp8_e4m3});
  g.output("q", g.add(Combine{.y = q.row, .rev = rev}));
  Bench bench(finish(g));
  bench.tensors.set("x", c.x);
  bench.tensors.set("w", c.w);
  put_groups(bench.tensors, "g", c.form, DType::i32, c.ranges);
  std::vector<int32_t> rows(40);
  for (size_t e = 0; e < 40; ++e) rows[e] = static_cast<int32_t>(e * 7 % 40);
  bench.tensors.set("rev", rows);
  bench.run_well();
  const std::vector<float> product = c.expected();
  const auto o = bench.tensors.values<float>("o");
  const auto quantised = bench.tensors.values<float>("q");
  for (size_t t = 0; t < 20; ++t) {
    for (size_t n = 0; n < 10; ++n) {
      const float sum = product[static_cast<size_t>(rows[2 * t]) * 10 + n] +
                        product[static_cast<size_t>(rows[2 * t + 1]) * 10 + n];
      EXPECT_EQ(o[t * 10 + n], sum);
      EXPECT_NEAR(quantised[t * 10 + n], sum, 2 * 441 / 16.0);
    }
  }
}

struct Gradients {
  std::vector<float> dy;
  std::vector<float> dw;
};

// Both gradients in one graph; `scat` is the inverse of rev.
Gradients gradients(const Layer& l, const std::vector<float>& d_out) {
  Builder g("backward");
  const auto o = g.input("d_out", {l.tokens, l.d}, DType::f32);
  g.output("dy", g.add(DCombine{.d_out = o,
                                .scat = g.index("scat", l.rows),
                                .top_k = l.top_k,
                                .weights = g.input("w", {l.tokens, l.top_k}, DType::f32)}));
  g.output("dw", g.add(DCombineWeights{.d_out = o,
                                       .y = g.input("y", {l.rows, l.d}, DType::f32),
                                       .rev = g.index("rev", {l.tokens, l.top_k})}));
  Bench bench(finish(g));
  bench.tensors.set("d_out", d_out);
  bench.tensors.set("y", l.y);
  bench.tensors.set("rev", l.rev);
  bench.tensors.set("w", l.weights);
  std::vector<int32_t> scat(static_cast<size_t>(l.rows), -1);
  for (size_t e = 0; e < l.rev.size(); ++e) {
    if (l.rev[e] >= 0) scat[static_cast<size_t>(l.rev[e])] = static_cast<int32_t>(e);
  }
  bench.tensors.set("scat", scat);
  bench.run_well();
  return {bench.tensors.values<float>("dy"), bench.tensors.values<float>("dw")};
}

TEST(DCombine, ByHand) {
  Layer l;
  l.rev = {4, 0, 2, -1, 1, 3};
  l.weights = {0.5f, 2, 1, kNaN, -1, 3};
  const Gradients g = gradients(l, {1, 2, 3, 4, 5, 6});
  // Rows 0 to 4 are entries 1, 4, 2, 5, 0: tokens 0, 2, 1, 2, 0.
  expect_same_bits(g.dy, {2, 4, -5, -6, 3, 4, 15, 18, 0.5f, 1});
  // <[1 2], [9 10]>, <[1 2], [1 2]>, <[3 4], [5 6]>, none, <[5 6], [3 4]>, <[5 6], [7 8]>.
  expect_same_bits(g.dw, {29, 5, 39, 0, 39, 83});
}

TEST(DCombine, VariableNumberOfExperts) {
  Builder g("variable");
  const Dim t = g.dynamic("T", 64);
  const Dim e = g.dynamic("E", 512);
  const Dim r = g.dynamic("R", 512);
  const auto koff = g.groups("koff", t, GroupForm::boundaries);
  const auto d_out = g.input("d_out", {t, 1}, DType::f32);
  g.output("dy", g.add(DCombine{.d_out = d_out,
                                .scat = g.index("scat", r),
                                .weights = g.input("w", {e}, DType::f32),
                                .koff = koff}));
  g.output("dw", g.add(DCombineWeights{.d_out = d_out,
                                       .y = g.input("y", {r, 1}, DType::f32),
                                       .rev = g.index("rev", e),
                                       .koff = koff}));
  Bench bench(finish(g), {{"T", 3}, {"E", 6}, {"R", 5}});
  // Entry 0 lies before the first token, entries 1 and 2 are token 0's, 3 to 5 token 2's.
  bench.tensors.set<int32_t>("koff", {1, 3, 3, 6});
  bench.tensors.set<float>("d_out", {10, 20, 30});
  bench.tensors.set<float>("w", {9, 1, 2, 3, 4, 5});
  bench.tensors.set<int32_t>("scat", {5, 0, 2, -1, 3});
  bench.tensors.set<float>("y", {1, 2, 3, 4, 5});
  bench.tensors.set<int32_t>("rev", {1, 0, 2, 4, -1, 0});
  bench.run_well();
  expect_same_bits(bench.tensors.values<float>("dy"), {150, 0, 20, 0, 90});
  expect_same_bits(bench.tensors.values<float>("dw"), {0, 10, 30, 150, 0, 30});
}

// The loss sum c * o in f64, o by the definition.
double loss(const Layer& l, const std::vector<double>& y, const std::vector<double>& w,
            const std::vector<float>& c) {
  double sum = 0;
  for (size_t e = 0; e < l.rev.size(); ++e) {
    if (l.rev[e] < 0) continue;
    for (size_t n = 0; n < static_cast<size_t>(l.d); ++n) {
      sum +=
          static_cast<double>(c[e / static_cast<size_t>(l.top_k) * static_cast<size_t>(l.d) + n]) *
          w[e] * y[static_cast<size_t>(l.rev[e] * l.d) + n];
    }
  }
  return sum;
}

TEST(DCombine, AgreesWithFiniteDifferences) {
  Layer l;
  l.tokens = 4;
  l.top_k = 2;
  l.rows = 9;
  l.d = 5;
  l.rev = {8, 0, 3, -1, 5, 1, 2, 7};
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  l.y.resize(45);
  l.weights.resize(8);
  std::vector<float> c(20);
  for (std::vector<float>* v : {&l.y, &l.weights, &c}) {
    for (float& x : *v) x = normal(random);
  }
  const Gradients g = gradients(l, c);
  std::vector<double> y(l.y.begin(), l.y.end());
  std::vector<double> w(l.weights.begin(), l.weights.end());
  const double h = 0x1p-10;
  const auto slope = [&](double& x) {
    const double at = x;
    x = at + h;
    const double above = loss(l, y, w, c);
    x = at - h;
    const double below = loss(l, y, w, c);
    x = at;
    return (above - below) / (2 * h);
  };
  for (size_t i = 0; i < y.size(); ++i) EXPECT_NEAR(g.dy[i], slope(y[i]), 1e-6) << i;
  for (size_t i = 0; i < w.size(); ++i) EXPECT_NEAR(g.dw[i], slope(w[i]), 1e-5) << i;
}

}  // namespace
}  // namespace cohort::test
