// Between which numbers every f32 evaluation of unary lies.
#include "ops/unary_bound.h"

#include <cmath>
#include <limits>

#include "ir/bound.h"
#include "ops/broadcast.h"
#include "ops/unary_math.h"

namespace cohort::ops {

namespace {

using ir::Bound;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
const Bound kUnknown{-kInfinity, kInfinity};

Bound halved_one_plus(Bound t) { return (t + 1.0) * 0.5; }

// Within [-1, 1], and no further from the middle than half the width: the slope is at most 1.
template <class F>
Bound wave(F f, Bound x) {
  const double middle = f((x.low + x.high) / 2);
  const double by = (x.high - x.low) / 2;
  if (std::isnan(middle)) return kUnknown;
  return ir::outward(std::max(middle - by, -1.0), std::min(middle + by, 1.0),
                     ir::kBoundFunctionUnits);
}

// Below lower_clip a line, which falls where the slope is negative.
Bound relu_forward(const UnaryParameters& q, Bound x) {
  const auto lower = static_cast<double>(q.lower_clip);
  const Bound kept = min(max(x, lower), static_cast<double>(q.upper_clip));
  if (q.slope == 0 || x.low >= lower) return kept;
  const Bound below{x.low, std::min(x.high, lower)};
  const Bound leaked = Bound(lower) + Bound(static_cast<double>(q.slope)) * (below - lower);
  return x.high < lower ? leaked : hull(leaked, kept);
}

// Not above 0 a function that falls where alpha is negative.
Bound elu_forward(const UnaryParameters& q, Bound x) {
  if (x.low > 0) return x;
  const Bound below{x.low, std::min(x.high, 0.0)};
  const Bound leaked = Bound(q.alpha) * ir::rising([](double d) { return std::expm1(d); }, below);
  return x.high > 0 ? hull(leaked, {0, x.high}) : leaked;
}

// Rises between two poles. Further out, f64 does not tell on which side of a pole a number lies.
Bound tangent(Bound x) {
  constexpr double kFarthest = 4096;
  constexpr double kPi = 3.14159265358979323846;
  const auto branch = [](double d) { return std::floor(d / kPi + 0.5); };
  const bool known = x.magnitude() < kFarthest && branch(x.low) == branch(x.high);
  if (!known && x.low != x.high) return kUnknown;
  return ir::rising([](double d) { return std::tan(d); }, x);
}

Bound forward(UnaryMode mode, const UnaryParameters& q, Bound x) {
  if (x.is_nan()) return mode == UnaryMode::logical_not ? Bound(0.0) : x;
  const auto rising = [&x](auto f) { return ir::rising(f, x); };
  switch (mode) {
    case UnaryMode::identity:
      return x;
    case UnaryMode::relu:
      return relu_forward(q, x);
    case UnaryMode::silu:
      return x * ir::sigmoid(x * q.beta);
    case UnaryMode::gelu:
      return x * halved_one_plus(ir::erf(x * kSqrtHalf));
    case UnaryMode::gelu_tanh:
      return x * ir::sigmoid((x + x * ir::square(x) * kGeluCubic) * kTwoRootTwoOverPi);
    case UnaryMode::elu:
      return elu_forward(q, x);
    case UnaryMode::sqrt:
      return x.low < 0 ? kUnknown : rising([](double d) { return std::sqrt(d); });
    case UnaryMode::rsqrt:
      return x.low <= 0 ? kUnknown : Bound(1.0) / rising([](double d) { return std::sqrt(d); });
    case UnaryMode::log:
      // Near 1 the result is small, and a device's error is not relative to it.
      return x.low <= 0 ? kUnknown : rising([](double d) {
                                       return std::log(d);
                                     }) + Bound(-8 * ir::kBoundUnit, 8 * ir::kBoundUnit);
    case UnaryMode::reciprocal:
      return Bound(1.0) / x;
    case UnaryMode::neg:
      return -x;
    case UnaryMode::abs:
      return ir::abs(x);
    case UnaryMode::ceil:
      return {std::ceil(x.low), std::ceil(x.high)};
    case UnaryMode::floor:
      return {std::floor(x.low), std::floor(x.high)};
    case UnaryMode::sin:
      return wave([](double d) { return std::sin(d); }, x);
    case UnaryMode::cos:
      return wave([](double d) { return std::cos(d); }, x);
    case UnaryMode::tan:
      return tangent(x);
    case UnaryMode::logical_not:
      if (x.low > 0 || x.high < 0) return 0.0;
      return {x.low == 0 && x.high == 0 ? 1.0 : 0.0, 1.0};
    default:
      break;
  }
  Bound y = kUnknown;  // tanh, sigmoid, softplus, exp, erf: none of them falls
  with_function(mode, q, [&](auto f) { y = rising(f); });
  return y;
}

// Where the derivative of a mode turns, and at minus that; infinity when it never does.
double turning_point(UnaryMode mode, const UnaryParameters& q) {
  switch (mode) {
    case UnaryMode::silu:
      return 2.39935728051546767 / std::fabs(q.beta);  // z tanh(z / 2) = 2
    case UnaryMode::gelu:
      return 2 * kSqrtHalf;
    case UnaryMode::gelu_tanh:
      return 1.41850400879082836;  // the zero of the second derivative, found numerically
    case UnaryMode::tanh:
    case UnaryMode::sigmoid:
      return 0;
    default:
      return kInfinity;
  }
}

// The derivatives at all numbers of an interval, without rounding.
Bound derivatives(UnaryMode mode, const UnaryParameters& q, Bound x) {
  if (mode == UnaryMode::elu) {  // jumps to 1 above 0
    if (x.low > 0) return 1.0;
    const double high = q.alpha * std::exp(std::min(x.high, 0.0));
    const Bound below = ir::hull(q.alpha * std::exp(x.low), high);
    return x.high > 0 ? hull(below, 1.0) : below;
  }
  const double turn = turning_point(mode, q);
  Bound d = kUnknown;
  with_derivative(mode, q, [&](auto f) {
    d = ir::hull(f(x.low), f(x.high));
    for (const double at : {-turn, turn}) {
      if (x.low < at && at < x.high) d = hull(d, f(at));
    }
  });
  return d;
}

// What passes is exact, and what does not is 0.
Bound relu_backward(const UnaryParameters& q, Bound dy, Bound x) {
  const auto lower = static_cast<double>(q.lower_clip);
  const auto upper = static_cast<double>(q.upper_clip);
  const bool may_pass = x.high > lower && x.low <= upper;
  Bound y = may_pass ? dy : 0.0;
  if (x.high > upper && may_pass) y = hull(y, 0.0);
  if (x.low > lower) return y;
  const Bound leaked = q.slope == 0 ? Bound(0.0) : dy * static_cast<double>(q.slope);
  return x.high > lower ? hull(y, leaked) : leaked;
}

Bound backward(UnaryMode mode, const UnaryParameters& q, Bound dy, Bound x) {
  if (x.is_nan()) return x;
  if (mode == UnaryMode::relu) return relu_backward(q, dy, x);
  const Bound d = derivatives(mode, q, x);
  if (d.is_nan()) return kUnknown;
  // The two terms of a derivative may cancel: what they round is relative to the terms. The angle
  // of silu and softplus is beta x.
  const double angle = std::max(1.0, std::fabs(q.beta)) * x.magnitude();
  const double by = ir::kBoundUnit * (16 * (1 + angle) + ir::kBoundFunctionUnits * d.magnitude());
  return dy * Bound(d.low - by, d.high + by);
}

}  // namespace

void unary_bound(const ir::BoundPanel& b) {
  const ir::Panel& p = b.low;
  const UnaryParameters q = unary_parameters(p);
  const auto mode = static_cast<UnaryMode>(p.graph->field(*p.node, "mode").integer);
  const bool back =
      static_cast<Direction>(p.graph->field(*p.node, "direction").integer) == Direction::bwd;
  for (int64_t r = 0; r < p.rows; ++r) {
    for (int64_t n = 0; n < p.columns; ++n) {
      if (back) {
        b.put(0, r, n, backward(mode, q, b.in(r, n), b.operand(kUnaryX, r, n)));
      } else if (mode == UnaryMode::row_index) {
        b.put(0, r, n, static_cast<double>(p.first_row + r));
      } else if (mode == UnaryMode::column_index) {
        b.put(0, r, n, static_cast<double>(n));
      } else {
        b.put(0, r, n, forward(mode, q, b.in(r, n)));
      }
    }
  }
}

}  // namespace cohort::ops
