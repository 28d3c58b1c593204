// Interval arithmetic for error bounds: each operation returns the ends between which every f32
// evaluation of it lies, its own rounding included. docs/compare.md has the derivation.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "ir/reference.h"

namespace cohort::ir {

/// The ends of what a number may be. Both NaN: it is NaN. Infinite ends: nothing is known.
struct Bound {
  double low = 0;
  double high = 0;
  Bound() = default;
  Bound(double value) : low(value), high(value) {}  // NOLINT: a number stands for itself
  Bound(double l, double h) : low(l), high(h) {}
  [[nodiscard]] bool is_nan() const { return std::isnan(low); }
  /// The largest magnitude.
  [[nodiscard]] double magnitude() const { return std::max(std::fabs(low), std::fabs(high)); }
};

/// One unit in the last place of an f32, relative: an operation that truncates errs by less.
inline constexpr double kBoundUnit = 0x1p-23;
/// Below it a device may flush to zero.
inline constexpr double kBoundTiny = 0x1p-126;
/// Units that a device's exp, tanh, erf, division or square root may be wrong by.
inline constexpr double kBoundFunctionUnits = 8;

/// The ends moved outwards by `units` of f32 rounding. A NaN among numbers is an end at infinity
/// minus or times another: nothing is known then.
inline Bound outward(double low, double high, double units = 1) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (std::isnan(low) || std::isnan(high)) return {-kInfinity, kInfinity};
  const double by = units * kBoundUnit;
  return {std::isinf(low) ? low : low - by * std::fabs(low) - kBoundTiny,
          std::isinf(high) ? high : high + by * std::fabs(high) + kBoundTiny};
}

inline Bound operator-(Bound a) { return {-a.high, -a.low}; }
inline Bound operator+(Bound a, Bound b) { return outward(a.low + b.low, a.high + b.high); }
inline Bound operator-(Bound a, Bound b) { return a + -b; }

/// The smallest interval that holds both.
inline Bound hull(Bound a, Bound b) {
  if (a.is_nan() || b.is_nan()) return std::numeric_limits<double>::quiet_NaN();
  return {std::min(a.low, b.low), std::max(a.high, b.high)};
}

inline Bound operator*(Bound a, Bound b) {
  const double p[4] = {a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high};
  for (const double x : p) {
    if (std::isnan(x)) return outward(x, x);
  }
  return outward(*std::min_element(p, p + 4), *std::max_element(p, p + 4));
}
inline Bound operator/(Bound a, Bound b) {
  if (b.low <= 0 && b.high >= 0) {
    if (b.low == b.high && a.low == a.high) return a.low / b.low;
    return outward(std::numeric_limits<double>::quiet_NaN(), 0);
  }
  const double p[4] = {a.low / b.low, a.low / b.high, a.high / b.low, a.high / b.high};
  for (const double x : p) {
    if (std::isnan(x)) return outward(x, x);
  }
  return outward(*std::min_element(p, p + 4), *std::max_element(p, p + 4), kBoundFunctionUnits);
}

// Exact in every evaluation. NaN of either side stays.
inline Bound max(Bound a, Bound b) {
  if (a.is_nan() || b.is_nan()) return std::numeric_limits<double>::quiet_NaN();
  return {std::max(a.low, b.low), std::max(a.high, b.high)};
}
inline Bound min(Bound a, Bound b) { return -max(-a, -b); }
inline Bound relu(Bound x) { return max(x, 0.0); }
inline Bound abs(Bound x) {
  if (x.is_nan()) return x;
  const bool spans = x.low <= 0 && x.high >= 0;
  return {spans ? 0 : std::min(std::fabs(x.low), std::fabs(x.high)), x.magnitude()};
}
/// x * x, which is not negative.
inline Bound square(Bound x) {
  const Bound a = abs(x);
  const Bound y = a * a;
  return {std::max(y.low, 0.0), y.high};
}

/// A function that never falls; of one that never rises, the negative.
template <class F>
Bound rising(F f, Bound x, double units = kBoundFunctionUnits) {
  if (x.is_nan()) return x;
  return outward(f(x.low), f(x.high), units);
}
inline Bound exp(Bound x) {
  return rising([](double d) { return std::exp(d); }, x);
}
inline Bound tanh(Bound x) {
  return rising([](double d) { return std::tanh(d); }, x);
}
inline Bound erf(Bound x) {
  return rising([](double d) { return std::erf(d); }, x);
}
inline Bound sigmoid(Bound x) {
  return rising([](double d) { return 1 / (1 + std::exp(-d)); }, x);
}

/// A panel whose piped value and computed operands lie in intervals: `low` and `high` hold their
/// ends, stored operands are the same in both. The rule writes the ends of results to the `out` of
/// each, rounded outwards (put()).
struct BoundPanel {
  const Panel& low;
  const Panel& high;

  /// Element (r, n) of the piped value.
  [[nodiscard]] Bound in(int64_t r, int64_t n) const {
    const int64_t i = r * low.in.stride + n;
    return {static_cast<double>(low.in.data[i]), static_cast<double>(high.in.data[i])};
  }
  [[nodiscard]] bool has(size_t field) const { return low.operand[field].data != nullptr; }
  /// Element i of the operand in a field: r * stride + n of a matrix.
  [[nodiscard]] Bound operand(size_t field, int64_t i) const {
    return {static_cast<double>(low.operand[field].data[i]),
            static_cast<double>(high.operand[field].data[i])};
  }
  /// Element (r, n) of a matrix operand.
  [[nodiscard]] Bound operand(size_t field, int64_t r, int64_t n) const {
    return operand(field, r * low.operand[field].stride + n);
  }
  /// Sets element (r, n) of a result; nothing when it is unused.
  void put(size_t port, int64_t r, int64_t n, Bound y) const {
    if (low.out[port].data == nullptr) return;
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    auto l = static_cast<float>(y.low);
    auto h = static_cast<float>(y.high);
    if (static_cast<double>(l) > y.low) l = std::nextafter(l, -kInfinity);
    if (static_cast<double>(h) < y.high) h = std::nextafter(h, kInfinity);
    low.out[port].data[r * low.out[port].stride + n] = l;
    high.out[port].data[r * high.out[port].stride + n] = h;
  }
};

/// A sum or maximum over rows under way.
struct RowBound {
  Bound value;
  double magnitude = 0;  ///< Of all terms of a sum: partial sums in any order lie below it.
  int64_t terms = 0;     ///< Of a sum: additions that round.
  void add(Bound term) {
    value = {value.low + term.low, value.high + term.high};
    magnitude += term.magnitude();
    ++terms;
  }
  /// The ends with the roundings of the additions.
  [[nodiscard]] Bound finish() const {
    if (terms == 0) return value;
    const double by = static_cast<double>(terms) * kBoundUnit * magnitude + kBoundTiny;
    if (std::isnan(by) || std::isnan(value.low) || std::isnan(value.high)) {
      return {-std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()};
    }
    return {value.low - by, value.high + by};
  }
};

}  // namespace cohort::ir
