// The inner loop of fast sums, compiled for each x86-64 level.
#pragma once

#include <cstdint>

namespace cohort::emu {

/// Outputs that are made at once: a part of one row of D.
inline constexpr int kDotBlock = 64;
/// Stored exponent of a zero. Others are between -kDotExponent and kDotExponent, so that the sum of
/// two exponents fits into 8 bits and tells where there is no product.
inline constexpr int8_t kDotZero = -96;
inline constexpr int kDotExponent = 31;

/// One row of A against kDotBlock columns of B. A line is value * 2^shift.
struct DotRow {
  const float* a = nullptr;  ///< [length]
  const int8_t* exponent_a = nullptr;
  int32_t shift_a = 0;
  const float* b = nullptr;  ///< [length][kDotBlock]
  const int8_t* exponent_b = nullptr;
  const int32_t* shift_b = nullptr;  ///< [kDotBlock]
  const uint32_t* c = nullptr;       ///< [kDotBlock] f32
  int length = 0;
  int kept_bits = 25;  ///< At most 25.
  int result_bits = 23;
  int scale_c = 0;
};

/// Sums of a row. rare[n] is set where d[n] is not the sum and the plain model has to make it:
/// exponents of the result near the ends of f32, infinities and NaN in C. Says whether any is.
using DotRowFunction = bool (*)(const DotRow& row, uint32_t* d, uint8_t* rare);

namespace v1 {
extern const DotRowFunction kDotRow;
}
namespace v3 {
extern const DotRowFunction kDotRow;
}
namespace v4 {
extern const DotRowFunction kDotRow;
}

}  // namespace cohort::emu
