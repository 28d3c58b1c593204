// The sum of kind::i8 and of wgmma and mma.sync with integers.
#pragma once

#include <cstdint>
#include <span>

namespace cohort::emu {

/// D = C + sum of a[k] * b[k]. The sum is exact; what s32 does not hold wraps around, or with
/// `saturate` (.satfinite) becomes the nearest s32. At most 2^16 elements.
[[nodiscard]] int32_t integer_dot(std::span<const int16_t> a, std::span<const int16_t> b, int32_t c,
                                  bool saturate);

}  // namespace cohort::emu
