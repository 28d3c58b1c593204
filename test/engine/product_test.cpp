// Properties of products that hold whatever the numbers are.
#include <cmath>

#include "engine/gemm_case.h"
#include "numerics/codec.h"

namespace cohort::test {
namespace {

std::vector<float> noise(int64_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> v(static_cast<size_t>(count));
  for (float& x : v) x = normal(random);
  return v;
}

TEST(Product, IsLinearInBothOperands) {
  GemmCase a{.rows = 90, .features = 30, .sum = 500, .ranges = consecutive({1, 70, 19})};
  GemmCase b = a;
  b.x = whole_numbers(a.rows * a.sum, 11);
  GemmCase both = a;
  for (size_t i = 0; i < a.x.size(); ++i) both.x[i] = 3 * a.x[i] - 2 * b.x[i];
  const auto ya = a.run();
  const auto yb = b.run();
  const auto y = both.run();
  for (size_t i = 0; i < y.size(); ++i) ASSERT_EQ(3 * ya[i] - 2 * yb[i], y[i]);
  GemmCase scaled = a;
  for (float& w : scaled.w) w *= 4;
  const auto ys = scaled.run();
  for (size_t i = 0; i < ys.size(); ++i) ASSERT_EQ(4 * ya[i], ys[i]);
}

// Experts in another order, and their rows with them: the same rows of results.
TEST(Product, ExpertsMayBePermuted) {
  const GemmCase c{.x = noise(40 * 9, 3), .w = noise(3 * 10 * 9, 4)};
  GemmCase p = c;
  const std::vector<size_t> order{2, 0, 1};
  p.ranges.clear();
  std::vector<float> want;
  const auto y = c.run();
  size_t row = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    const Range r = c.ranges[order[i]];
    std::copy_n(c.x.begin() + r.begin * c.sum, r.rows * c.sum, p.x.begin() + row * 9);
    std::copy_n(c.w.begin() + static_cast<int64_t>(order[i]) * 90, 90,
                p.w.begin() + static_cast<int64_t>(i) * 90);
    want.insert(want.end(), y.begin() + r.begin * 10, y.begin() + (r.begin + r.rows) * 10);
    p.ranges.push_back({static_cast<int64_t>(row), r.rows});
    row += static_cast<size_t>(r.rows);
  }
  expect_same_bits(p.run(), want);
}

// Enough work that the engine takes all threads, and sums that are not exact.
GemmCase large() {
  return {.rows = 700,
          .experts = 4,
          .features = 300,
          .sum = 700,
          .ranges = consecutive({300, 0, 193, 207}),
          .x = noise(700 * 700, 5),
          .w = noise(4 * 300 * 700, 6)};
}

TEST(Product, BitsDoNotDependOnTheNumberOfThreads) {
  const GemmCase c = large();
  const auto one = c.run({.sm_limit = 1});
  expect_same_bits(c.run({.sm_limit = 2}), one);
  expect_same_bits(c.run({.sm_limit = 7}), one);
}

TEST(Product, BitsOfARowDoNotDependOnOtherRows) {
  const GemmCase all = large();
  const auto y = all.run({.batch_invariant = true});
  for (const int64_t row : {0, 1, 17, 191, 192, 299, 300, 492, 493, 699}) {
    size_t g = 0;
    while (row >= all.ranges[g].begin + all.ranges[g].rows) ++g;
    for (const int64_t before : {0, 5, 23, 24, 30}) {
      GemmCase few = all;
      few.rows = before + 1;
      few.ranges = consecutive({0, 0, 0, 0});
      for (size_t i = g; i < 4; ++i) few.ranges[i] = {i == g ? 0 : few.rows, i == g ? few.rows : 0};
      few.x = noise(few.rows * few.sum, static_cast<uint32_t>(row + before));
      std::copy_n(all.x.begin() + row * all.sum, all.sum, few.x.begin() + before * all.sum);
      const auto alone = few.run({.batch_invariant = true});
      expect_same_bits({alone.begin() + before * all.features, alone.end()},
                       {y.begin() + row * all.features, y.begin() + (row + 1) * all.features});
    }
  }
}

TEST(Product, NotANumberReachesItsOwnRowOnly) {
  GemmCase c;
  c.x[static_cast<size_t>(11 * c.sum + 3)] = std::numeric_limits<float>::quiet_NaN();
  GemmCase clean;
  const auto y = c.run();
  const auto want = clean.run();
  for (size_t i = 0; i < y.size(); ++i) {
    if (i / 10 == 11) {
      EXPECT_TRUE(std::isnan(y[i]));
    } else {
      ASSERT_EQ(want[i], y[i]);
    }
  }
}

TEST(Product, InfinityTimesZeroIsNotANumber) {
  GemmCase c;
  c.x[0] = std::numeric_limits<float>::infinity();
  c.w[0] = 0;
  c.w[9] = 2;
  const auto y = c.run();
  EXPECT_TRUE(std::isnan(y[0]));
  EXPECT_EQ(std::numeric_limits<float>::infinity(), y[1]);
}

TEST(Product, SumsPastTheRangeOfF32AreInfinite) {
  GemmCase c;
  std::fill(c.x.begin(), c.x.end(), 3e38f);
  std::fill(c.w.begin(), c.w.end(), 3e38f);
  for (float v : c.run()) ASSERT_EQ(std::numeric_limits<float>::infinity(), v);
}

// The weights of a case in a type, k-major or n-major, dense or behind pointers.
std::vector<float> run_weights(DType type, Major major, bool discrete) {
  const GemmCase c;
  Builder g("weights");
  const auto x = g.input("x", {c.rows, c.sum}, type);
  const WeightOptions options{.major = major};
  const Shape shape{c.experts, c.features, c.sum};
  const auto ends = g.groups("g", 3, GroupForm::ends);
  const WeightOperand w = discrete ? WeightOperand(g.weight_pointers("w", shape, type, options))
                                   : WeightOperand(g.weights("w", shape, type, options));
  g.output("y", g.add(GroupedGemm{.a = x, .b = w, .groups = ends}));
  Bench b(finish(g));
  numerics::encode_row(type, c.x.data(), 0, c.rows * c.sum, b.tensors.data<void>("x"));
  put_groups(b.tensors, "g", GroupForm::ends, DType::i32, c.ranges);
  std::vector<float> stored = c.w;
  for (int64_t i = 0; major == Major::n && i < 3 * 90; ++i) {
    const int64_t e = i / 90;
    const int64_t n = i % 90 / 9;
    stored[static_cast<size_t>(e * 90 + i % 9 * 10 + n)] = c.w[static_cast<size_t>(i)];
  }
  const int64_t element = bits(type) / 8;
  std::vector<std::vector<uint8_t>> experts(3, std::vector<uint8_t>(90 * 4));
  std::vector<int64_t> pointers;
  for (int64_t e = 0; e < 3; ++e) {
    auto& memory = experts[static_cast<size_t>(e)];
    numerics::encode_row(type, stored.data() + e * 90, 0, 90, memory.data());
    pointers.push_back(reinterpret_cast<int64_t>(memory.data()));
    if (!discrete) {
      std::memcpy(b.tensors.data<uint8_t>("w") + e * 90 * element, memory.data(),
                  static_cast<size_t>(90 * element));
    }
  }
  if (discrete) b.tensors.set("w", pointers);
  b.run_well();
  return b.tensors.values<float>("y");
}

TEST(Product, WeightsLieAsTheyAreDeclared) {
  const auto want = GemmCase().expected();
  for (const DType type : {DType::bf16, DType::f16}) {
    for (const Major major : {Major::k, Major::n}) {
      for (const bool discrete : {false, true}) {
        SCOPED_TRACE(std::string(name(type)) + " " + std::string(name(major)));
        expect_same_bits(run_weights(type, major, discrete), want);
      }
    }
  }
  expect_same_bits(run_weights(DType::f32, Major::k, true), want);
}

TEST(Product, NullPointerOfAnExpertIsAFinding) {
  const GemmCase c;
  Builder g("null");
  const auto x = g.input("x", {c.rows, c.sum}, DType::f32);
  const auto w = g.weight_pointers("w", {c.experts, c.features, c.sum}, DType::f32);
  const auto ends = g.groups("g", 3, GroupForm::ends);
  g.output("y", g.add(GroupedGemm{.a = x, .b = w, .groups = ends}));
  Bench b(finish(g));
  b.tensors.set("x", c.x);
  b.tensors.set("w", std::vector<int64_t>(3, 0));
  b.tensors.set<int32_t>("g", {0, 40, 40});
  const Status s = b.run();
  ASSERT_FALSE(s);
  EXPECT_EQ("E-POINTER", s.findings()[0].code);
  // An expert without rows is never read.
  b.tensors.set<int32_t>("g", {0, 0, 0});
  b.run_well();
}

TEST(Product, StridesOfInputsAndOutputs) {
  const GemmCase c;
  Builder g("strides");
  const auto x = g.input("x", {c.rows, c.sum}, DType::f32, {.strides = {12, 1}});
  const auto w = g.weights("w", {3, 10, 9}, DType::f32, {.strides = {1, 40, 4}});
  const auto ends = g.groups("g", 3, GroupForm::ends);
  g.output("y", g.add(GroupedGemm{.a = x, .b = w, .groups = ends}), {.strides = {1, 41}});
  Bench b(finish(g));
  put_groups(b.tensors, "g", GroupForm::ends, DType::i32, c.ranges);
  for (int64_t i = 0; i < c.rows * 9; ++i) {
    b.tensors.data<float>("x")[i / 9 * 12 + i % 9] = c.x[static_cast<size_t>(i)];
  }
  for (int64_t i = 0; i < 270; ++i) {
    b.tensors.data<float>("w")[i / 90 + i % 90 / 9 * 40 + i % 9 * 4] = c.w[static_cast<size_t>(i)];
  }
  b.run_well();
  const auto want = c.expected();
  for (int64_t i = 0; i < c.rows * 10; ++i) {
    ASSERT_EQ(want[static_cast<size_t>(i)], b.tensors.data<float>("y")[i % 10 * 41 + i / 10]);
  }
  for (int64_t n = 0; n < 9; ++n) {  // between the columns
    uint32_t gap = 0;
    std::memcpy(&gap, b.tensors.data<float>("y") + n * 41 + 40, 4);
    EXPECT_EQ(0xA5A5A5A5U, gap);
  }
}

TEST(Product, GatherReadsTheRowsThatItNames) {
  for (const DType type : {DType::i32, DType::i64}) {
    Builder g("gather");
    const auto x = g.input("x", {5, 9}, DType::f32);
    const auto w = g.weights("w", {3, 10, 9}, DType::f32);
    const auto ends = g.groups("g", 3, GroupForm::ends);
    const auto index = g.index("index", 40, type);
    g.output("y", g.add(GroupedGemm{.a = x, .b = w, .groups = ends, .gather = index}));
    Bench b(finish(g));
    GemmCase c;
    const auto tokens = whole_numbers(45, 9);
    std::vector<int64_t> from;
    for (int64_t r = 0; r < 40; ++r) {
      from.push_back(r * 7 % 5);
      std::copy_n(tokens.begin() + from.back() * 9, 9, c.x.begin() + r * 9);
    }
    b.tensors.set("x", tokens);
    b.tensors.set("w", c.w);
    put_groups(b.tensors, "g", GroupForm::ends, DType::i32, c.ranges);
    const auto put = [&] {
      if (type == DType::i64) return b.tensors.set("index", from);
      b.tensors.set("index", std::vector<int32_t>(from.begin(), from.end()));
    };
    put();
    b.run_well();
    expect_same_bits(b.tensors.values<float>("y"), c.expected());
    for (const int64_t bad : {-1, 5, 1 << 30}) {
      from[33] = bad;
      put();
      const Status s = b.run();
      ASSERT_FALSE(s);
      EXPECT_EQ("E-INDEX", s.findings()[0].code);
      EXPECT_EQ("index", s.findings()[0].op);
      EXPECT_EQ("0 .. 4", s.findings()[0].wanted);
    }
  }
}

TEST(Product, MatmulOfBothMajors) {
  const GemmCase c{.experts = 1, .ranges = consecutive({40})};
  for (const Major major : {Major::k, Major::n}) {
    Builder g("matmul");
    const auto a = g.input("a", {40, 9}, DType::f32);
    const bool n_major = major == Major::n;
    const auto b = g.input("b", {n_major ? 9 : 10, n_major ? 10 : 9}, DType::f32);
    g.output("y", g.add(Matmul{.a = a, .b = b, .b_major = major}));
    Bench bench(finish(g));
    std::vector<float> stored(90);
    for (size_t i = 0; i < 90; ++i) stored[n_major ? i % 9 * 10 + i / 9 : i] = c.w[i];
    bench.tensors.set("a", c.x);
    bench.tensors.set("b", stored);
    bench.run_well();
    expect_same_bits(bench.tensors.values<float>("y"), c.expected());
  }
}

}  // namespace
}  // namespace cohort::test
