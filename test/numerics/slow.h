// Codes by search: a second definition of rounding that shares nothing with the library's.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "numerics/codec.h"

namespace cohort::test {

/// A format as its standard writes it down.
struct SlowFormat {
  DType type;
  int exponent;
  int mantissa;
  int bias;
  uint32_t max_code;
  int inf;
  int nan;
};

inline const std::vector<SlowFormat>& slow_formats() {
  static const std::vector<SlowFormat> all{{DType::f16, 5, 10, 15, 0x7BFF, 0x7C00, 0x7FFF},
                                           {DType::bf16, 8, 7, 127, 0x7F7F, 0x7F80, 0x7FFF},
                                           {DType::e4m3, 4, 3, 7, 0x7E, -1, 0x7F},
                                           {DType::e5m2, 5, 2, 15, 0x7B, 0x7C, 0x7F},
                                           {DType::e3m2, 3, 2, 3, 0x1F, -1, -1},
                                           {DType::e2m3, 2, 3, 1, 0x1F, -1, -1},
                                           {DType::e2m1, 2, 1, 1, 0x7, -1, -1}};
  return all;
}

/// Value of a code of no sign, which may lie one past the largest finite one.
inline double slow_value(const SlowFormat& f, uint32_t code) {
  const uint32_t e = code >> f.mantissa;
  const double fraction = (code & ((1u << f.mantissa) - 1)) / std::pow(2.0, f.mantissa);
  if (e == 0) return fraction * std::pow(2.0, 1 - f.bias);
  return (1 + fraction) * std::pow(2.0, static_cast<int>(e) - f.bias);
}

inline uint32_t slow_encode(const SlowFormat& f, double x, numerics::Round round, bool saturate,
                            uint32_t random) {
  using numerics::Round;
  const uint32_t sign = std::signbit(x) ? 1u << (f.exponent + f.mantissa) : 0;
  if (std::isnan(x)) return f.nan >= 0 ? static_cast<uint32_t>(f.nan) : f.max_code;
  const int special = f.inf >= 0 ? f.inf : f.nan;
  const uint32_t beyond = saturate || special < 0 ? f.max_code : static_cast<uint32_t>(special);
  const double v = std::fabs(x);
  if (std::isinf(v)) return sign | beyond;
  uint32_t low = 0;
  uint32_t high = f.max_code + 1;
  while (high - low > 1) {
    const uint32_t middle = (low + high) / 2;
    (slow_value(f, middle) <= v ? low : high) = middle;
  }
  const long double below = v - static_cast<long double>(slow_value(f, low));
  const long double step = static_cast<long double>(slow_value(f, low + 1)) - slow_value(f, low);
  bool up = false;
  if (round == Round::nearest_even) {
    up = below > step / 2 || (below == step / 2 && low % 2 == 1);
  } else if (round == Round::up) {
    up = below > 0 && sign == 0;
  } else if (round == Round::random) {
    up = std::floor(below / step * 0x1p32L) + random >= 0x1p32L;
  }
  const bool past = below > step;  // beyond the code after the largest one
  if (past && round != Round::zero && (round != Round::up || sign == 0)) return sign | beyond;
  const uint32_t code = low + (up ? 1 : 0);
  return sign | (code > f.max_code ? beyond : code);
}

/// Floats of every exponent, NaN and infinities among them.
inline float random_bits(std::mt19937& engine) {
  return std::bit_cast<float>(static_cast<uint32_t>(engine()));
}

}  // namespace cohort::test
