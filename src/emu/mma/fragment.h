// Which element of a matrix a register of a thread holds: mma.sync, wgmma, ldmatrix, stmatrix.
// PTX ISA 9.2, matrix fragments of each shape; all of them follow one rule of pairs and quads.
#pragma once

#include <cstdint>

namespace cohort::emu {

/// Row and column of an element. Of A: row and k; of B: k and column.
struct Place {
  uint32_t row = 0;
  uint32_t column = 0;
  bool operator==(const Place&) const = default;
};

/// A of m8 (one row of registers) or m16: element `i` of register `reg` of a thread. `packed`
/// elements share a register: 1 of f64 and tf32, 2 of 16 bits, 4 of 8 bits.
constexpr Place fragment_a(uint32_t rows, uint32_t packed, uint32_t thread, uint32_t reg,
                           uint32_t i) {
  const uint32_t halves = rows / 8;
  return {thread / 4 + 8 * (reg % halves), packed * (thread % 4) + i + 4 * packed * (reg / halves)};
}

/// B of n8.
constexpr Place fragment_b(uint32_t packed, uint32_t thread, uint32_t reg, uint32_t i) {
  return {packed * (thread % 4) + i + 4 * packed * reg, thread / 4};
}

/// C and D: number `i` of a thread's elements. Those of m8 are two; m16n8 has four, and each
/// further eight columns (wgmma) four more.
constexpr Place fragment_c(uint32_t thread, uint32_t i) {
  return {thread / 4 + 8 * (i / 2 % 2), 8 * (i / 4) + 2 * (thread % 4) + i % 2};
}

/// How ldmatrix and stmatrix take matrices from rows of 16 bytes.
enum class MatrixForm : uint8_t {
  rows,     ///< m8n8 of 16 bits, m8n16 of 8: four bytes of a row
  columns,  ///< m8n8 .trans of 16 bits: two elements of a column
  load8,    ///< ldmatrix m16n16 .trans of 8 bits
  store8,   ///< stmatrix m16n8 .trans of 8 bits
};
constexpr uint32_t matrix_rows(MatrixForm form) { return form == MatrixForm::load8 ? 16 : 8; }
constexpr uint32_t matrix_registers(MatrixForm form) { return form == MatrixForm::load8 ? 2 : 1; }

/// Row, and byte of it, that is byte `i` of a register. Forms of 8 bits are a figure in PTX: read
/// from CUTLASS's traits (copy_traits_sm100.hpp), run on no chip.
constexpr Place matrix_byte(MatrixForm form, uint32_t thread, uint32_t reg, uint32_t i) {
  const uint32_t quad = thread / 4;
  const uint32_t in_quad = thread % 4;
  switch (form) {
    case MatrixForm::rows:
      return {quad, 4 * in_quad + i};
    case MatrixForm::columns:
      return {2 * in_quad + i / 2, 2 * quad + i % 2};
    case MatrixForm::load8:
      return {4 * in_quad + 2 * reg + i % 2, quad + 8 * (i / 2)};
    case MatrixForm::store8:
      return {2 * in_quad + i % 2, quad + 8 * (i / 2)};
  }
  return {};
}

}  // namespace cohort::emu
