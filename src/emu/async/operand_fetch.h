// Operands of tensor cores out of shared memory, as codes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "emu/async/tensor_pipe.h"
#include "emu/mma/element.h"
#include "emu/mma/instruction_descriptor.h"
#include "emu/mma/shared_descriptor.h"

namespace cohort::emu {

/// Rows of A or columns of B: codes of their elements, [line][k].
struct Lines {
  Lines(uint32_t lines, uint32_t length) : count(lines), k(length), codes(size_t{lines} * length) {}
  uint32_t count;
  uint32_t k;
  std::vector<uint32_t> codes;
  [[nodiscard]] std::span<const uint32_t> line(uint32_t i) const {
    return {codes.data() + size_t{i} * k, k};
  }
};

struct SharedOperand {
  MmaKind kind = MmaKind::f16;
  MmaOperand type = MmaOperand::f16;
  Major major = Major::k;
  SharedDescriptor descriptor;
  uint32_t from = 0;  ///< The first line that is wanted.
};

/// Bits from one element to the next: f8f6f4 pads smaller ones to 8.
[[nodiscard]] uint32_t element_pitch(MmaKind kind, MmaOperand operand);
/// Not of integers.
[[nodiscard]] Element element_of(MmaOperand operand);
/// Turns the signs.
void negate(Lines& lines, MmaOperand operand);
/// `count` lines to lines `first` on of `out`, and what was read as boxes. False after a fault.
[[nodiscard]] bool fetch_lines(const PipeIssue& issue, const Cta& cta, const SharedOperand& operand,
                               uint32_t first, uint32_t count, Lines& out);

}  // namespace cohort::emu
