// Bounds of unary and binary where operands are intervals: what any numbers inside make lies in the
// bound, the bound is about as wide as what they make, and it is finite unless NaN or a pole is
// inside.
#include <cmath>
#include <functional>
#include <random>

#include "ir/bound.h"
#include "ir/op_record.h"
#include "ops/small.h"

namespace cohort::test {
namespace {

struct Ends {
  float low;
  float high;
};

// An elementwise op of two computed operands, evaluated and bounded number by number.
class Pointwise {
 public:
  template <class Make>
  explicit Pointwise(Make make) : graph_(describe(make)) {
    const ir::Graph& g = *detail::Access::graph(graph_);
    node_ = &g.nodes.back();
    for (size_t f = 0; f < node_->op->fields.size(); ++f) {
      const std::string_view name = node_->op->fields[f].name;
      if (name == "by" || name == "x") field_ = f;
    }
  }
  float value(float x, float other) {
    float y = 0;
    node_->op->reference.map(panel(x, other, y));
    return y;
  }
  Ends bound(Ends x, Ends other) {
    Ends y{};
    const ir::Panel low = panel(x.low, other.low, y.low);
    const ir::Panel high = panel(x.high, other.high, y.high);
    node_->op->reference.bound({low, high});
    return y;
  }

 private:
  template <class Make>
  static Graph describe(Make make) {
    Builder g("pointwise");
    const auto x = g.add(Load{.x = g.input("x", {1, 1}, DType::f32)});
    const auto other = g.add(Load{.x = g.input("other", {1, 1}, DType::f32)});
    g.output("unread", other);
    g.output("y", x.then(make(other)));
    return finish(g);
  }
  ir::Panel panel(float& x, float& other, float& y) const {
    ir::Panel p;
    p.graph = detail::Access::graph(graph_);
    p.node = node_;
    p.rows = p.columns = 1;
    p.in = {&x, 1};
    p.operand[field_] = {&other, 1};
    p.out[0] = {&y, 1};
    return p;
  }

  Graph graph_;
  const ir::Node* node_ = nullptr;
  size_t field_ = 0;
};

auto binary(BinaryMode mode) {
  return [mode](Value other) { return Binary{.mode = mode, .by = other}; };
}
auto unary(const Unary& op) {
  return [op](Value) { return op; };
}
auto gradient(const Unary& op) {
  return [op](Value saved) {
    Unary u = op;
    u.direction = Direction::bwd;
    u.x = MatrixArg(saved);
    return u;
  };
}

// Intervals of every kind: around a number, one-sided, around 0, of one number.
class Intervals {
 public:
  explicit Intervals(uint32_t seed, int exponents = 6) : random_(seed), exponents_(exponents) {}
  Ends next() {
    const double middle = std::ldexp(signed_(random_), exponent());
    const double by =
        std::ldexp(signed_(random_), exponent() - 4 * static_cast<int>(random_() % 6));
    const double other = random_() % 8 == 0 ? 0 : middle + by;
    if (random_() % 10 == 0) return {static_cast<float>(middle), static_cast<float>(middle)};
    return {static_cast<float>(std::min(middle, other)),
            static_cast<float>(std::max(middle, other))};
  }
  Ends positive() {
    const Ends e = next();
    const float one = std::max(std::fabs(e.low), 1e-3f);
    const float other = std::max(std::fabs(e.high), 1e-3f);
    return {std::min(one, other), std::max(one, other)};
  }
  // Numbers inside, the ends first; `special` ones when they are inside.
  std::vector<float> inside(Ends e, std::initializer_list<float> special = {}) {
    std::vector<float> all{e.low, e.high};
    for (const float s : special) {
      for (const float f : {std::nextafter(s, -kInf), s, std::nextafter(s, kInf)}) {
        if (f >= e.low && f <= e.high) all.push_back(f);
      }
    }
    const auto low = static_cast<double>(e.low);
    for (int i = 0; i < 12; ++i) {
      const double part = std::uniform_real_distribution<double>(0, 1)(random_);
      const auto f = static_cast<float>(low + part * (static_cast<double>(e.high) - low));
      all.push_back(std::clamp(f, e.low, e.high));
    }
    return all;
  }

