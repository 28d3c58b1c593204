// Where things lie in tensor memory: accumulators, scales, what tcgen05.ld, st and cp move. PTX ISA
// 9.1; layouts that it gives as figures are those of CUTLASS's traits.
#pragma once

#include <array>
#include <cstdint>

namespace cohort::emu {

/// A cell of 32 bits of tensor memory: 128 lanes, 512 columns. Relative to an address.
struct TensorCell {
  uint32_t lane = 0;
  uint32_t column = 0;
  bool operator==(const TensorCell&) const = default;
};

/// Layouts of D by their letters in PTX.
enum class TensorLayout : uint8_t { a, b, c, d, e, f, g };

/// The layout of a legal shape.
[[nodiscard]] TensorLayout layout_of(uint32_t m, int cta_group, bool ws, bool sparse);
/// Rows of D that one CTA holds.
[[nodiscard]] uint32_t rows_of(TensorLayout layout);
/// Where element (row, column) of this CTA's rows of D lies; an f16 in the lower half of its cell.
/// The layouts of 64 rows in quarters (c, f) begin at lane 0 or 16.
[[nodiscard]] TensorCell cell_of(TensorLayout layout, uint32_t n, uint32_t row, uint32_t column);

/// Where a scale lies: one byte of a cell, in each of several quarters of 32 lanes.
struct ScalePlace {
  TensorCell cell;          ///< Lane 0 to 31 of a quarter.
  uint32_t byte = 0;        ///< Of the cell.
  uint32_t quarters = 0xF;  ///< Bit q: a copy in lanes 32 q to 32 q + 31.
};
/// The scale of a row of A or a column of B; `block` counts from the instruction's scale id. Not
/// for K = 96, whose scales PTX shows in figures alone.
[[nodiscard]] ScalePlace scale_place(uint32_t index, uint32_t block, uint32_t id);
/// Of B for M = 128 and cta_group::2, where two halves of the lanes hold two halves of the columns.
[[nodiscard]] ScalePlace scale_place_2x2(uint32_t column, uint32_t n, uint32_t block, uint32_t id);

/// Shapes of tcgen05.ld and st.
enum class MoveShape : uint8_t { x32x32b, x16x64b, x16x128b, x16x256b, x16x32bx2 };

/// Registers of a thread, or 0: no such repetition. `repeat` is the number after .x.
[[nodiscard]] uint32_t registers_of(MoveShape shape, uint32_t repeat);
/// The cell of a register of a thread of the warp. `split` is immHalfSplitoff of 16x32bx2.
[[nodiscard]] TensorCell move_cell(MoveShape shape, uint32_t thread, uint32_t reg,
                                   uint32_t split = 0);
/// With .pack::16b or .unpack::16b: the cells whose lower halves are the lower and upper half of
/// the register.
[[nodiscard]] std::array<TensorCell, 2> packed_cells(MoveShape shape, uint32_t thread, uint32_t reg,
                                                     uint32_t split = 0);

/// Shapes of tcgen05.cp.
enum class CopyShape : uint8_t {
  x128x256b,
  x128x128b,
  x64x128b_02_13,
  x64x128b_01_23,
  x32x128b_warpx4,
  x4x256b,
};
struct CopyExtent {
  uint32_t rows = 0;
  uint32_t bytes = 0;  ///< Of a row; 4 to a column.
};
[[nodiscard]] CopyExtent extent_of(CopyShape shape);
/// The lanes to which a row is copied.
struct CopyLanes {
  uint32_t count = 0;
  std::array<uint32_t, 4> lanes{};
};
[[nodiscard]] CopyLanes lanes_of(CopyShape shape, uint32_t row);

}  // namespace cohort::emu
