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

// A quantised operand that the graph makes: the reference is within, one code off by two is not
// seen behind the product of many, a whole block by the wrong scale is.
class QuantisedChain : public ::testing::TestWithParam<Format> {
 protected:
  static Graph describe(Format format) {
    Builder g("chain");
    const Dim t = g.dynamic("T", 64);
    const auto x = g.input("x", {t, 64}, DType::f32);
    const auto w = g.weights("w", {2, 64, 64}, DType::f32);
    const auto v = g.scaled_weights("v", {2, 32, 64}, format);
    const auto ends = g.groups("g", 2, GroupForm::ends);
    const auto q = g.add(GroupedGemm{.a = x, .b = w, .groups = ends})
                       .then(ReluSquared{})
                       .then(Quantize{.to = format});
    g.output("q", q.row);
    g.output("y", g.add(GroupedGemm{.a = q.row, .b = v, .groups = ends}));
    return finish(g);
  }
  static Bench filled(Format format) {
    Bench b(describe(format), {{"T", 40}});
    std::mt19937 random(5);
    std::normal_distribution<float> normal;
    std::vector<float> x(40 * 64);
    std::vector<float> w(2 * 64 * 64);
    for (float& e : x) e = normal(random);
    for (float& e : w) e = normal(random);
    b.tensors.set("x", x);
    b.tensors.set("w", w);
    auto* v = b.tensors.data<uint8_t>("v");
    for (int64_t i = 0; i < b.tensors.bytes("v"); ++i) {
      v[i] = static_cast<uint8_t>((random() & 0x8F) | (random() % 4 + 4) << 3);
    }
    const bool f32_scales = info(format).scale == DType::f32;
    if (f32_scales) {
      b.tensors.set("v.scale",
                    std::vector<float>(static_cast<size_t>(b.tensors.bytes("v.scale") / 4), 0.75f));
    } else {
      b.tensors.fill("v.scale", info(format).scale == DType::e8m0 ? 127 : 0x38);
    }
    b.tensors.set<int32_t>("g", {15, 40});
    return b;
  }
};

TEST_P(QuantisedChain, IsBounded) {
  Bench b = filled(GetParam());
  b.run_well();
  const auto check = [&] {
    const auto all = b.tensors.all();
    Result<Comparison> c = compare(b.graph, {{"T", 40}}, all, {});
    EXPECT_TRUE(c) << c.findings().text();
    return *c;
  };
  EXPECT_TRUE(check().good()) << check().text();
  float& y = b.tensors.data<float>("y")[7 * 32 + 3];
  const float right = y;
  y += 1;
  const double bound = check()[2].bound;
  // Most codes are settled whatever the rounding: the bound is far below one quantisation step of
  // every term (2^-4 of it).
  double magnitude = 0;
  for (int64_t n = 0; n < 32; ++n) {
    magnitude =
        std::max(magnitude, std::fabs(static_cast<double>(b.tensors.data<float>("y")[7 * 32 + n])));
  }
  EXPECT_LT(bound, 0.1 * magnitude);
  EXPECT_GT(bound, 0);
  y = static_cast<float>(static_cast<double>(right) + 2 * bound);
  EXPECT_EQ(1, check()[2].wrong) << check().text();
  EXPECT_EQ(7, check()[2].index[0]);
  EXPECT_EQ(3, check()[2].index[1]);
}

INSTANTIATE_TEST_SUITE_P(Formats, QuantisedChain,
                         ::testing::Values(Format::mxfp8_e4m3, Format::mxfp4, Format::nvfp4,
                                           Format::fp8_tensor, Format::fp8_row,
                                           Format::fp8_block128),
                         [](const auto& p) { return std::string(name(p.param)); });

// b of a plain product is computed too, in both majors.
TEST(CompareChain, ComputedRightOperand) {
  for (const Major major : {Major::k, Major::n}) {
    Builder g("right");
    const auto x = g.input("x", {6, 8}, DType::f32);
    const auto w = g.input("w", {8, 8}, DType::f32);
    const auto b = g.add(Matmul{.a = w, .b = w});
    g.output("b", b);
    g.output("y", g.add(Matmul{.a = x, .b = b, .b_major = major}));
    Bench bench(finish(g));
    std::vector<float> numbers(64);
    for (size_t i = 0; i < 64; ++i) numbers[i] = static_cast<float>(i * 37 % 23) / 7 - 1;
    bench.tensors.set("w", numbers);
    numbers.resize(48);
    bench.tensors.set("x", numbers);
    bench.run_well();
    const auto all = bench.tensors.all();
    const Comparison right = *compare(bench.graph, {}, all, {});
    EXPECT_TRUE(right.good()) << right.text();
    EXPECT_EQ(0, right[1].largest);
    bench.tensors.data<float>("y")[11] += 0.01f;
    const Comparison wrong = *compare(bench.graph, {}, all, {});
    EXPECT_EQ(1, wrong[1].wrong) << wrong.text();
    EXPECT_LT(wrong[1].bound, 1e-3);
  }
}

// A bias that cancels the product: the error is one of the terms, not of their difference.
TEST(CompareChain, CancellationIsAllowedFor) {
  Builder g("cancel");
  const auto x = g.input("x", {3, 4}, DType::f32);
  const auto groups = g.groups("g", 1, GroupForm::ends);
  const auto by = g.group_matrix("b", {1, 4});
  const auto p = g.row_input("p", 3);
  g.output("y", g.add(Load{.x = x, .groups = groups}).then(Bias{.by = by, .scaled_by = p}));
  Bench b(finish(g));
  const float scale = 1.1f;
  const float bias = 1.7f;
  b.tensors.set("x", std::vector<float>(12, -(scale * bias)));
  b.tensors.set("b", std::vector<float>(4, bias));
  b.tensors.set("p", std::vector<float>(3, scale));
  b.tensors.set<int32_t>("g", {3});
  b.run_well();
  EXPECT_EQ(0, b.tensors.data<float>("y")[0]);
  // One fused multiplication and addition, as a device does it.
  b.tensors.data<float>("y")[0] = std::fma(scale, bias, -(scale * bias));
  EXPECT_NE(0, b.tensors.data<float>("y")[0]);
  const auto all = b.tensors.all();
  const Comparison c = *compare(b.graph, {}, all, {});
  EXPECT_TRUE(c.good()) << c.text();
}

}  // namespace
}  // namespace cohort::test
