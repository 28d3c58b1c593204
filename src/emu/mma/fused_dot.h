// The sum that a tensor core makes in one instruction: C plus products, in one go.
//
// The model is public (MMA-Sim, arXiv 2511.10909; Khattak and Mikaitis, arXiv 2512.07004) and was
// compared with an H200 bit for bit: docs/emulator/tensor_core.md.
#pragma once

#include <cstdint>
#include <span>

#include "emu/mma/element.h"

namespace cohort::emu {

/// Type of C and D.
enum class Accumulator : uint8_t { f16, f32 };

/// How a kind of instruction adds. All addends are aligned to the largest exponent, cut toward zero
/// `kept_bits` below it, added exactly; the sum is rounded once: f16 to nearest even, f32 toward
/// zero and cut to `result_bits` of fraction.
struct DotRule {
  Accumulator accumulator = Accumulator::f32;
  uint8_t kept_bits = 25;
  uint8_t result_bits = 23;
};

/// mxf4 and mxf4nvf4: groups of 16 products, not single ones, are cut.
inline constexpr DotRule kDotGroups{Accumulator::f32, 35, 23};
/// Everything of 16 bits and tf32, on Hopper and Blackwell, and fp8 on Blackwell.
inline constexpr DotRule kDotF32{Accumulator::f32, 25, 23};
inline constexpr DotRule kDotF16{Accumulator::f16, 25, 10};
/// wgmma with operands of 8 bits.
inline constexpr DotRule kHopperFp8{Accumulator::f32, 13, 13};
inline constexpr DotRule kHopperFp8F16{Accumulator::f16, 13, 10};

/// Scales of one block of an MXFP operand pair: powers of two, added to the exponents of products.
struct BlockScale {
  bool not_a_number = false;
  int32_t exponent = 0;
};

/// C times 2^-scale as a sum takes it (scale-input-d of tcgen05.mma, 0 to 15). Whether the hardware
/// rounds an f32 that becomes subnormal is not known; here it does not.
[[nodiscard]] Exact decode_accumulator(Accumulator type, uint32_t bits, int scale = 0);

/// D = C + sum of a[k] * b[k]. C and D as the bits of the accumulator's type. NaN is 0x7FFFFFFF, or
/// 0x7FFF; a sum of nothing but zeros is +0. `a` and `b` have one size, at most 1024.
[[nodiscard]] uint32_t fused_dot(std::span<const Exact> a, std::span<const Exact> b, uint32_t c,
                                 const DotRule& rule, BlockScale scale = {});
/// `nudge` units of the last place that is kept are added before the sum is rounded: what another
/// order or another model might give (sum_check.h). A sum of zeros stays one.
[[nodiscard]] uint32_t fused_dot(std::span<const Exact> a, std::span<const Exact> b, const Exact& c,
                                 const DotRule& rule, BlockScale scale = {}, int nudge = 0);

/// What ptxas makes of mma.sync m16n8k32 with fp8 operands for sm_90: elements become f16, k with k
/// % 4 < 2 are added first, then the others to them, at last C by an ordinary addition.
[[nodiscard]] uint32_t hopper_fp8_mma(std::span<const Exact, 32> a, std::span<const Exact, 32> b,
                                      uint32_t c, Accumulator accumulator);

}  // namespace cohort::emu
