// unary: values against 400-bit ones, gradients against finite differences, edges, attributes.
#include <cmath>

#include "ops/small.h"
#include "ops/unary_values.h"

namespace cohort::test {
namespace {

Unary forward(UnaryMode mode) { return Unary{.mode = mode}; }

// in * f'(x), element by element, with x as a stored tensor.
std::vector<float> backward(Unary op, const std::vector<float>& dy, const std::vector<float>& x) {
  const auto n = static_cast<int64_t>(x.size());
  Small s(1, n);
  op.direction = Direction::bwd;
  op.x = MatrixArg(s.g.input("saved", {1, n}, DType::f32));
  Bench b = s.bench(s.x.then(op));
  b.tensors.set("x", dy);
  b.tensors.set("saved", x);
  b.run_well();
  return b.tensors.values<float>("y");
}

TEST(Unary, ValuesAreTheNearestF32) {
  for (const UnaryValue& v : kUnaryValues) {
    Unary op{.mode = v.mode, .alpha = v.alpha, .beta = v.beta};
    const std::vector<float> got =
        v.direction == Direction::fwd ? applied(op, {v.x}) : backward(op, {1.5f}, {v.x});
    EXPECT_EQ(got[0], v.wanted) << name(v.mode) << " " << name(v.direction) << " of " << v.x;
  }
}

TEST(Unary, ExactModes) {
  const std::vector<float> x = {-2.5f, -1, -0.5f, -0.0f, 0, 0.25f, 1, 4, kInf, -kInf, kNaN};
  const std::pair<UnaryMode, std::vector<float>> wanted[] = {
      {UnaryMode::identity, x},
      {UnaryMode::relu, {0, 0, 0, -0.0f, 0, 0.25f, 1, 4, kInf, 0, kNaN}},
      {UnaryMode::neg, {2.5f, 1, 0.5f, 0, -0.0f, -0.25f, -1, -4, -kInf, kInf, kNaN}},
      {UnaryMode::abs, {2.5f, 1, 0.5f, 0, 0, 0.25f, 1, 4, kInf, kInf, kNaN}},
      {UnaryMode::ceil, {-2, -1, -0.0f, -0.0f, 0, 1, 1, 4, kInf, -kInf, kNaN}},
      {UnaryMode::floor, {-3, -1, -1, -0.0f, 0, 0, 1, 4, kInf, -kInf, kNaN}},
      {UnaryMode::sqrt, {kNaN, kNaN, kNaN, -0.0f, 0, 0.5f, 1, 2, kInf, kNaN, kNaN}},
      {UnaryMode::rsqrt, {kNaN, kNaN, kNaN, -kInf, kInf, 2, 1, 0.5f, 0, kNaN, kNaN}},
      {UnaryMode::reciprocal, {-0.4f, -1, -2, -kInf, kInf, 4, 1, 0.25f, 0, -0.0f, kNaN}},
      {UnaryMode::logical_not, {0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0}},
      {UnaryMode::column_index, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}},
  };
  for (const auto& [mode, y] : wanted) {
    SCOPED_TRACE(name(mode));
    expect_numbers(applied(forward(mode), x), y);
  }
}

TEST(Unary, Edges) {
  const std::vector<float> x = {-0.0f, 0, kInf, -kInf, kNaN};
  const std::pair<UnaryMode, std::vector<float>> wanted[] = {
      {UnaryMode::silu, {-0.0f, 0, kInf, kNaN, kNaN}},
      {UnaryMode::gelu, {-0.0f, 0, kInf, kNaN, kNaN}},
      {UnaryMode::gelu_tanh, {-0.0f, 0, kInf, kNaN, kNaN}},
      {UnaryMode::tanh, {-0.0f, 0, 1, -1, kNaN}},
      {UnaryMode::sigmoid, {0.5f, 0.5f, 1, 0, kNaN}},
      {UnaryMode::elu, {-0.0f, 0, kInf, -1, kNaN}},
      {UnaryMode::softplus, {0x1.62e43p-1f, 0x1.62e43p-1f, kInf, 0, kNaN}},
      {UnaryMode::exp, {1, 1, kInf, 0, kNaN}},
      {UnaryMode::log, {-kInf, -kInf, kInf, kNaN, kNaN}},
      {UnaryMode::erf, {-0.0f, 0, 1, -1, kNaN}},
      {UnaryMode::sin, {-0.0f, 0, kNaN, kNaN, kNaN}},
      {UnaryMode::cos, {1, 1, kNaN, kNaN, kNaN}},
      {UnaryMode::tan, {-0.0f, 0, kNaN, kNaN, kNaN}},
  };
  for (const auto& [mode, y] : wanted) {
    SCOPED_TRACE(name(mode));
    expect_numbers(applied(forward(mode), x), y);
  }
  // Small results are not flushed, large ones overflow.
  expect_numbers(applied(forward(UnaryMode::exp), {-103, 89}), {0x1p-149f, kInf});
}

TEST(Unary, ReluHasClipsAndASlope) {
  const Unary op{.mode = UnaryMode::relu, .lower_clip = -1, .upper_clip = 6, .slope = 0.25f};
  const std::vector<float> x = {-9, -1, -0.5f, -0.0f, 6, 7, kInf, -kInf, kNaN};
  expect_numbers(applied(op, x), {-3, -1, -0.5f, -0.0f, 6, 6, 6, -kInf, kNaN});
  // At a clip: the slope below, the gradient itself above.
  expect_numbers(backward(op, {2, 2, 2, 2, 2, 2, 2, 2, 2}, x),
                 {0.5f, 0.5f, 2, 2, 2, 0, 0, 0.5f, kNaN});
  // A blocked gradient is 0 whatever it was.
  expect_numbers(
      backward(forward(UnaryMode::relu), {kNaN, kInf, -1, kNaN, -0.0f}, {-1, 0, -2, 1, 1}),
      {0, 0, 0, kNaN, -0.0f});
}

TEST(Unary, RowIndexCountsRowsOfTheTokenAxis) {
  Small s(200, 1, {3, 200});
  Bench b = s.bench(s.x.then(forward(UnaryMode::row_index)));
  b.tensors.set("x", std::vector<float>(200, kNaN));
  b.run_well();
  std::vector<float> wanted;
  for (int i = 0; i < 200; ++i) wanted.push_back(static_cast<float>(i));
  expect_numbers(b.tensors.values<float>("y"), wanted);
}

// Forward functions by their definitions, apart from the ones that the library evaluates.
long double definition(const Unary& op, long double x) {
  const long double pi = std::acos(-1.0L);
  const auto alpha = static_cast<long double>(op.alpha);
  const auto beta = static_cast<long double>(op.beta);
  const auto low = static_cast<long double>(op.lower_clip);
  switch (*op.mode) {
    case UnaryMode::silu:
      return x / (1 + std::exp(-beta * x));
    case UnaryMode::gelu:
      return x * (1 + std::erf(x / std::sqrt(2.0L))) / 2;
    case UnaryMode::gelu_tanh:
      return x * (1 + std::tanh(std::sqrt(2 / pi) * (x + 0.044715L * x * x * x))) / 2;
    case UnaryMode::tanh:
      return std::tanh(x);
    case UnaryMode::sigmoid:
      return 1 / (1 + std::exp(-x));
    case UnaryMode::elu:
      return x > 0 ? x : alpha * (std::exp(x) - 1);
    case UnaryMode::softplus:
      return std::log(1 + std::exp(beta * x)) / beta;
    case UnaryMode::relu:
      if (x < low) return low + static_cast<long double>(op.slope) * (x - low);
      return std::min(x, static_cast<long double>(op.upper_clip));
    default:
      return std::nanl("");
  }
}

std::vector<Unary> differentiable() {
  std::vector<Unary> ops;
  for (const UnaryMode mode :
       {UnaryMode::relu, UnaryMode::silu, UnaryMode::gelu, UnaryMode::gelu_tanh, UnaryMode::tanh,
        UnaryMode::sigmoid, UnaryMode::elu, UnaryMode::softplus}) {
    Unary op{.mode = mode};
    if (mode == UnaryMode::elu) op.alpha = 0.75f;
    if (mode == UnaryMode::silu || mode == UnaryMode::softplus) op.beta = 1.25f;
    ops.push_back(op);
  }
  ops.push_back({.mode = UnaryMode::relu, .lower_clip = -1, .upper_clip = 2.5f, .slope = 0.25f});
  ops.push_back({.mode = UnaryMode::relu, .lower_clip = 0.5f, .upper_clip = 3, .slope = -2});
  ops.push_back({.mode = UnaryMode::relu, .lower_clip = -3, .upper_clip = -0.5f});
  return ops;
}

TEST(Unary, GradientsAgreeWithFiniteDifferences) {
  std::mt19937 random(5);
  std::uniform_real_distribution<float> uniform(-4, 4);
  std::vector<float> x(200), dy(200);
  for (float& v : x) v = uniform(random);
  for (float& v : dy) v = uniform(random);
  for (const Unary& op : differentiable()) {
    const std::vector<float> got = backward(op, dy, x);
    for (size_t i = 0; i < x.size(); ++i) {
      const long double h = 1e-5L;
      const auto at = static_cast<long double>(x[i]);
      const long double slope = (definition(op, at + h) - definition(op, at - h)) / (2 * h);
      const long double wanted = static_cast<long double>(dy[i]) * slope;
      const long double bound = 1e-7L * std::fabs(wanted) + 2e-9L;
      EXPECT_LE(std::fabs(static_cast<long double>(got[i]) - wanted), bound)
          << name(*op.mode) << " at " << x[i];
    }
  }
}

// At a clip the derivative is that of the side below; the next numbers have those of their sides.
TEST(Unary, ReluGradientsAtItsClipsAreOneSidedDifferences) {
  int checked = 0;
  for (const Unary& op : differentiable()) {
    if (*op.mode != UnaryMode::relu) continue;
    for (const float clip : {op.lower_clip, op.upper_clip}) {
      if (std::isinf(clip)) continue;
      const std::vector<float> x{std::nextafter(clip, -kInf), clip, std::nextafter(clip, kInf)};
      const std::vector<float> got = backward(op, {1.5f, 1.5f, 1.5f}, x);
      for (size_t i = 0; i < 3; ++i) {
        const long double h = i < 2 ? -1e-5L : 1e-5L;
        const auto at = static_cast<long double>(x[i]);
        const long double slope = (definition(op, at + h) - definition(op, at)) / h;
        EXPECT_NEAR(static_cast<double>(got[i]), static_cast<double>(1.5L * slope), 1e-9)
            << "at " << x[i];
        ++checked;
      }
    }
  }
  EXPECT_EQ(checked, 21);
}

TEST(Unary, TheSavedInputMayBeAValueOrStridedBf16) {
  Builder g("saved");
  const auto dy = g.add(Load{.x = g.input("dy", {2, 3}, DType::f32)});
  const auto x = g.input("x", {2, 3}, DType::bf16, {.strides = {1, 2}});
  const Unary stored{.mode = UnaryMode::relu, .direction = Direction::bwd, .x = MatrixArg(x)};
  const Unary loaded{
      .mode = UnaryMode::relu, .direction = Direction::bwd, .x = MatrixArg(g.add(Load{.x = x}))};
  g.output("a", dy.then(stored));
  g.output("b", dy.then(loaded));
  Bench b(finish(g));
  b.tensors.set<float>("dy", {1, 2, 3, 4, 5, 6});
  const uint16_t one = 0x3F80, minus = 0xBF80;
  b.tensors.set<uint16_t>("x", {one, minus, minus, one, one, one});  // columns first
  b.run_well();
  expect_numbers(b.tensors.values<float>("a"), {1, 0, 3, 0, 5, 6});
  expect_numbers(b.tensors.values<float>("b"), {1, 0, 3, 0, 5, 6});
}

std::string faults(const Unary& op) {
  Small s(2, 3);
  return s.faults(s.x.then(op));
}

TEST(Unary, AttributesThatDoNotFitAreFindings) {
  EXPECT_EQ(faults({.mode = UnaryMode::exp, .beta = 2}), "E-ATTRIBUTE");
  EXPECT_EQ(faults({.mode = UnaryMode::silu, .alpha = 2}), "E-ATTRIBUTE");
  EXPECT_EQ(faults({.mode = UnaryMode::silu, .lower_clip = 1, .slope = 2}),
            "E-ATTRIBUTE E-ATTRIBUTE");
  EXPECT_EQ(faults({.mode = UnaryMode::relu, .lower_clip = 2, .upper_clip = 1}), "E-ATTRIBUTE");
  EXPECT_EQ(faults({.mode = UnaryMode::relu, .lower_clip = 2, .upper_clip = 2}), "");
  EXPECT_EQ(faults({.mode = UnaryMode::softplus, .beta = 0}), "E-ATTRIBUTE");
  EXPECT_EQ(faults({.mode = UnaryMode::silu, .beta = 0}), "");
  EXPECT_EQ(faults({.mode = UnaryMode::silu, .beta = kNaN}), "E-ATTRIBUTE");
  EXPECT_EQ(faults({.mode = UnaryMode::elu, .alpha = kInf}), "E-ATTRIBUTE");
  EXPECT_EQ(faults({.mode = UnaryMode::relu, .direction = Direction::bwd}), "E-ATTRIBUTE");
  EXPECT_EQ(faults({.mode = static_cast<UnaryMode>(200)}), "E-ATTRIBUTE");
}

TEST(Unary, TheSavedInputIsChecked) {
  Small s(2, 3);
  const auto x = s.g.input("saved", {2, 4}, DType::f32);
  const Unary op{.mode = UnaryMode::relu, .direction = Direction::bwd, .x = MatrixArg(x)};
  s.g.output("y", s.x.then(op));
  const Findings wrong = std::move(s.g).finish().findings();
  const auto f = only(wrong);
  EXPECT_EQ(f.code, "E-SHAPE");
  EXPECT_EQ(f.field, "x");
  EXPECT_EQ(f.dimension, 1);
  EXPECT_EQ(f.wanted, "3");
  EXPECT_EQ(f.got, "4");

  Small t(2, 3);
  const auto saved = t.g.input("saved", {2, 3}, DType::f32);
  EXPECT_EQ(t.faults(t.x.then(Unary{.mode = UnaryMode::relu, .x = MatrixArg(saved)})),
            "E-ATTRIBUTE");
  Small u(2, 3);
  const auto other = u.g.input("saved", {2, 3}, DType::f32);
  const Unary no_backward{
      .mode = UnaryMode::exp, .direction = Direction::bwd, .x = MatrixArg(other)};
  EXPECT_EQ(u.faults(u.x.then(no_backward)), "E-ATTRIBUTE");
}

}  // namespace
}  // namespace cohort::test
