// Between which numbers every f32 evaluation of a power and of a remainder lies.
#include "ops/binary_bound.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/broadcast.h"

namespace cohort::ops {

namespace {

using ir::Bound;

bool is_number(Bound x) { return x.low == x.high; }
bool holds(Bound x, double number) { return x.low <= number && x.high >= number; }

// Of bases not below 0 a power never falls or never rises in either operand, whatever the other
// one is: the ends are at corners. So it is for an odd exponent and bases of one sign.
Bound corners(Bound a, Bound b) {
  Bound y = std::pow(a.low, b.low);
  for (const double base : {a.low, a.high}) {
    for (const double exponent : {b.low, b.high}) y = hull(y, std::pow(base, exponent));
  }
  return y;
}

// Of one whole exponent, or infinity, which takes the magnitude as even ones do.
Bound whole_power(Bound a, Bound b) {
  const bool is_odd = std::fabs(std::fmod(b.low, 2)) == 1;
  if (!is_odd) return corners(ir::abs(a), b);
  return b.low < 0 && holds(a, 0) ? unknown_bound() : corners(a, b);
}

Bound exact_power(Bound a, Bound b) {
  if (a.low >= 0 || (is_number(a) && is_number(b))) return corners(a, b);
  const bool is_whole = is_number(b) && std::floor(b.low) == b.low;
  return is_whole ? whole_power(a, b) : unknown_bound();
}

// floor(a / b) of a >= 0 and b > 0; right below 2^50, where all that rounds is the last step's
// operand, by less than a half.
double whole_quotient(double a, double b) { return std::round((a - std::fmod(a, b)) / b); }

// Of a >= 0 and b > 0.
Bound remainder_of_positive(Bound a, Bound b) {
  constexpr double kLargest = 0x1p50;
  if (a.high < b.low) return a;
  const double most = whole_quotient(a.high, b.low);
  if (whole_quotient(a.low, b.high) != most || most >= kLargest) {
    return {0, std::min(a.high, b.high)};  // near a multiple of b it jumps from b to 0
  }
  const double by = 0x1p-50 * a.high;  // the products below are rounded to f64
  return {std::max(a.low - most * b.high - by, 0.0), std::min(a.high - most * b.low + by, b.high)};
}

}  // namespace

Bound power_bound(Bound a, Bound b) {
  // A number to the power 0, and 1 to any power, are 1, also where the other one is NaN.
  if (a.is_nan() && holds(b, 0)) return is_number(b) ? Bound(1.0) : unknown_bound();
  if (b.is_nan() && holds(a, 1)) return is_number(a) ? Bound(1.0) : unknown_bound();
  if (a.is_nan() || b.is_nan()) return std::numeric_limits<double>::quiet_NaN();
  const Bound y = exact_power(a, b);
  if (y.is_nan()) return y;
  const Bound rounded = ir::outward(y.low, y.high, 2 * ir::kBoundFunctionUnits);
  // No evaluation has the wrong sign.
  return y.low >= 0 ? Bound(std::max(rounded.low, 0.0), rounded.high) : rounded;
}

Bound remainder_bound(Bound a, Bound b) {
  if (a.is_nan() || b.is_nan()) return std::numeric_limits<double>::quiet_NaN();
  const Bound divisor = ir::abs(b);
  if (is_number(a) && is_number(divisor)) return std::fmod(a.low, divisor.low);
  if (divisor.low == 0 || std::isinf(a.low) || std::isinf(a.high)) return unknown_bound();
  const Bound positive{std::max(a.low, 0.0), a.high};
  const Bound negative{std::max(-a.high, 0.0), -a.low};
  if (a.low >= 0) return remainder_of_positive(positive, divisor);
  if (a.high <= 0) return -remainder_of_positive(negative, divisor);
  return hull(remainder_of_positive(positive, divisor), -remainder_of_positive(negative, divisor));
}

}  // namespace cohort::ops
