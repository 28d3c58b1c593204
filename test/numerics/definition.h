// Block quantisation as docs/numerics.md words it, element by element and without the library's
// block arithmetic: what the quantisers are compared with.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "numerics/block.h"
#include "numerics/codec.h"

namespace cohort::numerics::test {

struct Block {
  uint8_t scale = 0;
  float factor = 0;
  std::vector<uint8_t> codes;
};

// The smallest power of two that is at least q, by search.
inline uint8_t power_above(float q) {
  if (std::isnan(q)) return 0xFF;
  for (int c = 0; c < 254; ++c) {
    if (std::ldexp(1.0, c - 127) >= static_cast<double>(q)) return static_cast<uint8_t>(c);
  }
  return 254;
}

// 2^(floor(log2 a) - emax), after a has been rounded half up to `mantissa` bits for `even`.
inline uint8_t power_below(float a, int emax, int mantissa, bool even) {
  if (std::isnan(a)) return 0xFF;
  if (std::isinf(a)) return 254;
  if (a == 0) return 0;
  double v = a;
  if (even) {
    const int exponent = std::ilogb(v);
    v = std::ldexp(std::floor(std::ldexp(v, mantissa - exponent) + 0.5), exponent - mantissa);
  }
  const int code = std::ilogb(v) - emax + 127;
  return static_cast<uint8_t>(code < 0 ? 0 : code > 254 ? 254 : code);
}

inline uint8_t scale_code(const BlockSpec& s, float amax) {
  const float r = 1.0f / s.qmax;
  const float scaled = amax * r;
  const float q = std::fabs(scaled * s.norm);
  if (s.format == Format::nvfp4) {
    if (std::isnan(q)) return 0x7F;
    return static_cast<uint8_t>(encode(kE4m3, q > 448 ? 448.0f : q));
  }
  if (s.scale_rounding == ScaleRounding::up) return power_above(q);
  const int emax = s.element == DType::e4m3 ? 8 : s.element == DType::e5m2 ? 15 : 2;
  const int mantissa = s.element == DType::e4m3 ? 3 : s.element == DType::e5m2 ? 2 : 1;
  return power_below(std::fabs(amax * s.norm), emax, mantissa,
                     s.scale_rounding == ScaleRounding::even);
}

inline float scale_of(const BlockSpec& s, uint8_t code) {
  return s.format == Format::nvfp4 ? decode(kE4m3, code) : decode_e8m0(code);
}

// Nearest even only.
inline Block quantize(const BlockSpec& s, const std::vector<float>& x) {
  float amax = 0;
  for (float v : x) {
    if (std::isnan(v) || std::isnan(amax)) {
      amax = std::numeric_limits<float>::quiet_NaN();
    } else if (std::fabs(v) > amax) {
      amax = std::fabs(v);
    }
  }
  Block b;
  b.scale = scale_code(s, amax);
  const float scale = scale_of(s, b.scale);
  b.factor = s.reciprocal == Reciprocal::exact ? s.norm / scale : s.norm * (1.0f / scale);
  const float max = std::numeric_limits<float>::max();
  if (b.factor > max) b.factor = max;
  if (b.factor < -max) b.factor = -max;
  for (float v : x) {
    const float y = v * b.factor;
    b.codes.push_back(static_cast<uint8_t>(encode(*find_spec(s.element), y)));
  }
  return b;
}

}  // namespace cohort::numerics::test
