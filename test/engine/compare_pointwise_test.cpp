// Pointwise functions of computed operands are held to a bound: the reference passes, and a wrong
// number in any place is reported.
#include <cohort/compare.h>

#include <cmath>

#include "engine/gemm_case.h"
#include "fixtures/findings.h"

namespace cohort::test {
namespace {

constexpr int64_t kRows = 6;
constexpr int64_t kColumns = 8;

// An op on a product, with another product where it has a second operand.
struct Function {
  const char* name;
  Value (*make)(Value x, Value other);
  bool positive = false;  ///< Of positive numbers only.
};

Unary at(UnaryMode mode, Value saved) {
  return {.mode = mode, .direction = Direction::bwd, .x = MatrixArg(saved)};
}

const Function kFunctions[] = {
    {"mod_of_two",
     [](Value x, Value y) { return x.then(Binary{.mode = BinaryMode::mod, .by = y}); }},
    {"mod_by_a_number",
     [](Value x, Value) { return x.then(Binary{.mode = BinaryMode::mod, .by = 0.75}); }},
    {"mod_of_a_number",
     [](Value x, Value) {
       return x.then(Binary{.mode = BinaryMode::mod, .by = 9.0, .swapped = true});
     },
     true},
    {"square", [](Value x, Value) { return x.then(Binary{.mode = BinaryMode::pow, .by = 2.0}); }},
    {"cube", [](Value x, Value) { return x.then(Binary{.mode = BinaryMode::pow, .by = 3.0}); }},
    {"inverse", [](Value x, Value) { return x.then(Binary{.mode = BinaryMode::pow, .by = -1.0}); },
     true},
    {"power_of_two",
     [](Value x, Value y) { return x.then(Binary{.mode = BinaryMode::pow, .by = y}); }, true},
    {"relu_backward",
     [](Value x, Value y) {
       Unary op = at(UnaryMode::relu, y);
       op.slope = 0.25f;
       op.upper_clip = 2;
       return x.then(op);
     }},
    {"silu_backward", [](Value x, Value y) { return x.then(at(UnaryMode::silu, y)); }},
    {"gelu_backward", [](Value x, Value y) { return x.then(at(UnaryMode::gelu, y)); }},
    {"gelu_tanh_backward", [](Value x, Value y) { return x.then(at(UnaryMode::gelu_tanh, y)); }},
    {"tanh_backward", [](Value x, Value y) { return x.then(at(UnaryMode::tanh, y)); }},
    {"sigmoid_backward", [](Value x, Value y) { return x.then(at(UnaryMode::sigmoid, y)); }},
    {"elu_backward", [](Value x, Value y) { return x.then(at(UnaryMode::elu, y)); }},
    {"softplus_backward", [](Value x, Value y) { return x.then(at(UnaryMode::softplus, y)); }},
    {"relu_that_falls",
     [](Value x, Value) { return x.then(Unary{.mode = UnaryMode::relu, .slope = -0.5f}); }},
    {"elu_that_falls",
     [](Value x, Value) { return x.then(Unary{.mode = UnaryMode::elu, .alpha = -1.5f}); }},
    {"tangent", [](Value x, Value) { return x.then(Unary{.mode = UnaryMode::tan}); }},
};

class ComparePointwise : public ::testing::TestWithParam<Function> {
 protected:
  static Graph describe() {
    Builder g("pointwise");
    const auto a = g.input("a", {kRows, 16}, DType::f32);
    const auto b = g.input("b", {kColumns, 16}, DType::f32);
    const auto c = g.input("c", {kColumns, 16}, DType::f32);
    const auto x = g.add(Matmul{.a = a, .b = b});
    const auto other = g.add(Matmul{.a = a, .b = c});
    g.output("y", GetParam().make(x, other));
    g.output("other", other);
    return finish(g);
  }
  ComparePointwise() : bench_(describe()) {
    std::mt19937 random(7);
    std::uniform_real_distribution<float> signed_numbers(-1, 1);
    for (const char* name : {"a", "b", "c"}) {
      auto v = bench_.tensors.values<float>(name);
      for (float& f : v) {
        f = signed_numbers(random) * 0.9f;
        if (GetParam().positive) f = std::fabs(f) + 0.1f;
      }
      bench_.tensors.set(name, v);
    }
    bench_.run_well();
  }
  Comparison compared() {
    Result<Comparison> c = compare(bench_.graph, {}, bench_.tensors.all(), {});
    EXPECT_TRUE(c) << c.findings().text();
    return *c;
  }

  Bench bench_;
};

TEST_P(ComparePointwise, AWrongNumberIsReported) {
  const Comparison right = compared();
  EXPECT_TRUE(right.good()) << right.text();
  EXPECT_FALSE(has(right.text(), "not bounded")) << right.text();
  for (int64_t i = 0; i < kRows * kColumns; ++i) {
    float& y = bench_.tensors.data<float>("y")[i];
    const float was = y;
    for (const float sign : {-1.0f, 1.0f}) {
      y = was + sign * 1e-3f * std::max(1.0f, std::fabs(was));
      const Comparison wrong = compared();
      EXPECT_EQ(wrong[0].wrong, 1) << wrong.text();
      EXPECT_EQ(wrong[0].index[0], i / kColumns);
      EXPECT_EQ(wrong[0].index[1], i % kColumns);
      EXPECT_LT(wrong[0].bound, 5e-4 * std::max(1.0, std::fabs(static_cast<double>(was))));
    }
    y = was;
  }
}

INSTANTIATE_TEST_SUITE_P(Functions, ComparePointwise, ::testing::ValuesIn(kFunctions),
                         [](const auto& p) { return std::string(p.param.name); });

// 0.1 and 0.3 are a multiple apart or not: the remainder may be next to 0 or next to the divisor,
// and nothing beyond.
TEST(CompareRemainder, AtAMultipleMayBeEither) {
  Builder g("multiple");
  const auto x =
      g.add(Matmul{.a = g.input("a", {1, 3}, DType::f32), .b = g.input("b", {1, 3}, DType::f32)});
  g.output("y", x.then(Binary{.mode = BinaryMode::mod, .by = 0.3}));
  Bench bench(finish(g));
  bench.tensors.set("a", std::vector<float>{0.1f, 0.1f, 0.1f});
  bench.tensors.set("b", std::vector<float>{1, 1, 1});
  bench.run_well();
  for (const auto& [y, is_good] : {std::pair(0.0f, true), std::pair(0.3f, true),
                                   std::pair(0.301f, false), std::pair(-1e-6f, false)}) {
    bench.tensors.data<float>("y")[0] = y;
    const Comparison c = *compare(bench.graph, {}, bench.tensors.all(), {});
    EXPECT_EQ(c.good(), is_good) << y << ": " << c.text();
  }
}

}  // namespace
}  // namespace cohort::test
