#include "emu/mma/tensor_layout.h"

#include <bit>

namespace cohort::emu {

TensorLayout layout_of(uint32_t m, int cta_group, bool ws, bool sparse) {
  if (cta_group == 2) {
    if (m == 256) return TensorLayout::a;
    return sparse ? TensorLayout::c : TensorLayout::b;
  }
  if (m == 128) return TensorLayout::d;
  if (m == 32) return TensorLayout::g;
  return ws ? TensorLayout::e : TensorLayout::f;
}

uint32_t rows_of(TensorLayout layout) {
  switch (layout) {
    case TensorLayout::a:
    case TensorLayout::d:
      return 128;
    case TensorLayout::g:
      return 32;
    default:
      return 64;
  }
}

TensorCell cell_of(TensorLayout layout, uint32_t n, uint32_t row, uint32_t column) {
  switch (layout) {
    case TensorLayout::a:
    case TensorLayout::d:
      return {row, column};
    case TensorLayout::c:
    case TensorLayout::f:
      return {row % 16 + 32 * (row / 16), column};
    case TensorLayout::b:
    case TensorLayout::e:
      return {row + 64 * (column / (n / 2)), column % (n / 2)};
    case TensorLayout::g:
      return {row + 32 * (column / (n / 4)), column % (n / 4)};
  }
  return {};
}

ScalePlace scale_place(uint32_t index, uint32_t block, uint32_t id) {
  return {{index % 32, index / 32}, id + block, 0xF};
}

ScalePlace scale_place_2x2(uint32_t column, uint32_t n, uint32_t block, uint32_t id) {
  const uint32_t half = n / 2;
  ScalePlace place = scale_place(column % half, block, id);
  place.quarters = column < half ? 0x3 : 0xC;
  return place;
}

namespace {

// Registers of .x1, in the order of MoveShape. At most 128 registers are moved.
constexpr uint32_t kRegisters[] = {1, 1, 2, 4, 1};
constexpr uint32_t kMostRegisters = 128;

}  // namespace

uint32_t registers_of(MoveShape shape, uint32_t repeat) {
  if (repeat > kMostRegisters || !std::has_single_bit(repeat)) return 0;
  const uint32_t count = repeat * kRegisters[static_cast<int>(shape)];
  return count <= kMostRegisters ? count : 0;
}

TensorCell move_cell(MoveShape shape, uint32_t thread, uint32_t reg, uint32_t split) {
  const uint32_t t = thread;
  switch (shape) {
    case MoveShape::x32x32b:
      return {t, reg};
    case MoveShape::x16x64b:
      return {t % 2 * 8 + t / 4, t / 2 % 2 + 2 * reg};
    case MoveShape::x16x128b:
      return {t / 4 + 8 * (reg % 2), t % 4 + 4 * (reg / 2)};
    case MoveShape::x16x256b:
      return {t / 4 + 8 * (reg / 2 % 2), 2 * (t % 4) + reg % 2 + 8 * (reg / 4)};
    case MoveShape::x16x32bx2:
      return {t % 16, reg + (t >= 16 ? split : 0)};
  }
  return {};
}

std::array<TensorCell, 2> packed_cells(MoveShape shape, uint32_t thread, uint32_t reg,
                                       uint32_t split) {
  // The map counts pairs of columns; the split counts columns.
  TensorCell low = move_cell(shape, thread, reg);
  low.column *= 2;
  if (shape == MoveShape::x16x32bx2 && thread >= 16) low.column += split;
  return {low, TensorCell{low.lane, low.column + 1}};
}

CopyExtent extent_of(CopyShape shape) {
  constexpr CopyExtent kExtents[] = {{128, 32}, {128, 16}, {64, 16}, {64, 16}, {32, 16}, {4, 32}};
  return kExtents[static_cast<int>(shape)];
}

CopyLanes lanes_of(CopyShape shape, uint32_t row) {
  switch (shape) {
    case CopyShape::x128x256b:
    case CopyShape::x128x128b:
      return {1, {row}};
    case CopyShape::x64x128b_02_13:
      return {2, {row, row + 64}};
    case CopyShape::x64x128b_01_23: {
      const uint32_t first = row % 32 + row / 32 * 64;
      return {2, {first, first + 32}};
    }
    case CopyShape::x32x128b_warpx4:
      return {4, {row, row + 32, row + 64, row + 96}};
    case CopyShape::x4x256b:
      return {1, {32 * row}};
  }
  return {};
}

}  // namespace cohort::emu
