// The bound at the ends of the number range, and errors that no bound measures.
#include <cohort/compare.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "engine/harness.h"

namespace cohort::test {
namespace {

Comparison compared(Bench& bench) {
  const auto all = bench.tensors.all();
  Result<Comparison> c = compare(bench.graph, {}, all, {});
  EXPECT_TRUE(c) << c.findings().text();
  return *c;
}

struct Zeros {
  Format format;
  Reciprocal reciprocal;
  std::vector<uint8_t> wrong;  // bytes of codes that no bound allows: NaN, -1
  int64_t codes;               // in a byte
};

// Two large terms that cancel: the product is -1 and may be a little above 0, relu makes it 0, and
// a block of zeros has the smallest scale, whose factor takes whatever the bound allows past f32.
class ZeroBlock : public ::testing::TestWithParam<Zeros> {
 protected:
  static Graph describe() {
    Builder g("zero_block");
    const auto a = g.input("a", {1, 2}, DType::f32);
    const auto b = g.input("b", {32, 2}, DType::f32);
    const auto y = g.add(Matmul{.a = a, .b = b}).then(Unary{.mode = UnaryMode::relu});
    const Quantize q{.to = GetParam().format, .reciprocal = GetParam().reciprocal};
    g.output("y", y.then(q).row);
    return finish(g);
  }
};

TEST_P(ZeroBlock, OfARectifiedDifferencePasses) {
  Bench bench(describe());
  bench.tensors.set("a", std::vector<float>{1e7f, -10000001.0f});
  bench.tensors.set("b", std::vector<float>(64, 1.0f));
  bench.run_well();
  EXPECT_EQ(0, bench.tensors.data<uint8_t>("y.scale")[0]);
  EXPECT_TRUE(compared(bench).good()) << compared(bench).text();
  // It is held to numbers still, and to those on the right side of 0.
  const int64_t codes = GetParam().codes;
  for (const uint8_t wrong : GetParam().wrong) {
    bench.tensors.data<uint8_t>("y")[5] = wrong;
    const Comparison c = compared(bench);
    EXPECT_EQ(codes, c[0].wrong) << c.text();
    EXPECT_EQ(5 * codes, c[0].index[1]) << c.text();
  }
}

INSTANTIATE_TEST_SUITE_P(
    Formats, ZeroBlock,
    ::testing::Values(Zeros{Format::mxfp8_e4m3, Reciprocal::exact, {0x7F, 0xB8}, 1},
                      Zeros{Format::nvfp4, Reciprocal::exact, {0xAA}, 2},
                      Zeros{Format::nvfp4, Reciprocal::approx, {0xAA}, 2}),
    [](const auto& p) {
      return std::string(name(p.param.format)) + "_" + std::string(name(p.param.reciprocal));
    });

// No number of bounds says how far off these are, and 0 would say that nothing is.
TEST(CompareExtremes, WhatIsWrongWithoutMeasureIsInfinite) {
  Builder g("exact");
  const auto x = g.input("x", {2, 4}, DType::f32);
  g.output("y", g.add(Load{.x = x}).then(Unary{.mode = UnaryMode::relu}));
  Bench bench(finish(g));
  bench.tensors.set("x", std::vector<float>{1, 2, 3, 4, -5, -6, -7, -8});
  bench.run_well();
  const std::vector<float> right = bench.tensors.values<float>("y");
  EXPECT_EQ(0, compared(bench)[0].largest);
  constexpr float kInf = std::numeric_limits<float>::infinity();
  for (const float wrong : {1.0f, kInf, -kInf, std::numeric_limits<float>::quiet_NaN()}) {
    bench.tensors.set("y", right);
    bench.tensors.data<float>("y")[6] = wrong;
    const Comparison c = compared(bench);
    EXPECT_EQ(1, c[0].wrong) << c.text();
    EXPECT_TRUE(std::isinf(c[0].largest)) << c.text();
    EXPECT_NE(std::string::npos, c.text().find("past any number of bounds")) << c.text();
  }
}

// A bound that is wider above than below is measured on the side that the error is on.
TEST(CompareExtremes, ErrorsAreMeasuredOnTheirSide) {
  Builder g("sides");
  const auto a = g.input("a", {1, 2}, DType::f32);
  const auto b = g.input("b", {1, 2}, DType::f32);
  g.output("y", g.add(Matmul{.a = a, .b = b}).then(Unary{.mode = UnaryMode::exp}));
  Bench bench(finish(g));
  bench.tensors.set("a", std::vector<float>{3e6f, -3e6f});
  bench.tensors.set("b", std::vector<float>(2, 1.0f));
  bench.run_well();
  float& y = bench.tensors.data<float>("y")[0];
  const float right = y;
  y = 1e30f;
  const double above = compared(bench)[0].bound;
  y = -1e30f;
  const double below = compared(bench)[0].bound;
  ASSERT_LT(1.01 * below, above);
  // Less than the bound above, more than the one below.
  y = static_cast<float>(static_cast<double>(right) - (above + below) / 2);
  const Comparison c = compared(bench);
  EXPECT_EQ(1, c[0].wrong) << c.text();
  EXPECT_GT(c[0].largest, 1) << c.text();
  EXPECT_EQ(below, c[0].bound) << c.text();
}

}  // namespace
}  // namespace cohort::test
