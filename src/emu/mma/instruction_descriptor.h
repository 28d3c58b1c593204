// The instruction descriptor of tcgen05.mma: types, shape, signs. PTX ISA 9.1, tables of the
// instruction descriptor, of shapes and of types.
#pragma once

#include <cstdint>

#include "emu/mma/block_scaled_dot.h"
#include "emu/mma/field_fault.h"
#include "emu/mma/shared_descriptor.h"

namespace cohort::emu {

/// The .kind of a tcgen05.mma.
enum class MmaKind : uint8_t { f16, tf32, f8f6f4, i8, mxf8f6f4, mxf4, mxf4nvf4 };

/// Elements of A and B.
enum class MmaOperand : uint8_t { f16, bf16, tf32, e4m3, e5m2, e2m3, e3m2, e2m1, u8, s8 };

/// Elements of D.
enum class MmaResult : uint8_t { f16, f32, s32 };

/// What the instruction itself says, beside its descriptor.
struct MmaForm {
  MmaKind kind = MmaKind::f16;
  uint8_t cta_group = 1;  ///< 1 or 2.
  bool ws = false;        ///< .ws
  bool sparse = false;    ///< mma.sp
  uint8_t block = 32;     ///< Elements of a scale: 32 or 16. Kinds with scales.
  bool has_k96 = false;   ///< Of the target: sm_103a.
};

/// A descriptor taken apart.
struct InstructionDescriptor {
  uint32_t m = 0;
  uint32_t n = 0;
  uint32_t k = 0;  ///< Elements of one row of A; of a sparse A twice as many as are stored.
  MmaOperand a = MmaOperand::f16;
  MmaOperand b = MmaOperand::f16;
  MmaResult d = MmaResult::f32;
  Major major_a = Major::k;
  Major major_b = Major::k;
  bool negate_a = false;
  bool negate_b = false;
  bool saturate = false;
  uint8_t sparsity_selector = 0;
  uint8_t max_shift_b = 0;  ///< .ws: 0, 8, 16, 32.
  ScaleFormat scale_format = ScaleFormat::ue8m0;
  uint8_t scale_id_a = 0;  ///< First byte of a cell of 4 that holds the scales of A.
  uint8_t scale_id_b = 0;
};

[[nodiscard]] bool has_scales(MmaKind kind);
/// Bits of an element: of e2m1 4, of tf32 32.
[[nodiscard]] int bits_of(MmaOperand operand);
/// What the instruction with this descriptor does, and each rule that it breaks: reserved bits,
/// types, shape, transposes, scales.
[[nodiscard]] Decoded<InstructionDescriptor> decode_instruction(const MmaForm& form, uint32_t bits);

/// Whether an operand may lie in shared memory like this (table of majorness and swizzles).
[[nodiscard]] bool can_lie(MmaKind kind, MmaOperand operand, Major major, Swizzle swizzle);

}  // namespace cohort::emu
