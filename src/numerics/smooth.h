// exp, sigmoid and tanh whose bits depend on no library, compiler or instruction set: f64
// additions, products and one division, in a fixed order, rounded to f32 once. Loops over them are
// vectorised. The f64 result is off by less than 2^-40 relative, so the f32 result is the nearest
// one, or in about one of 2^16 cases its neighbour: an error below 0.50001 units in the last place.
#pragma once

#include <cstdint>

#include "numerics/block.h"

namespace cohort::numerics {

/// e^y = scale * (1 + rest), |rest| < 0.42. `y` beyond +-700 counts as that; NaN gives a NaN rest.
struct Exponential {
  double scale;
  double rest;
};

static inline Exponential split_exp(double y) {
  y = y < -700.0 ? -700.0 : y;
  y = y > 700.0 ? 700.0 : y;
  // Adding 1.5 * 2^52 leaves the nearest integer in the low bits of the mantissa.
  constexpr double kRounder = 0x1.8p52;
  const double t = y * 0x1.71547652b82fep+0;  // log2(e)
  const double shifted = t + kRounder;
  const double r = (t - (shifted - kRounder)) * 0x1.62e42fefa39efp-1;  // ln(2)
  // Taylor to r^10: what is left out is below 2^-42 of the result for |r| <= ln(2) / 2.
  double q = 1.0 / 3628800;
  q = q * r + 1.0 / 362880;
  q = q * r + 1.0 / 40320;
  q = q * r + 1.0 / 5040;
  q = q * r + 1.0 / 720;
  q = q * r + 1.0 / 120;
  q = q * r + 1.0 / 24;
  q = q * r + 1.0 / 6;
  q = q * r + 1.0 / 2;
  q = q * r + 1.0;
  const auto bits = __builtin_bit_cast(uint64_t, shifted) << 52;
  return {__builtin_bit_cast(double, bits + (uint64_t{1023} << 52)), r * q};
}

/// 1 / (1 + e^-x): 0 at -infinity, 1 at infinity, NaN at NaN.
static inline float sigmoid(float x) {
  const Exponential e = split_exp(-static_cast<double>(x));
  return static_cast<float>(1.0 / (1.0 + (e.scale + e.scale * e.rest)));
}

/// (e^2x - 1) / (e^2x + 1): -1 at -infinity, 1 at infinity, NaN at NaN; keeps the sign of 0.
static inline float tanh(float x) {
  const auto magnitude = static_cast<double>(bits_float(float_bits(x) & 0x7FFFFFFF));
  const Exponential e = split_exp(-2.0 * magnitude);
  // e^-2|x| - 1 without cancellation: near 0 the scale is 1.
  const double minus_one = (e.scale - 1.0) + e.scale * e.rest;
  const auto t = static_cast<float>(-minus_one / (2.0 + minus_one));
  // Where minus_one is 0, t is -0.
  return bits_float((float_bits(t) & 0x7FFFFFFF) | (float_bits(x) & 0x80000000));
}

}  // namespace cohort::numerics