 private:
  int exponent() {
    return static_cast<int>(random_() % (2 * static_cast<unsigned>(exponents_) + 1)) - exponents_;
  }
  std::mt19937 random_;
  int exponents_;
  std::uniform_real_distribution<double> signed_{-1, 1};
};

struct Tried {
  int bounded = 0;
  int open = 0;        ///< An end at infinity, or NaN.
  int nan_inside = 0;  ///< A number inside made NaN.
  int tight = 0;       ///< Bounded, and not much wider than what numbers inside made.
};

// What all pairs of numbers of two intervals make, against the bound.
void try_pair(Pointwise& op, Ends x, Ends other, const std::vector<float>& xs,
              const std::vector<float>& others, bool is_exact, Tried& tried) {
  const Ends y = op.bound(x, other);
  float low = kInf;
  float high = -kInf;
  float most = 0;
  bool nan = false;
  for (const float a : xs) {
    for (const float b : others) {
      const float v = op.value(a, b);
      nan = nan || std::isnan(v);
      if (std::isnan(v)) continue;
      low = std::min(low, v);
      high = std::max(high, v);
      most = std::max(most, std::fabs(v));
    }
  }
  SCOPED_TRACE(std::to_string(x.low) + " .. " + std::to_string(x.high) + " with " +
               std::to_string(other.low) + " .. " + std::to_string(other.high));
  const bool open = !std::isfinite(y.low) || !std::isfinite(y.high);
  ++(open ? tried.open : tried.bounded);
  tried.nan_inside += nan ? 1 : 0;
  if (nan) {
    EXPECT_TRUE(open) << y.low << " " << y.high;
    return;
  }
  // A device may truncate where the reference rounds.
  const double units = is_exact ? 0 : 0x1p-23;
  const auto least = static_cast<double>(low);
  const auto largest = static_cast<double>(high);
  EXPECT_LE(static_cast<double>(y.low), least - units * std::fabs(least));
  EXPECT_GE(static_cast<double>(y.high), largest + units * std::fabs(largest));
  if (open) return;
  const double made = largest - least;
  const double width = static_cast<double>(y.high) - static_cast<double>(y.low);
  tried.tight += width <= 1.25 * made + 0x1p-16 * static_cast<double>(most) + 0x1p-120 ? 1 : 0;
}

TEST(PowerBound, OfAComputedBaseAndANumber) {
  Pointwise op(binary(BinaryMode::pow));
  for (const float by : {2.0f, 3.0f, 1.0f, 0.0f, 5.0f, 4.0f}) {
    Intervals random(1);
    Tried tried;
    for (int i = 0; i < 400; ++i) {
      const Ends x = random.next();
      try_pair(op, x, {by, by}, random.inside(x, {0}), {by}, false, tried);
    }
    EXPECT_EQ(tried.open, 0);
    EXPECT_GT(tried.tight, 390);
  }
}

// 0 to a negative power is a pole, a negative number to a broken power is NaN.
TEST(PowerBound, IsOpenWhereAPoleOrNaNIsInside) {
  const auto finite = [](float by, Ends x) {
    const Ends y = Pointwise(binary(BinaryMode::pow)).bound(x, {by, by});
    return std::pair(std::isfinite(y.low), std::isfinite(y.high));
  };
  using Both = std::pair<bool, bool>;
  EXPECT_EQ(finite(-1, {-1, 2}), Both(false, false));
  EXPECT_EQ(finite(-2, {-1, 2}), Both(true, false));
  EXPECT_EQ(finite(-1, {-2, -1}), Both(true, true));
  EXPECT_EQ(finite(-1, {1, 2}), Both(true, true));
  EXPECT_EQ(finite(0.5f, {-1, 2}), Both(false, false));
  EXPECT_EQ(finite(0.5f, {0, 2}), Both(true, true));
  EXPECT_EQ(finite(-0.5f, {0, 2}), Both(true, false));
}

TEST(PowerBound, OfPositiveBasesAndComputedExponents) {
  Pointwise op(binary(BinaryMode::pow));
  Intervals random(2, 3);
  Tried tried;
  for (int i = 0; i < 2000; ++i) {
    const Ends x = random.positive();
    const Ends by = random.next();
    try_pair(op, x, by, random.inside(x, {1}), random.inside(by, {0}), false, tried);
  }
  EXPECT_EQ(tried.nan_inside, 0);
  EXPECT_EQ(tried.open, 0);
  EXPECT_GT(tried.tight, 1950);
}

TEST(PowerBound, OfAnyTwoIntervals) {
  Pointwise op(binary(BinaryMode::pow));
  Intervals random(3, 2);
  Tried tried;
  for (int i = 0; i < 3000; ++i) {
    const Ends x = random.next();
    Ends by = random.next();
    if (i % 2 == 0) by.low = by.high = std::floor(by.low);
    try_pair(op, x, by, random.inside(x, {0}), random.inside(by, {0}), false, tried);
  }
  EXPECT_GT(tried.nan_inside, 500);
  EXPECT_GT(tried.bounded, 1000);
}

TEST(RemainderBound, OfAnyTwoIntervals) {
  Pointwise op(binary(BinaryMode::mod));
  Intervals random(4);
  Tried tried;
  for (int i = 0; i < 2500; ++i) {
    const Ends x = random.next();
    const Ends by = random.next();
    try_pair(op, x, by, random.inside(x, {0, by.low, by.high, 3 * by.low}), random.inside(by, {0}),
             true, tried);
    const Ends y = op.bound(x, by);
    const bool holds_0 = by.low <= 0 && by.high >= 0;
    ASSERT_EQ(holds_0, !std::isfinite(y.low) || !std::isfinite(y.high));
    if (holds_0) continue;
    // Smaller than the divisor, no larger than the dividend, and of its sign.
    const float largest = std::max(std::fabs(by.low), std::fabs(by.high));
    EXPECT_LE(y.high, std::min(largest, std::max(x.high, 0.0f)));
    EXPECT_GE(y.low, std::max(-largest, std::min(x.low, 0.0f)));
  }
  EXPECT_GT(tried.bounded, 1200);
  EXPECT_GT(tried.tight, tried.bounded * 6 / 10);  // the others jump somewhere between
}

// A quotient that stays between two whole numbers leaves no more room than its operands.
TEST(RemainderBound, IsTightAwayFromMultiples) {
  Pointwise op(binary(BinaryMode::mod));
  const Ends plain = op.bound({7.25f, 7.5f}, {3, 3});
  EXPECT_NEAR(plain.low, 1.25, 1e-6);
  EXPECT_NEAR(plain.high, 1.5, 1e-6);
  const Ends negative = op.bound({-7.5f, -7.25f}, {-3.125f, -3});
  EXPECT_NEAR(negative.low, -1.5, 1e-6);
  EXPECT_NEAR(negative.high, -1, 1e-6);
  const Ends small = op.bound({-2, 1}, {3, kInf});
  EXPECT_EQ(small.low, -2);
  EXPECT_EQ(small.high, 1);
  const Ends across = op.bound({5.5f, 6.5f}, {3, 3});
  EXPECT_EQ(across.low, 0);
  EXPECT_EQ(across.high, 3);
  const Ends multiple = op.bound({6, 6.5f}, {3, 3});
  EXPECT_NEAR(multiple.high, 0.5, 1e-6);
  const Ends point = op.bound({1e30f, 1e30f}, {3, 3});
  EXPECT_EQ(point.low, std::fmod(1e30f, 3.0f));
  EXPECT_EQ(point.high, point.low);
}

// Infinity has no remainder and no derivative that interval arithmetic could name.
TEST(OpenOperands, LeaveTheResultOpen) {
  const auto open = [](Ends y) { return !std::isfinite(y.low) && !std::isfinite(y.high); };
  EXPECT_TRUE(open(Pointwise(binary(BinaryMode::mod)).bound({-kInf, 1}, {2, 2})));
  EXPECT_TRUE(open(Pointwise(binary(BinaryMode::mod)).bound({1, kInf}, {2, 2})));
  EXPECT_TRUE(open(Pointwise(binary(BinaryMode::pow)).bound({-kInf, kInf}, {3, 3})));
  EXPECT_EQ(Pointwise(binary(BinaryMode::pow)).bound({-kInf, kInf}, {2, 2}).low, 0);
  EXPECT_TRUE(open(Pointwise(gradient({.mode = UnaryMode::silu})).bound({1, 2}, {-kInf, kInf})));
  const Ends passed = Pointwise(gradient({.mode = UnaryMode::relu})).bound({1, 2}, {-kInf, kInf});
  EXPECT_EQ(passed.low, 0);
  EXPECT_EQ(passed.high, 2);
  // NaN to the power 0 is 1, and only to that one.
  const Ends one = Pointwise(binary(BinaryMode::pow)).bound({kNaN, kNaN}, {0, 0});
  EXPECT_NEAR(one.low, 1, 1e-5);
  EXPECT_NEAR(one.high, 1, 1e-5);
  EXPECT_TRUE(open(Pointwise(binary(BinaryMode::pow)).bound({kNaN, kNaN}, {-1, 1})));
  EXPECT_TRUE(std::isnan(Pointwise(binary(BinaryMode::pow)).bound({kNaN, kNaN}, {1, 2}).low));
}

const Unary kDifferentiated[] = {
    {.mode = UnaryMode::relu},
    {.mode = UnaryMode::relu, .lower_clip = -0.5f, .upper_clip = 2, .slope = -0.25f},
    {.mode = UnaryMode::silu},
    {.mode = UnaryMode::silu, .beta = -1.75f},
    {.mode = UnaryMode::gelu},
    {.mode = UnaryMode::gelu_tanh},
    {.mode = UnaryMode::tanh},
    {.mode = UnaryMode::sigmoid},
    {.mode = UnaryMode::elu},
    {.mode = UnaryMode::elu, .alpha = -1.5f},
    {.mode = UnaryMode::softplus, .beta = 0.5f},
    {.mode = UnaryMode::softplus, .beta = -2},
};

TEST(GradientBound, OfAComputedX) {
  for (const Unary& mode : kDifferentiated) {
    SCOPED_TRACE(name(*mode.mode));
    Pointwise op(gradient(mode));
    Intervals random(5, 3);
    Tried tried;
    for (int i = 0; i < 400; ++i) {
      const Ends dy = random.next();
      const Ends x = random.next();
      // Where some derivative turns or jumps.
      const auto xs = random.inside(x, {0, -0.5f, 2, 1.4142135f, -1.4142135f, 1.418504f, -1.418504f,
                                        2.3993573f, -2.3993573f, 1.3710613f, -1.3710613f});
      try_pair(op, dy, x, random.inside(dy, {0}), xs, *mode.mode == UnaryMode::relu, tried);
    }
    EXPECT_EQ(tried.open, 0);
    // What a device may err in small derivatives is not relative to them.
    EXPECT_GT(tried.tight, 300);
  }
}

TEST(ForwardBound, OfFunctionsThatFallAndRise) {
  const Unary all[] = {
      {.mode = UnaryMode::relu, .slope = -0.25f},
      {.mode = UnaryMode::relu, .lower_clip = 0.5f, .upper_clip = 1, .slope = -2},
      {.mode = UnaryMode::relu, .lower_clip = -0.5f, .upper_clip = 2, .slope = 0.25f},
      {.mode = UnaryMode::elu, .alpha = -1.5f},
      {.mode = UnaryMode::elu, .alpha = 0.75f},
      {.mode = UnaryMode::tan},
  };
  for (const Unary& mode : all) {
    SCOPED_TRACE(name(*mode.mode));
    Pointwise op(unary(mode));
    Intervals random(6, 4);
    Tried tried;
    const bool has_poles = *mode.mode == UnaryMode::tan;
    for (int i = 0; i < 2000; ++i) {
      const Ends x = random.next();
      try_pair(op, x, {0, 0}, random.inside(x, {0, -0.5f, 0.5f, 1, 2}), {0}, !has_poles, tried);
    }
    EXPECT_EQ(tried.nan_inside, 0);
    if (has_poles) {
      EXPECT_GT(tried.bounded, 1000);
    } else {
      EXPECT_EQ(tried.open, 0);
    }
    EXPECT_GT(tried.tight, tried.bounded * 97 / 100);
  }
}

}  // namespace
}  // namespace cohort::test
