// f16 and bf16 in lanes. Included by isa_*.cpp only.
#pragma once

#include <bit>
#include <cstdint>

#include "numerics/codec.h"

namespace cohort::emu::COHORT_ISA {

inline float half_value(uint16_t x) { return numerics::decode_f16(x); }

struct F16 {
  static constexpr const numerics::Spec& kSpec = numerics::kF16;
  static float value(uint16_t x) { return numerics::decode_f16(x); }
};
struct Bf16 {
  static constexpr const numerics::Spec& kSpec = numerics::kBf16;
  static float value(uint16_t x) { return numerics::decode_bf16(x); }
};

/// x + y in f64, rounded to odd: rounding that once more to at most 51 bits is right.
inline double odd_sum(double x, double y) {
  const double s = x + y;
  const double t = s - x;
  const double error = (x - (s - t)) + (y - t);
  auto bits = std::bit_cast<int64_t>(s);
  if ((bits & 0x7FF0000000000000) == 0x7FF0000000000000 || error == 0 || (bits & 1) != 0) return s;
  bits += (error < 0) == (s > 0) ? -1 : 1;
  return std::bit_cast<double>(bits);
}

}  // namespace cohort::emu::COHORT_ISA
