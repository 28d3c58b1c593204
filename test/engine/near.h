// Numbers with a running error bound: expected values, and how far an f32 evaluation may lie.
//
// An operation's result carries the errors of its operands, and one unit of f32 for its own
// rounding. While everything is exact in f32 the error stays 0, so whole numbers compare bit by
// bit.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include <cohort/types.h>

#include "numerics/slow.h"

namespace cohort::test {

/// One unit in the last place of f32, relative; a device may truncate where a host rounds.
inline constexpr double kUnit = 0x1p-23;
/// Devices may flush denormal results to 0.
inline constexpr double kFlush = 0x1p-126;
/// Units that a device's exp, tanh or division may be wrong by.
inline constexpr double kFunctionUnits = 8;

/// A value, and the largest error that an f32 evaluation of it may have.
struct Near {
  double v = 0;
  double e = 0;
  bool untouched = false;  ///< As an expectation: the bytes stay as they were.
  Near() = default;
  Near(double value, double error = 0) : v(value), e(error) {}  // NOLINT: a number stands here
};

/// As an expectation: nobody writes the element.
inline Near untouched() {
  Near n;
  n.untouched = true;
  return n;
}

/// `value` after one f32 operation of `units` roundings on operands that err by `carried`.
inline Near rounded(double value, double carried, double units = 1) {
  if (!std::isfinite(value)) return value;
  if (carried == 0 && static_cast<double>(static_cast<float>(value)) == value) return value;
  return {value, carried + units * kUnit * (std::fabs(value) + carried) + kFlush};
}

inline Near operator-(Near a) { return {-a.v, a.e}; }
inline Near operator+(Near a, Near b) { return rounded(a.v + b.v, a.e + b.e); }
inline Near operator-(Near a, Near b) { return rounded(a.v - b.v, a.e + b.e); }
inline Near operator*(Near a, Near b) {
  return rounded(a.v * b.v, std::fabs(a.v) * b.e + std::fabs(b.v) * a.e + a.e * b.e);
}
inline Near operator/(Near a, Near b) {
  const double low = std::fabs(b.v) - b.e;
  const double carried = a.e == 0 && b.e == 0 ? 0
                         : low > 0            ? (a.e + std::fabs(a.v / b.v) * b.e) / low
                                              : std::numeric_limits<double>::infinity();
  return rounded(a.v / b.v, carried, kFunctionUnits);
}

/// A monotone function f of one number: the error is what it does to the ends of x.
template <class F>
Near monotone(F f, Near x, double units = kFunctionUnits) {
  const double y = f(x.v);
  const double carried =
      x.e == 0 ? 0 : std::max(std::fabs(f(x.v + x.e) - y), std::fabs(y - f(x.v - x.e)));
  return rounded(y, carried, units);
}
inline Near exp(Near x) {
  return monotone([](double d) { return std::exp(d); }, x);
}
inline Near tanh(Near x) {
  return monotone([](double d) { return std::tanh(d); }, x);
}
inline Near erf(Near x) {
  return monotone([](double d) { return std::erf(d); }, x);
}
inline Near sigmoid(Near x) {
  return monotone([](double d) { return 1 / (1 + std::exp(-d)); }, x);
}
/// max and min keep a NaN of either side.
inline Near max(Near a, Near b) {
  if (std::isnan(a.v) || std::isnan(b.v)) return std::numeric_limits<double>::quiet_NaN();
  const double v = std::max(a.v, b.v);
  if (!std::isfinite(v)) return {v, std::max(a.e, b.e)};
  // What is certainly the smaller one has no part in the error.
  return {v, std::max(std::max(a.v + a.e, b.v + b.e) - v, v - std::max(a.v - a.e, b.v - b.e))};
}
inline Near min(Near a, Near b) { return -max(-a, -b); }
inline Near abs(Near a) { return {std::fabs(a.v), a.e}; }
inline Near relu(Near x) { return max(x, 0.0); }

/// A sum of f32 terms in any order.
class Sum {
 public:
  void add(Near term) {
    value_ += term.v;
    magnitude_ += std::fabs(term.v);
    carried_ += term.e;
    exact_ = exact_ && term.e == 0 && term.v * 256 == std::floor(term.v * 256);
    ++count_;
  }
  [[nodiscard]] Near result() const {
    // Multiples of 2^-8 whose magnitudes add up to less than 2^16 are exact in every order.
    if (!std::isfinite(value_)) return value_;
    if (exact_ && magnitude_ < 0x1p16) return value_;
    return {value_, carried_ + static_cast<double>(count_) * kUnit * (magnitude_ + carried_)};
  }

 private:
  double value_ = 0;
  double magnitude_ = 0;
  double carried_ = 0;
  int64_t count_ = 0;
  bool exact_ = true;
};

/// The value of the nearest code of a type (ties to even; fp8 and narrower saturate).
inline double round_to(DType type, double x) {
  if (type == DType::f32) return static_cast<double>(static_cast<float>(x));
  for (const SlowFormat& f : slow_formats()) {
    if (f.type != type) continue;
    if (std::isnan(x)) return x;
    const bool saturate = bits(type) <= 8;
    if (std::isinf(x) && !saturate) return x;
    const uint32_t sign = 1u << (f.exponent + f.mantissa);
    const uint32_t code = slow_encode(f, x, numerics::Round::nearest_even, saturate, 0);
    const auto magnitude = code & (sign - 1);
    const double value = magnitude == static_cast<uint32_t>(f.inf)
                             ? std::numeric_limits<double>::infinity()
                             : slow_value(f, magnitude);
    return (code & sign) != 0 ? -value : value;
  }
  return x;  // integers
}
/// Rounding is monotone: the ends go where they are rounded to.
inline Near round_to(DType type, Near x) {
  const double v = round_to(type, x.v);
  if (!std::isfinite(v) || x.e == 0) return v;
  return {v, std::max(round_to(type, x.v + x.e) - v, v - round_to(type, x.v - x.e))};
}

}  // namespace cohort::test
