#include "engine/conformance.h"

namespace cohort::test::conformance {

namespace {

// Numbers within +-4 that bf16 holds, none of them 0.
double moderate(const Position& p) {
  const auto i = p[0] * 10 + p[1];
  const double v = static_cast<double>(i * 7 % 63 + 1) / 16;
  return i % 2 == 0 ? v : -v;
}

template <class F>
void forward(Case& c, const Unary& op, F f) {
  const auto x = c.matrix("x", 10);
  c.fill_with(x, moderate);
  c.output("y", c.add(Load{.x = x.h, .groups = c.groups()}).then(op), {},
           [=](int64_t r, int64_t n) { return f(x(r, n)); });
}

// The saved input stands in memory as bf16; slope: f' of one number.
template <class F>
void backward(Case& c, Unary op, F slope) {
  const auto dy = c.matrix("dy", 10);
  const auto x = c.matrix("saved", 10, DType::bf16);
  c.fill_with(x, moderate);
  op.direction = Direction::bwd;
  op.x = MatrixArg(x.h);
  c.output("dx", c.add(Load{.x = dy.h, .groups = c.groups()}).then(op), {},
           [=](int64_t r, int64_t n) { return dy(r, n) * slope(x(r, n)); });
}

// A function of f32 that may err by some units and, where it cancels, by those of what cancels.
template <class F>
Near function(F f, Near x, double magnitude = 0) {
  const double y = f(x.v);
  return {y, kFunctionUnits * kUnit * (std::fabs(y) + magnitude) + kFlush};
}

template <class F>
void smooth(Case& c, UnaryMode mode, F f) {
  forward(c, Unary{.mode = mode}, [f](Near x) { return function(f, x, 2 * std::fabs(x.v)); });
}
template <class F>
void positive(Case& c, UnaryMode mode, F f) {
  const auto x = c.matrix("x", 10);
  c.fill_with(x, [](const Position& p) { return std::fabs(moderate(p)); });
  c.output("y", c.add(Load{.x = x.h, .groups = c.groups()}).then(Unary{.mode = mode}), {},
           [=](int64_t r, int64_t n) { return function(f, x(r, n)); });
}

double logistic(double x) { return 1 / (1 + std::exp(-x)); }
double gauss(double x) { return std::exp(-x * x / 2) / std::sqrt(2 * std::acos(-1.0)); }
double normal(double x) { return (1 + std::erf(x / std::sqrt(2.0))) / 2; }
double angle(double x) { return std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x); }

}  // namespace

CONFORMANCE(unary, identity) {
  forward(c, {.mode = UnaryMode::identity}, [](Near x) { return x; });
}
CONFORMANCE(unary, relu) {
  forward(c, {.mode = UnaryMode::relu}, [](Near x) { return relu(x); });
}
CONFORMANCE(unary, relu_clipped) {
  forward(c, {.mode = UnaryMode::relu, .lower_clip = -0.5f, .upper_clip = 2, .slope = 0.25f},
          [](Near x) { return x.v < -0.5 ? Near(-0.5) + 0.25 * (x - -0.5) : min(x, 2.0); });
}
CONFORMANCE(unary, silu) {
  smooth(c, UnaryMode::silu, [](double x) { return x * logistic(x); });
}
CONFORMANCE(unary, silu_beta) {
  forward(c, {.mode = UnaryMode::silu, .beta = 1.75f},
          [](Near x) { return function([](double v) { return v * logistic(1.75 * v); }, x); });
}
CONFORMANCE(unary, gelu) {
  smooth(c, UnaryMode::gelu, [](double x) { return x * normal(x); });
}
CONFORMANCE(unary, gelu_tanh) {
  smooth(c, UnaryMode::gelu_tanh, [](double x) { return x * (1 + std::tanh(angle(x))) / 2; });
}
CONFORMANCE(unary, tanh) {
  smooth(c, UnaryMode::tanh, [](double x) { return std::tanh(x); });
}
CONFORMANCE(unary, sigmoid) { smooth(c, UnaryMode::sigmoid, logistic); }
CONFORMANCE(unary, elu) {
  forward(c, {.mode = UnaryMode::elu, .alpha = 1.5f}, [](Near x) {
    return x.v > 0 ? x : function([](double v) { return 1.5 * (std::exp(v) - 1); }, x, 1.5);
  });
}
CONFORMANCE(unary, softplus) {
  forward(c, {.mode = UnaryMode::softplus, .beta = 0.5f}, [](Near x) {
    return function([](double v) { return std::log(1 + std::exp(v / 2)) * 2; }, x, 2);
  });
}
CONFORMANCE(unary, exp) {
  smooth(c, UnaryMode::exp, [](double x) { return std::exp(x); });
}
CONFORMANCE(unary, log) {
  const auto x = c.matrix("x", 10);
  c.fill_with(x, [](const Position& p) { return std::fabs(moderate(p)); });
  c.output("y", c.add(Load{.x = x.h, .groups = c.groups()}).then(Unary{.mode = UnaryMode::log}), {},
           [=](int64_t r, int64_t n) {
             return function([](double v) { return std::log(v); }, x(r, n), 1);
           });
}
CONFORMANCE(unary, sqrt) {
  positive(c, UnaryMode::sqrt, [](double x) { return std::sqrt(x); });
}
CONFORMANCE(unary, rsqrt) {
  positive(c, UnaryMode::rsqrt, [](double x) { return 1 / std::sqrt(x); });
}
CONFORMANCE(unary, reciprocal) {
  smooth(c, UnaryMode::reciprocal, [](double x) { return 1 / x; });
}
CONFORMANCE(unary, neg) {
  forward(c, {.mode = UnaryMode::neg}, [](Near x) { return -x; });
}
CONFORMANCE(unary, abs) {
  forward(c, {.mode = UnaryMode::abs}, [](Near x) { return abs(x); });
}
CONFORMANCE(unary, erf) {
  smooth(c, UnaryMode::erf, [](double x) { return std::erf(x); });
}
CONFORMANCE(unary, ceil) {
  forward(c, {.mode = UnaryMode::ceil}, [](Near x) { return Near(std::ceil(x.v)); });
}
CONFORMANCE(unary, floor) {
  forward(c, {.mode = UnaryMode::floor}, [](Near x) { return Near(std::floor(x.v)); });
}
CONFORMANCE(unary, sin) {
  smooth(c, UnaryMode::sin, [](double x) { return std::sin(x); });
}
CONFORMANCE(unary, cos) {
  smooth(c, UnaryMode::cos, [](double x) { return std::cos(x); });
}
CONFORMANCE(unary, tan) {
  forward(c, {.mode = UnaryMode::tan}, [](Near x) {
    const double t = std::tan(x.v);
    return function([](double v) { return std::tan(v); }, x, (1 + t * t) * std::fabs(x.v));
  });
}
CONFORMANCE(unary, logical_not) {
  const auto x = c.matrix("x", 10);
  c.fill_with(x, [](const Position& p) { return static_cast<double>((p[0] + p[1]) % 3); });
  const Unary op{.mode = UnaryMode::logical_not};
  c.output("y", c.add(Load{.x = x.h, .groups = c.groups()}).then(op), {},
           [=](int64_t r, int64_t n) { return Near(x(r, n).v == 0 ? 1.0 : 0.0); });
}
CONFORMANCE(unary, row_index) {
  const auto x = c.matrix("x", 10);
  const Unary op{.mode = UnaryMode::row_index};
  c.output("y", c.add(Load{.x = x.h, .groups = c.groups()}).then(op), {},
           [](int64_t r, int64_t) { return Near(static_cast<double>(r)); });
}
CONFORMANCE(unary, column_index) {
  const auto x = c.matrix("x", 10);
  const Unary op{.mode = UnaryMode::column_index};
  c.output("y", c.add(Load{.x = x.h, .groups = c.groups()}).then(op), {},
           [](int64_t, int64_t n) { return Near(static_cast<double>(n)); });
}

