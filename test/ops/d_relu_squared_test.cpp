// Squared ReLU backwards: values by hand, and gradients against differences of the formula in f64.
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "engine/gemm_case.h"
#include "fixtures/findings.h"

namespace cohort::test {
namespace {

constexpr int64_t kColumns = 6;
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct Case {
  DReluSquaredMode mode = DReluSquaredMode::grad_acc;
  Maybe<float> clamp{};
  bool has_prob = true;
  bool has_add = false;
  std::vector<float> x{};  // piped value
  std::vector<float> c{};
  std::vector<float> prob{};
  std::vector<float> add{};
};

struct Results {
  std::vector<float> d, dprob, d_srelu;
};

Results run(const Case& k) {
  const auto rows = static_cast<int64_t>(k.x.size()) / kColumns;
  Builder g("d_relu_squared");
  const auto x = g.input("x", {rows, kColumns}, DType::f32);
  const auto c = g.input("c", {rows, kColumns}, DType::f32);
  DReluSquared op{.c = g.add(Load{.x = c}), .mode = k.mode, .clamp = k.clamp};
  if (k.has_prob) op.prob = g.row_input("prob", rows);
  if (k.has_add) op.dprob_add = RowTerm(g.row_input("add", rows));
  const DSrelu y = g.add(Load{.x = x}).then(op);
  g.output("d", y);
  g.output("dprob", y.dprob);
  g.output("h", y.d_srelu);
  Bench bench(finish(g));
  bench.tensors.set("x", k.x);
  bench.tensors.set("c", k.c);
  if (k.has_prob) bench.tensors.set("prob", k.prob);
  if (k.has_add) bench.tensors.set("add", k.add);
  bench.run_well();
  return {bench.tensors.values<float>("d"), bench.tensors.values<float>("dprob"),
          bench.tensors.values<float>("h")};
}

TEST(DReluSquared, HandWorked) {
  Case k;
  k.x = {1, 2, -3, 4, 5, 0.5f, -1, 1, 1, 1, 1, 1};
  k.c = {2, -1, 3, 0, 0.5f, 4, 1, 1, 1, 1, 1, -1};
  k.prob = {0.5f, -2};
  const Results r = run(k);
  EXPECT_EQ(r.d, (std::vector<float>{2, 0, -9, 0, 2.5f, 2, 4, -4, -4, -4, -4, -0.0f}));
  // 4*1 + 0 - 9*3 + 0 + 0.25*5 + 16*0.5
  EXPECT_EQ(r.dprob, (std::vector<float>{-13.75f, 3}));
  EXPECT_EQ(r.d_srelu, (std::vector<float>{2, 0, 4.5f, 0, 0.125f, 8, -2, -2, -2, -2, -2, 0}));
}

TEST(DReluSquared, RecomputeSwapsTheMatrices) {
  Case a;
  a.x = whole_numbers(5 * kColumns, 3);
  a.c = whole_numbers(5 * kColumns, 4);
  a.prob = {1, 0.5f, 3, -1, 0};
  Case b = a;
  std::swap(b.x, b.c);
  b.mode = DReluSquaredMode::recompute;
  for (const Maybe<float>& clamp : {Maybe<float>(), Maybe<float>(2.5f)}) {
    a.clamp = b.clamp = clamp;
    const Results first = run(a);
    const Results second = run(b);
    expect_same_bits(first.d, second.d);
    expect_same_bits(first.dprob, second.dprob);
    expect_same_bits(first.d_srelu, second.d_srelu);
    b.mode = DReluSquaredMode::grad_acc;
    EXPECT_NE(run(b).d, first.d);
    b.mode = DReluSquaredMode::recompute;
  }
}

TEST(DReluSquared, ProbIsOneWhenAbsentAndTheTermIsAdded) {
  Case k;
  k.x = whole_numbers(3 * kColumns, 5);
  k.c = whole_numbers(3 * kColumns, 6);
  k.prob = {1, 1, 1};
  const Results with = run(k);
  k.has_prob = false;
  k.has_add = true;
  k.add = {0.25f, -7, 1000};
  const Results without = run(k);
  expect_same_bits(with.d, without.d);
  expect_same_bits(with.d_srelu, without.d_srelu);
  for (size_t r = 0; r < 3; ++r) EXPECT_EQ(without.dprob[r], with.dprob[r] + k.add[r]);
}

TEST(DReluSquared, NanAndInfinity) {
  Case k;
  k.has_prob = false;
  k.x = {kNan, 1, 1, 1, kInfinity, 1};
  k.c = {1, kNan, kInfinity, -kInfinity, 1, -1};
  Results r = run(k);
  EXPECT_TRUE(std::isnan(r.d[0]) && std::isnan(r.d[1]));
  EXPECT_EQ(r.d[2], kInfinity);
  EXPECT_EQ(r.d[3], 0);
  EXPECT_EQ(r.d[4], kInfinity);
  EXPECT_EQ(r.d[5], 0);
  EXPECT_TRUE(std::isnan(r.dprob[0]));
  EXPECT_EQ(r.d_srelu[0], 1);
  k.clamp = 3.0f;  // the activation is flat far out, and its value is s^2
  r = run(k);
  EXPECT_EQ(r.d[2], 0);
  EXPECT_EQ(r.d_srelu[2], 9);
}

// The forward in f64: what the finite differences are taken of.
double forward(double a, double s) {
  const double r = a > 0 ? a : 0;
  const double h = s > 0 ? s * std::tanh(r / s) : r;
  return h * h;
}

class ReluSquaredGradient : public ::testing::TestWithParam<float> {};

TEST_P(ReluSquaredGradient, EqualsTheFiniteDifference) {
  const float s = GetParam();
  std::mt19937 random(11);
  std::normal_distribution<float> normal;
  Case k;
  if (s > 0) k.clamp = s;
  for (int64_t i = 0; i < 40 * kColumns; ++i) {
    k.x.push_back(normal(random));
    k.c.push_back(3 * normal(random));
  }
  for (int i = 0; i < 40; ++i) k.prob.push_back(normal(random));
  const Results r = run(k);
  const double step = 1e-5;
  for (size_t row = 0; row < 40; ++row) {
    double dprob = 0;
    for (size_t n = 0; n < kColumns; ++n) {
      const size_t i = row * kColumns + n;
      const auto a = static_cast<double>(k.c[i]);
      const auto gp = static_cast<double>(k.x[i]) * static_cast<double>(k.prob[row]);
      const double slope = (forward(a + step, s) - forward(a - step, s)) / (2 * step);
      // Second differences of the square change by step at the kink at 0.
      EXPECT_NEAR(r.d[i], slope * gp, 1e-5 * (1 + std::fabs(slope * gp))) << "element " << i;
      EXPECT_NEAR(r.d_srelu[i], forward(a, s) * static_cast<double>(k.prob[row]),
                  1e-6 * (1 + forward(a, s) * std::fabs(static_cast<double>(k.prob[row]))));
      dprob += forward(a, s) * static_cast<double>(k.x[i]);
    }
    EXPECT_NEAR(r.dprob[row], dprob, 1e-4);
  }
}

INSTANTIATE_TEST_SUITE_P(Clamps, ReluSquaredGradient, ::testing::Values(0.0f, 0.5f, 4.0f));

TEST(DReluSquared, OfAGroupedProductWithEveryConsumer) {
  // dprob of one op is the prob of another in the same graph; the gradient goes on by `then`.
  constexpr int64_t kRows = 450;
  Builder g("chain");
  const Dim t = g.dynamic("T", 1024);
  const auto ends = g.groups("ends", 2, GroupForm::ends);
  const auto x = g.input("x", {t, 3}, DType::f32);
  const auto w = g.weights("w", {2, kColumns, 3}, DType::f32);
  const auto c = g.input("c", {t, kColumns}, DType::f32);
  const auto saved = g.add(Load{.x = c, .groups = ends});
  const DSrelu y =
      g.add(GroupedGemm{.a = x, .b = w, .groups = ends}).then(DReluSquared{.c = saved});
  g.output("d", y.then(RowGate{.by = y.dprob}));
  g.output("dprob", y.dprob, {.tail = Tail::zero});
  g.output("dprob_bf16", y.dprob, {.dtype = DType::bf16});
  Bench bench(finish(g), {{"T", kRows}});
  const auto a = whole_numbers(kRows * 3, 1);
  const auto b = whole_numbers(2 * kColumns * 3, 2);
  const auto s = whole_numbers(kRows * kColumns, 3);
  bench.tensors.set("x", a);
  bench.tensors.set("w", b);
  bench.tensors.set("c", s);
  bench.tensors.set<int32_t>("ends", {17, 430});
  bench.run_well();
  const auto d = bench.tensors.values<float>("d");
  const auto dprob = bench.tensors.values<float>("dprob");
  const auto rounded = bench.tensors.values<uint16_t>("dprob_bf16");
  for (size_t r = 0; r < kRows; ++r) {
    if (r >= 430) {
      EXPECT_EQ(dprob[r], 0) << "tail row " << r;
      EXPECT_EQ(rounded[r], 0xA5A5) << "tail row " << r;
      continue;
    }
    float sum = 0;  // small whole numbers: exact in any order
    std::vector<float> row;
    for (size_t n = 0; n < kColumns; ++n) {
      float acc = 0;
      for (size_t i = 0; i < 3; ++i) acc += a[r * 3 + i] * b[((r < 17 ? 0 : kColumns) + n) * 3 + i];
      const float relu = std::max(s[r * kColumns + n], 0.0f);
      sum += relu * relu * acc;
      row.push_back(2 * relu * acc);
    }
    EXPECT_EQ(dprob[r], sum) << r;
    for (size_t n = 0; n < kColumns; ++n) EXPECT_EQ(d[r * kColumns + n], row[n] * sum) << r;
  }
}

TEST(DReluSquared, OnlyWhatIsUsedIsMade) {
  Builder g("dprob alone");
  const auto x = g.input("x", {4, kColumns}, DType::f32);
  const auto v = g.add(Load{.x = x});
  g.output("dprob", v.then(DReluSquared{.c = v}).dprob);
  Bench bench(finish(g));
  bench.tensors.set("x", whole_numbers(4 * kColumns, 9));
  bench.run_well();
  const auto all = whole_numbers(4 * kColumns, 9);
  for (size_t r = 0; r < 4; ++r) {
    float sum = 0;
    for (size_t n = 0; n < kColumns; ++n) {
      const float a = std::max(all[r * kColumns + n], 0.0f);
      sum += a * a * a;
    }
    EXPECT_EQ(bench.tensors.values<float>("dprob")[r], sum);
  }
}

TEST(DReluSquared, ShapesAreChecked) {
  Builder g("wrong");
  const auto x = g.add(Load{.x = g.input("x", {4, kColumns}, DType::f32)});
  const auto narrow = g.add(Load{.x = g.input("n", {4, 3}, DType::f32)});
  const auto prob = g.row_input("prob", 5);
  const auto term = g.row_input("term", 4);
  g.output("a", x.then(DReluSquared{.c = narrow}));
  g.output("b", x.then(DReluSquared{.c = x, .prob = prob}));
  g.output("c", x.then(DReluSquared{.c = x, .clamp = 0.0f}));
  g.output("d", x.then(DReluSquared{.c = x, .dprob_add = RowTerm(narrow)}).dprob);
  g.output("e", x.then(DReluSquared{.c = x, .dprob_add = RowTerm(term)}).dprob);
  const Findings f = std::move(g).finish().findings();
  ASSERT_EQ(f.size(), 4) << f.text();
  const char* wanted[4][2] = {
      {"E-SHAPE", "c"}, {"E-SHAPE", "prob"}, {"E-ATTRIBUTE", "clamp"}, {"E-SHAPE", "dprob_add"}};
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(f[i].op, "d_relu_squared") << f.text();
    EXPECT_EQ(f[i].code, wanted[i][0]) << f.text();
    EXPECT_EQ(f[i].field, wanted[i][1]) << f.text();
  }
}

// A term of dprob when nothing uses dprob would be dropped in silence.
TEST(DReluSquared, ATermThatNothingReadsIsRefused) {
  for (const bool glu : {false, true}) {
    for (const bool used : {false, true}) {
      Builder g("term");
      const auto x = g.add(Load{.x = g.input("x", {4, kColumns}, DType::f32)});
      const auto c = g.add(Load{.x = g.input("c", {4, (glu ? 2 : 1) * kColumns}, DType::f32)});
      const RowTerm term(g.row_input("term", 4));
      if (glu) {
        const auto d = x.then(
            DGlu{.c = c, .act = GluAct::swiglu, .packing = Packing::split, .dprob_add = term});
        g.output("d", d);
        if (used) g.output("p", d.dprob);
      } else {
        const auto d = x.then(DReluSquared{.c = c, .dprob_add = term});
        g.output("d", d.d_srelu);
        if (used) g.output("p", d.dprob);
      }
      const Result<Graph> graph = std::move(g).finish();
      EXPECT_EQ(static_cast<bool>(graph), used);
      if (used) continue;
      const KeptFinding f = only(graph.findings());
      EXPECT_EQ(f.code, "E-UNUSED");
      EXPECT_EQ(f.field, "dprob_add");
      EXPECT_EQ(f.message, "only dprob reads dprob_add, and nothing uses it");
    }
  }
}

// dprob does not contain the probability, and the activation no rounding of the gradient.
TEST(DReluSquared, AFieldThatNoUsedResultReadsIsRefused) {
  const auto refused = [](bool glu, bool rounds, int result) {
    Builder g("idle");
    const auto x = g.add(Load{.x = g.input("x", {4, kColumns}, DType::f32)});
    const auto c = g.add(Load{.x = g.input("c", {4, (glu ? 2 : 1) * kColumns}, DType::f32)});
    Maybe<RowVec> prob;
    if (!rounds) prob = g.row_input("p", 4);
    if (glu) {
      DGlu op{.c = c, .act = GluAct::swiglu, .packing = Packing::split, .prob = prob};
      if (rounds) op.acc_round = AccRound::bf16;
      const DGated d = x.then(op);
      if (result == 0) g.output("y", d);
      if (result == 1) g.output("y", d.dprob);
      if (result == 2) g.output("y", d.act_out);
    } else {
      const DSrelu d = x.then(DReluSquared{.c = c, .prob = prob});
      if (result == 0) g.output("y", d);
      if (result == 1) g.output("y", d.dprob);
      if (result == 2) g.output("y", d.d_srelu);
    }
    const Result<Graph> graph = std::move(g).finish();
    if (graph) return std::string();
    const KeptFinding f = only(graph.findings());
    EXPECT_EQ(f.code, "E-UNUSED");
    return f.field + ": " + f.message;
  };
  for (const bool glu : {false, true}) {
    const std::string again = glu ? "act_out" : "d_srelu";
    EXPECT_EQ(refused(glu, false, 0), "");
    EXPECT_EQ(refused(glu, false, 1),
              "prob: only the main result or " + again + " reads prob, and nothing uses it");
    EXPECT_EQ(refused(glu, false, 2), "");
  }
  EXPECT_EQ(refused(true, true, 0), "");
  EXPECT_EQ(refused(true, true, 1), "");
  EXPECT_EQ(refused(true, true, 2),
            "acc_round: only the main result or dprob reads acc_round, and nothing uses it");
}

TEST(DReluSquared, JsonNamesEachResult) {
  Builder g("json");
  const auto x = g.add(Load{.x = g.input("x", {4, kColumns}, DType::f32)});
  const DSrelu y = x.then(DReluSquared{.c = x, .mode = DReluSquaredMode::recompute});
  g.output("d", y);
  g.output("p", y.dprob);
  g.output("h", y.d_srelu);
  const Graph graph = finish(g);
  for (const char* part : {"\"value\":\"%1\"", "\"value\":\"%1.dprob\"", "\"value\":\"%1.d_srelu\"",
                           "\"mode\":\"recompute\""}) {
    EXPECT_TRUE(has(graph.json(), part)) << graph.json();
  }
  const Result<Graph> again = parse_json(graph.json());
  ASSERT_TRUE(again) << again.findings().text();
  EXPECT_EQ(again->json(), graph.json());
}

}  // namespace
}  // namespace cohort::test
