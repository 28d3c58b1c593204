// The bound that results are held to: what passes, and what a planted error does.
#include <cohort/compare.h>

#include <cmath>

#include "engine/gemm_case.h"
#include "numerics/codec.h"
#include "numerics/layout.h"

namespace cohort::test {
namespace {

// A product with an epilogue, in f32 and in bf16, its maximum, and both quantised forms.
class Compare : public ::testing::Test {
 protected:
  static Graph describe() {
    Builder g("compared");
    const Dim t = g.dynamic("T", 4096);
    const auto x = g.input("x", {t, 200}, DType::f32);
    const auto w = g.weights("w", {3, 64, 200}, DType::f32);
    const auto slots = g.groups("g", 3, GroupForm::boundaries);
    const auto p = g.row_input("p", t);
    const auto acc = g.add(GroupedGemm{.a = x, .b = w, .groups = slots});
    const auto y = acc.then(ReluSquared{}).then(RowGate{.by = p});
    g.output("acc", acc);
    g.output("y", y.then(Cast{.to = DType::bf16}), {.tail = Tail::zero});
    g.output("max", y.then(Amax{.per = AmaxPer::expert}));
    const auto q = y.then(Quantize{.to = Format::mxfp8_e4m3, .axes = Axes::both});
    g.output("q", q.row);
    g.output("t", q.col);
    g.output("n", y.then(Quantize{.to = Format::nvfp4}).row);
    g.output("r", y.then(Quantize{.to = Format::fp8_row}).row);
    g.output("one", y.then(Quantize{.to = Format::fp8_tensor}).row);
    return finish(g);
  }

  Compare() : bench_(describe(), {{"T", 50}}) {
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    std::vector<float> x(50 * 200);
    std::vector<float> w(3 * 64 * 200);
    for (float& v : x) v = normal(random);
    for (float& v : w) v = normal(random);
    bench_.tensors.set("x", x);
    bench_.tensors.set("w", w);
    bench_.tensors.set<int32_t>("g", {2, 20, 20, 45});
    bench_.tensors.set("p", std::vector<float>(50, 0.7f));
    bench_.run_well();
  }
  Comparison compared() {
    const auto all = bench_.tensors.all();
    Result<Comparison> c = compare(bench_.graph, {{"T", 50}}, all, {});
    EXPECT_TRUE(c) << c.findings().text();
    return *c;
  }
  static const TensorComparison& of(const Comparison& c, std::string_view name) {
    for (int32_t i = 0; i < c.size(); ++i) {
      if (c[i].tensor == name) return c[i];
    }
    std::abort();
  }
  void expect_first_wrong(std::string_view name, int64_t row, int64_t column) {
    const Comparison c = compared();
    EXPECT_FALSE(c.good());
    const TensorComparison& t = of(c, name);
    EXPECT_EQ(1, t.wrong) << c.text();
    EXPECT_EQ(row, t.index[0]) << c.text();
    EXPECT_EQ(column, t.index[1]) << c.text();
    EXPECT_NE(std::string::npos, std::string(c.text()).find(std::string(name) + ": 1 of"));
  }