CONFORMANCE(unary, relu_backward) {
  // A blocked gradient is 0 whatever it was: no product.
  const auto dy = c.matrix("dy", 10);
  const auto x = c.matrix("saved", 10);
  c.fill_with(x, moderate);
  const auto saved = c.add(Load{.x = x.h, .groups = c.groups()});
  const Unary op{.mode = UnaryMode::relu, .direction = Direction::bwd, .x = MatrixArg(saved)};
  c.output("dx", c.add(Load{.x = dy.h, .groups = c.groups()}).then(op), {},
           [=](int64_t r, int64_t n) {
             if (std::isnan(x(r, n).v)) return x(r, n);
             return x(r, n).v > 0 ? dy(r, n) : Near(0.0);
           });
}
CONFORMANCE(unary, silu_backward) {
  backward(c, {.mode = UnaryMode::silu, .beta = 1.75f}, [](Near x) {
    const auto slope = [](double v) {
      const double s = logistic(1.75 * v);
      return s * (1 + 1.75 * v * (1 - s));
    };
    return function(slope, x, 2);
  });
}
CONFORMANCE(unary, gelu_backward) {
  backward(c, {.mode = UnaryMode::gelu}, [](Near x) {
    return function([](double v) { return normal(v) + v * gauss(v); }, x, 2);
  });
}
CONFORMANCE(unary, gelu_tanh_backward) {
  backward(c, {.mode = UnaryMode::gelu_tanh}, [](Near x) {
    const auto slope = [](double v) {
      const double t = std::tanh(angle(v));
      const double inner = std::sqrt(2 / std::acos(-1.0)) * (1 + 3 * 0.044715 * v * v);
      return (1 + t) / 2 + v * (1 - t * t) * inner / 2;
    };
    return function(slope, x, 8);
  });
}
CONFORMANCE(unary, tanh_backward) {
  backward(c, {.mode = UnaryMode::tanh}, [](Near x) {
    return function([](double v) { return 1 - std::tanh(v) * std::tanh(v); }, x, 2);
  });
}
CONFORMANCE(unary, sigmoid_backward) {
  backward(c, {.mode = UnaryMode::sigmoid}, [](Near x) {
    return function([](double v) { return logistic(v) * (1 - logistic(v)); }, x, 1);
  });
}
CONFORMANCE(unary, elu_backward) {
  backward(c, {.mode = UnaryMode::elu, .alpha = 1.5f}, [](Near x) {
    return x.v > 0 ? Near(1.0) : function([](double v) { return 1.5 * std::exp(v); }, x);
  });
}
CONFORMANCE(unary, softplus_backward) {
  backward(c, {.mode = UnaryMode::softplus, .beta = 0.5f},
           [](Near x) { return function([](double v) { return logistic(v / 2); }, x); });
}

}  // namespace cohort::test::conformance
