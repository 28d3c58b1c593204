// tcgen05.mma and tcgen05.cp as the tensor pipe does them.
#pragma once

#include <array>
#include <cstdint>

#include "emu/async/tensor_pipe.h"
#include "emu/mma/instruction_descriptor.h"
#include "emu/mma/shared_descriptor.h"
#include "emu/mma/tensor_layout.h"

namespace cohort::emu {

/// A tcgen05.mma whose descriptors are legal.
struct TensorProduct {
  MmaForm form;
  InstructionDescriptor shape;
  SharedDescriptor a;
  SharedDescriptor b;
  TensorCell d;
  bool a_in_tensor = false;
  TensorCell a_cell;
  TensorCell scale_a;
  TensorCell scale_b;
  bool accumulate = false;
  uint8_t scale_c = 0;
  std::array<uint32_t, 8> disabled{};  ///< Bit l: lane l of D is not written; four words a CTA.

  [[nodiscard]] TensorLayout layout() const;
  /// Columns of tensor memory.
  [[nodiscard]] uint32_t columns_d() const;
  [[nodiscard]] uint32_t columns_a() const;
  [[nodiscard]] uint32_t columns_scale_a() const;
  [[nodiscard]] uint32_t columns_scale_b() const;
  /// Lines of A, and of B, that each CTA holds.
  [[nodiscard]] uint32_t rows() const { return rows_of(layout()); }
  [[nodiscard]] uint32_t columns_b() const { return shape.n / form.cta_group; }
  /// What PipeStep::shape says.
  [[nodiscard]] uint32_t step_shape() const;
};

/// Reads, multiplies, writes.
void multiply(const PipeIssue& issue, const TensorProduct& product);

struct TensorCopy {
  CopyShape shape = CopyShape::x128x256b;
  SharedDescriptor from;
  TensorCell to;
};
void copy(const PipeIssue& issue, const TensorCopy& copy);

}  // namespace cohort::emu
