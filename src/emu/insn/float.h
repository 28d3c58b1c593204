// f32 and f64 as PTX has them: rounding modes, flushed subnormals, NaN. Included by isa_*.cpp only.
#pragma once

#include <xmmintrin.h>

#include <bit>
#include <cstdint>

namespace cohort::emu::COHORT_ISA {

/// The NaN that f32 operations give.
inline constexpr uint32_t kNan = 0x7FFFFFFF;

inline float canonical(float x) { return x != x ? std::bit_cast<float>(kNan) : x; }
/// A subnormal number becomes a zero of its sign.
inline float flush(float x) {
  const auto u = std::bit_cast<uint32_t>(x);
  return std::bit_cast<float>((u & 0x7F800000) == 0 ? u & 0x80000000 : u);
}
/// [0, 1]; NaN becomes 0.
inline float saturate(float x) { return x > 0 ? (x < 1 ? x : 1.0f) : 0.0f; }

template <bool kFtz>
inline float in(float x) {
  return kFtz ? flush(x) : x;
}
template <bool kFtz, bool kSat>
inline float out(float x) {
  const float f = kFtz ? flush(x) : x;
  return kSat ? saturate(f) : canonical(f);
}

/// a * b + c, rounded once. Without an instruction for it: the product is exact in f64; the sum is
/// rounded to odd there, so that rounding it again to f32 is right (Boldo and Melquiond, 2008).
inline float fused(float a, float b, float c) {
#ifdef __FMA__
  return __builtin_fmaf(a, b, c);
#else
  const double p = static_cast<double>(a) * b;
  const double z = c;
  const double s = p + z;
  const double t = s - p;
  const double error = (p - (s - t)) + (z - t);
  auto bits = std::bit_cast<int64_t>(s);
  const bool inexact = error < 0 || error > 0;
  const bool toward_zero = (error < 0) == (s > 0);
  const bool odd = (bits & 1) != 0;
  bits += inexact && !odd ? (toward_zero ? -1 : 1) : 0;
  // An infinite sum has no meaningful error.
  const bool finite = (bits & 0x7FF0000000000000) != 0x7FF0000000000000;
  return static_cast<float>(finite ? std::bit_cast<double>(bits) : s);
#endif
}
inline double fused(double a, double b, double c) { return __builtin_fma(a, b, c); }

/// f64 NaN: that of the first operand that is one, made quiet; the default one otherwise.
inline double quiet(double x) {
  return std::bit_cast<double>(std::bit_cast<uint64_t>(x) | 0x0008000000000000);
}
inline double settled(double r, double a, double b) {
  if (r == r) return r;
  return a != a ? quiet(a) : b != b ? quiet(b) : std::bit_cast<double>(0xFFF8000000000000);
}

/// Sets the rounding mode of SSE for its lifetime. Values go through opaque() on both sides of an
/// operation, so that it stays between.
class Rounding {
 public:
  enum Mode : uint8_t { nearest = 0, down = 1, up = 2, zero = 3 };
  explicit Rounding(uint8_t mode) : old_(_mm_getcsr()) {
    _mm_setcsr((old_ & ~0x6000u) | static_cast<uint32_t>(mode) << 13);
  }
  ~Rounding() { _mm_setcsr(old_); }
  Rounding(const Rounding&) = delete;
  Rounding& operator=(const Rounding&) = delete;

 private:
  uint32_t old_;
};
template <class T>
inline T opaque(T x) {
  __asm__ volatile("" : "+x"(x));
  return x;
}

}  // namespace cohort::emu::COHORT_ISA