  Bench bench_;
};

TEST_F(Compare, TheReferenceEqualsItself) {
  const Comparison c = compared();
  EXPECT_TRUE(c.good()) << c.text();
  EXPECT_EQ(13, c.size());
  EXPECT_EQ(43 * 64, of(c, "acc").elements);
  EXPECT_EQ(50 * 64, of(c, "y").elements);
  EXPECT_EQ(43 * 2, of(c, "q.scale").elements);
  EXPECT_EQ(2 * 64, of(c, "t.scale").elements);
  for (int32_t i = 0; i < c.size(); ++i) EXPECT_EQ(0, c[i].largest) << c.text();
}

// Half the bound is rounding, twice the bound is a mistake.
TEST_F(Compare, PlantedErrorsAreFoundFromTheBoundOn) {
  float& element = bench_.tensors.data<float>("acc")[7 * 64 + 5];
  const float right = element;
  element = right + 1;
  const double bound = of(compared(), "acc").bound;
  EXPECT_LT(bound, 0.01);
  EXPECT_GT(bound, 1e-5);
  for (const double sign : {-1.0, 1.0}) {
    element = static_cast<float>(static_cast<double>(right) + sign * bound / 2);
    EXPECT_TRUE(compared().good());
    EXPECT_NEAR(0.5, of(compared(), "acc").largest, 0.1);
    element = static_cast<float>(static_cast<double>(right) + sign * bound * 2);
    expect_first_wrong("acc", 7, 5);
    const Comparison c = compared();
    EXPECT_EQ(static_cast<double>(element), of(c, "acc").got);
    EXPECT_EQ(static_cast<double>(right), of(c, "acc").wanted);
  }
}

// Every other order of summation in f32 lies within.
TEST_F(Compare, SumsInF32InAnyOrderPass) {
  const float* x = bench_.tensors.data<float>("x");
  const float* w = bench_.tensors.data<float>("w");
  for (const bool reversed : {false, true}) {
    for (int64_t r = 2; r < 45; ++r) {
      for (int64_t n = 0; n < 64; ++n) {
        const int64_t e = r < 20 ? 0 : 2;
        float sum = 0;
        for (int64_t i = 0; i < 200; ++i) {
          const int64_t k = reversed ? 199 - i : i;
          sum += x[r * 200 + k] * w[(e * 64 + n) * 200 + k];
        }
        bench_.tensors.data<float>("acc")[r * 64 + n] = sum;
      }
    }
    const Comparison c = compared();
    EXPECT_TRUE(c.good()) << c.text();
    EXPECT_GT(of(c, "acc").largest, 0);
  }
}

TEST_F(Compare, RoundedOutputsMayDifferByOneStepAtMost) {
  uint16_t& code = bench_.tensors.data<uint16_t>("y")[3 * 64 + 9];
  code = static_cast<uint16_t>(code + 2);
  expect_first_wrong("y", 3, 9);
}

TEST_F(Compare, TailThatShouldBeZero) {
  bench_.tensors.data<uint16_t>("y")[46 * 64] = 1;
  expect_first_wrong("y", 46, 0);
}

TEST_F(Compare, TailThatIsLeftIsNotLookedAt) {
  bench_.tensors.data<float>("acc")[46 * 64] = 1e30f;
  EXPECT_TRUE(compared().good());
}

TEST_F(Compare, Maximum) {
  bench_.tensors.data<float>("max")[2] *= 1.01f;
  expect_first_wrong("max", 2, 0);
}

TEST_F(Compare, NotANumberIsWrongUnlessItIsWanted) {
  bench_.tensors.data<float>("acc")[7 * 64 + 5] = std::numeric_limits<float>::quiet_NaN();
  expect_first_wrong("acc", 7, 5);
}

TEST_F(Compare, Codes) {
  uint8_t* q = bench_.tensors.data<uint8_t>("q");
  int64_t at = 5 * 64;
  while (q[at] < 0x20 || q[at] > 0x70) ++at;
  q[at] = static_cast<uint8_t>(q[at] + 2);
  expect_first_wrong("q", at / 64, at % 64);
}

TEST_F(Compare, Scales) {
  uint8_t& s = bench_.tensors.data<uint8_t>("t.scale")[numerics::tiled_offset(11, 0, 1)];
  const auto right = s;
  s = static_cast<uint8_t>(right + 1);
  const Comparison c = compared();
  EXPECT_EQ(1, of(c, "t.scale").wrong) << c.text();
  EXPECT_EQ(11, of(c, "t.scale").index[0]);
  EXPECT_EQ(2 * of(c, "t.scale").wanted, of(c, "t.scale").got);
}

TEST_F(Compare, WhatBindRefusesIsRefused) {
  auto all = bench_.tensors.all();
  all.pop_back();
  const auto c = compare(bench_.graph, {{"T", 50}}, all, {});
  ASSERT_FALSE(c);
  EXPECT_EQ("E-TENSOR", c.findings()[0].code);
}

TEST(CompareChain, ProductOfAComputedValueWidensTheBound) {
  Builder g("chain");
  const auto x = g.input("x", {4, 8}, DType::f32);
  const auto w = g.input("w", {8, 8}, DType::f32);
  const auto v = g.input("v", {8, 8}, DType::f32);
  const auto a = g.add(Matmul{.a = x, .b = w});
  g.output("a", a);
  g.output("y", g.add(Matmul{.a = a, .b = v}));
  Bench b(finish(g));
  b.tensors.set("x", std::vector<float>(32, 1.1f));
  b.tensors.set("w", std::vector<float>(64, 1.3f));
  b.tensors.set("v", std::vector<float>(64, 0.7f));
  b.run_well();
  const auto bound = [&](const char* name) {
    float& e = b.tensors.data<float>(name)[0];
    const float right = e;
    e += 1;
    const auto all = b.tensors.all();
    const Comparison c = *compare(b.graph, {}, all, {});
    e = right;
    return c[name[0] == 'a' ? 0 : 1].bound;
  };
  EXPECT_GT(bound("y"), 1.5 * 8 * 0.7 * bound("a"));
}

TEST(CompareChain, QuantisedOperandsMadeInTheGraphAreDeclined) {
  Builder g("declined");
  const auto x = g.input("x", {4, 32}, DType::f32);
  const auto w = g.scaled_input("w", {8, 32}, Format::mxfp8_e4m3);
  const auto q = g.add(Load{.x = x}).then(Quantize{.to = Format::mxfp8_e4m3});
  g.output("y", g.add(Matmul{.a = q.row, .b = w}));
  Bench b(finish(g));
  const auto all = b.tensors.all();
  const auto c = compare(b.graph, {}, all, {});
  ASSERT_FALSE(c);
  EXPECT_EQ("E-UNSUPPORTED", c.findings()[0].code);
}

}  // namespace
}  // namespace cohort::test
