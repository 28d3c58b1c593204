// The arithmetic of one block scale, in f32 and in the settled order. Internal linkage throughout:
// objects compiled for different instruction sets include this and may share no symbol.
#pragma once

#include <cstdint>

#include <cohort/types.h>

namespace cohort::numerics {

/// Everything that decides the codes of a block.
struct BlockSpec {
  Format format = Format::mxfp8_e4m3;
  DType element = DType::e4m3;
  float norm = 1;
  float qmax = 448;
  ScaleRounding scale_rounding = ScaleRounding::up;
  Reciprocal reciprocal = Reciprocal::exact;
  Rounding rounding = Rounding::nearest_even;
  uint64_t seed = 0;
  uint64_t offset = 0;
};

/// The largest value of an element type: the default qmax.
static inline float default_qmax(DType element) {
  return element == DType::e2m1 ? 6.0f : element == DType::e5m2 ? 57344.0f : 448.0f;
}

static inline uint32_t float_bits(float x) { return __builtin_bit_cast(uint32_t, x); }
static inline float bits_float(uint32_t b) { return __builtin_bit_cast(float, b); }

/// q = |(amax * (1/qmax)) * norm|, each step rounded to f32. A scale has no sign: that of a
/// negative norm stays in the element factor.
static inline float block_q(float amax, float qmax, float norm) {
  const float reciprocal = 1.0f / qmax;
  const float scaled = amax * reciprocal;
  const float q = scaled * norm;
  return bits_float(float_bits(q) & 0x7FFFFFFF);
}

/// UE8M0 code of the smallest power of two that is at least q >= 0; saturates at 2^127.
static inline uint32_t e8m0_up(float q) {
  const uint32_t b = float_bits(q);
  const uint32_t exponent = b >> 23;
  const uint32_t mantissa = b & 0x7FFFFF;
  const uint32_t normal = exponent + (mantissa != 0 ? 1 : 0);
  const uint32_t code = exponent == 0 ? (mantissa > 0x400000 ? 1 : 0) : normal;
  return b > 0x7F800000 ? 0xFF : code > 254 ? 254 : code;
}

/// UE8M0 code of 2^(floor(log2 a) - emax), the OCP MX conversion; saturates at both ends. The bits
/// of a finite number that was rounded up to 2^128 are those of infinity, hence `is_finite`.
static inline uint32_t e8m0_floor(uint32_t a_bits, int emax, bool is_finite) {
  if (a_bits > 0x7F800000) return 0xFF;
  if (!is_finite) return 254;
  const int code = static_cast<int>(a_bits >> 23) - emax;  // subnormal a lies far below 2^-127
  return code < 0 ? 0 : static_cast<uint32_t>(code);
}

/// Exponent of the largest value of an element type (OCP MX v1.0, 5.3).
static inline int element_emax(DType element) {
  return element == DType::e2m1 ? 2 : element == DType::e5m2 ? 15 : 8;
}
static inline unsigned element_mantissa(DType element) {
  return element == DType::e2m1 ? 1 : element == DType::e5m2 ? 2 : 3;
}

/// UE8M0 code of a block whose largest magnitude is amax (NaN when the block holds one).
static inline uint32_t e8m0_code(const BlockSpec& s, float amax) {
  if (s.scale_rounding == ScaleRounding::up) return e8m0_up(block_q(amax, s.qmax, s.norm));
  const float a = amax * s.norm;
  uint32_t b = float_bits(a) & 0x7FFFFFFF;
  const bool is_finite = b < 0x7F800000;
  if (s.scale_rounding == ScaleRounding::even && is_finite) {
    // Half of the last kept place, then the places below are dropped by taking the exponent.
    b += uint32_t{1} << (22 - element_mantissa(s.element));
  }
  return e8m0_floor(b > 0x7F800000 && is_finite ? 0x7F800000 : b, element_emax(s.element),
                    is_finite);
}

static inline float e8m0_value(uint32_t code) {
  return code == 0xFF ? bits_float(0x7FC00000) : bits_float(code == 0 ? 0x00400000u : code << 23);
}

/// f = norm / scale, at most FLT_MAX in magnitude; approx: norm * (1 / scale), both rounded.
static inline float element_factor(const BlockSpec& s, float scale) {
  const float f = s.reciprocal == Reciprocal::exact ? s.norm / scale : s.norm * (1.0f / scale);
  const float max = 3.40282346638528859812e+38f;
  return f > max ? max : f < -max ? -max : f;
}

}  // namespace cohort::numerics
