// The bound of gradients of weights, combine and scattered outputs: another f32 evaluation passes,
// a planted error is found at its place.
#include <cohort/compare.h>

#include <cmath>

#include "engine/gemm_case.h"

namespace cohort::test {
namespace {

// Tokens to experts and back, and the gradients, of normal numbers.
class CompareRoots : public ::testing::Test {
 protected:
  static constexpr int64_t kT = 12, kK = 2, kRows = kT * kK;

  static Graph describe() {
    Builder g("roots");
    const auto x = g.input("x", {kRows, 40}, DType::f32);
    const auto dy = g.input("dy", {kRows, 24}, DType::f32);
    const auto ends = g.groups("ends", 3, GroupForm::ends);
    const auto w = g.weights("w", {3, 24, 40}, DType::f32);
    const auto s = g.input("s", {kT, kK}, DType::f32);
    const auto rev = g.index("rev", {kT, kK});
    const auto scat = g.index("scat", kRows);
    const auto y = g.add(GroupedGemm{.a = x, .b = w, .groups = ends});
    const auto o = g.add(Combine{.y = y, .rev = rev, .weights = s});
    g.output("o", o);
    g.output("dyo", g.add(DCombine{.d_out = o, .scat = scat, .top_k = kK, .weights = s}));
    g.output("ds", g.add(DCombineWeights{.d_out = o, .y = y, .rev = rev}));
    g.output("dw", g.add(GroupedWgrad{.a = dy,
                                      .b = x,
                                      .groups = ends,
                                      .alpha = g.group_input("alpha", 3),
                                      .accumulate = g.weights("old", {3, 24, 40}, DType::f32)}));
    g.output("dw_of_y", g.add(GroupedWgrad{.a = y, .b = x, .groups = ends}),
             {.dtype = DType::bf16});
    g.output("moved", y, {.tail = Tail::zero, .scatter = scat, .rows = Dim(kRows + 3)});
    return finish(g);
  }

  CompareRoots() : bench_(describe()) {
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    for (const char* name : {"x", "dy", "w", "s", "alpha", "old"}) {
      auto v = bench_.tensors.values<float>(name);
      for (float& f : v) f = normal(random);
      bench_.tensors.set(name, v);
    }
    bench_.tensors.set<int32_t>("ends", {9, 9, 24});
    std::vector<int32_t> rev(kRows);
    std::vector<int32_t> scat(kRows);
    for (int32_t e = 0; e < kRows; ++e) {
      rev[static_cast<size_t>(e)] = e * 5 % kRows;
      scat[static_cast<size_t>(e * 5 % kRows)] = e;
    }
    bench_.tensors.set("rev", rev);
    bench_.tensors.set("scat", scat);
    bench_.run_well();
  }
  Comparison compared() {
    Result<Comparison> c = compare(bench_.graph, {}, bench_.tensors.all(), {});
    EXPECT_TRUE(c) << c.findings().text();
    return *c;
  }
  void expect_only(std::string_view name, int64_t row, int64_t column) {
    const Comparison c = compared();
    for (int32_t i = 0; i < c.size(); ++i) {
      EXPECT_EQ(c[i].tensor == name ? 1 : 0, c[i].wrong) << c.text();
      if (c[i].tensor != name) continue;
      EXPECT_EQ(row, c[i].index[0]) << c.text();
      EXPECT_EQ(column, c[i].index[1]) << c.text();
    }
  }

  Bench bench_;
};

TEST_F(CompareRoots, TheReferenceEqualsItself) {
  const Comparison c = compared();
  EXPECT_TRUE(c.good()) << c.text();
  EXPECT_EQ(6, c.size());
  int64_t elements = 0;
  for (int32_t i = 0; i < c.size(); ++i) elements += c[i].elements;
  const int64_t o = kT * 24;
  const int64_t rows = kRows * 24;
  const int64_t moved = (kRows + 3) * 24;
  EXPECT_EQ(o + rows + kRows + 3 * 24 * 40 + 3 * 24 * 40 + moved, elements) << c.text();
}

// Sums in f32 from the other end are other f32 numbers, and right.
TEST_F(CompareRoots, AnotherOrderPasses) {
  auto* const dw = bench_.tensors.data<float>("dw");
  const auto dy = bench_.tensors.values<float>("dy");
  const auto x = bench_.tensors.values<float>("x");
  const auto old = bench_.tensors.values<float>("old");
  const auto alpha = bench_.tensors.values<float>("alpha");
  int different = 0;
  for (size_t i = 0; i < 24; ++i) {
    for (size_t j = 0; j < 40; ++j) {
      float sum = 0;
      for (size_t r = 24; r-- > 9;) sum += dy[r * 24 + i] * x[r * 40 + j];
      const size_t at = (2 * 24 + i) * 40 + j;
      const float value = sum * alpha[2] + old[at];
      different += value != dw[at] ? 1 : 0;
      dw[at] = value;
    }
  }
  EXPECT_GT(different, 20);
  const Comparison c = compared();
  EXPECT_TRUE(c.good()) << c.text();
}

TEST_F(CompareRoots, PlantedErrorsAreFound) {
  const auto spoil = [&](const char* name, size_t at, int64_t row, int64_t column) {
    float& f = bench_.tensors.data<float>(name)[at];
    const float was = f;
    f += 1e-3f * std::max(1.0f, std::fabs(f));
    expect_only(name, row, column);
    f = was;
  };
  spoil("o", 5 * 24 + 3, 5, 3);
  spoil("dyo", 7 * 24 + 23, 7, 23);
  spoil("ds", 9, 4, 1);
  spoil("dw", (2 * 24 + 4) * 40 + 39, 2 * 24 + 4, 39);
  spoil("dw", (24 + 3) * 40, 24 + 3, 0);  // of the empty group
  spoil("moved", 25 * 24, 25, 0);         // a place that nobody writes
}

}  // namespace
}  // namespace cohort::test
