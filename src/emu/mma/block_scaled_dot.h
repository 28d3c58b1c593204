// Block-scaled kinds of tcgen05.mma: mxf8f6f4, mxf4, mxf4nvf4. The model is public (MMA-Sim, arXiv
// 2511.10909) and was compared with a B200 by its authors, not by us.
#pragma once

#include <cstdint>
#include <span>

#include "emu/mma/element.h"
#include "emu/mma/fused_dot.h"

namespace cohort::emu {

/// ue8m0: 2^(code - 127), 0xFF is NaN. ue4m3: the value of an e4m3 whose sign is not read.
enum class ScaleFormat : uint8_t { ue8m0, ue4m3 };

/// The value of a scale's code.
[[nodiscard]] Exact decode_scale(ScaleFormat format, uint8_t code);

/// D = C + sum of a[k] * b[k], all of one block: kind::mxf8f6f4, 32 elements of 8 or fewer bits,
/// one UE8M0 code for the row of A and one for the column of B.
[[nodiscard]] uint32_t mxf8f6f4_dot(std::span<const Exact> a, std::span<const Exact> b, uint32_t c,
                                    uint8_t scale_a, uint8_t scale_b);

/// Length K of a sum of 4-bit elements for which a model is known. That of 96 (sm_103a) has none.
inline constexpr int kFp4Length = 64;
inline constexpr int kFp4Group = 16;

/// D = C + sum of scale_a[k / block] * scale_b[k / block] * a[k] * b[k], kind::mxf4 and mxf4nvf4:
/// e2m1 elements, two codes (.block32) or four (.block16) for the row and as many for the column.
/// Products of 16 elements are added exactly and multiplied with the scales exactly; that group is
/// what is cut, and its exponent is that of its two scales, even where its products cancel.
[[nodiscard]] uint32_t fp4_dot(std::span<const Exact, kFp4Length> a,
                               std::span<const Exact, kFp4Length> b, uint32_t c, ScaleFormat format,
                               std::span<const uint8_t> scale_a, std::span<const uint8_t> scale_b);

}  // namespace cohort::emu
