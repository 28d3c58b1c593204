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

Bound forward(UnaryMode mode, const UnaryParameters& q, Bound x) {
  if (x.is_nan()) return mode == UnaryMode::logical_not ? Bound(0.0) : x;
  const auto rising = [&x](auto f) { return ir::rising(f, x); };
  switch (mode) {
    case UnaryMode::identity:
      return x;
    case UnaryMode::relu: {
      if (q.slope < 0) return kUnknown;
      const auto f = [&q](double d) { return static_cast<double>(relu(q, static_cast<float>(d))); };
      return {f(x.low), f(x.high)};
    }
    case UnaryMode::silu:
      return x * ir::sigmoid(x * q.beta);
    case UnaryMode::gelu:
      return x * halved_one_plus(ir::erf(x * kSqrtHalf));
    case UnaryMode::gelu_tanh:
      return x * ir::sigmoid((x + x * ir::square(x) * kGeluCubic) * kTwoRootTwoOverPi);
    case UnaryMode::elu:
      if (q.alpha < 0) return kUnknown;
      break;
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
      return x.low == x.high ? rising([](double d) { return std::tan(d); }) : kUnknown;
    case UnaryMode::logical_not:
      if (x.low > 0 || x.high < 0) return 0.0;
      return {x.low == 0 && x.high == 0 ? 1.0 : 0.0, 1.0};
    default:
      break;
  }
  Bound y = kUnknown;  // tanh, sigmoid, elu, softplus, exp, erf: none of them falls
  with_function(mode, q, [&](auto f) { y = rising(f); });
  return y;
}

// Of a saved x that is a number, not an interval: stored, as a rule.
Bound backward(UnaryMode mode, const UnaryParameters& q, Bound dy, Bound x) {
  if (x.is_nan()) return x;
  if (x.low != x.high) return kUnknown;
  if (mode == UnaryMode::relu) {
    const auto one = static_cast<double>(relu_gradient(q, 1, static_cast<float>(x.low)));
    return one == 0 ? Bound(0.0) : dy * one;
  }
  Bound y = kUnknown;
  with_derivative(mode, q, [&](auto f) {
    const double d = f(x.low);
    // The two terms of a derivative may cancel: what they round is relative to the terms.
    const double by = 16 * ir::kBoundUnit * (1 + std::fabs(x.low));
    y = dy * Bound(d - by, d + by);
  });
  return y;
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
