// Tensor memory: golden cells, and that every map reaches each cell once.
#include "emu/mma/tensor_layout.h"

#include <set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace cohort::emu {
namespace {

using Cells = std::set<std::pair<uint32_t, uint32_t>>;

TEST(TensorLayout, Letters) {
  EXPECT_EQ(layout_of(256, 2, false, false), TensorLayout::a);
  EXPECT_EQ(layout_of(128, 2, false, false), TensorLayout::b);
  EXPECT_EQ(layout_of(128, 2, false, true), TensorLayout::c);
  EXPECT_EQ(layout_of(128, 1, false, false), TensorLayout::d);
  EXPECT_EQ(layout_of(128, 1, true, false), TensorLayout::d);
  EXPECT_EQ(layout_of(64, 1, true, false), TensorLayout::e);
  EXPECT_EQ(layout_of(64, 1, false, false), TensorLayout::f);
  EXPECT_EQ(layout_of(32, 1, true, false), TensorLayout::g);
}

TEST(TensorLayout, CellsByHand) {
  struct Row {
    TensorLayout layout;
    uint32_t row;
    uint32_t column;
    TensorCell cell;
  };
  const Row rows[] = {
      {TensorLayout::a, 127, 5, {127, 5}}, {TensorLayout::d, 77, 63, {77, 63}},
      {TensorLayout::f, 15, 9, {15, 9}},   {TensorLayout::f, 16, 9, {32, 9}},
      {TensorLayout::c, 63, 9, {111, 9}},  {TensorLayout::b, 63, 31, {63, 31}},
      {TensorLayout::b, 63, 32, {127, 0}}, {TensorLayout::e, 5, 40, {69, 8}},
      {TensorLayout::g, 31, 15, {31, 15}}, {TensorLayout::g, 31, 16, {63, 0}},
      {TensorLayout::g, 2, 63, {98, 15}},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(cell_of(row.layout, 64, row.row, row.column), row.cell)
        << static_cast<int>(row.layout) << ": " << row.row << ", " << row.column;
  }
}

TEST(TensorLayout, EveryElementHasACell) {
  for (int letter = 0; letter <= static_cast<int>(TensorLayout::g); ++letter) {
    const auto layout = static_cast<TensorLayout>(letter);
    for (const uint32_t n : {64U, 128U, 256U}) {
      Cells cells;
      for (uint32_t r = 0; r < rows_of(layout); ++r) {
        for (uint32_t c = 0; c < n; ++c) {
          const TensorCell cell = cell_of(layout, n, r, c);
          ASSERT_LT(cell.lane, 128U);
          ASSERT_LT(cell.column, n);
          cells.insert({cell.lane, cell.column});
        }
      }
      EXPECT_EQ(cells.size(), rows_of(layout) * n) << letter;
    }
  }
}

TEST(Scales, Places) {
  const ScalePlace place = scale_place(77, 1, 2);
  EXPECT_EQ(place.cell, (TensorCell{13, 2}));
  EXPECT_EQ(place.byte, 3U);
  EXPECT_EQ(place.quarters, 0xFU);
  EXPECT_EQ(scale_place(255, 0, 0).cell, (TensorCell{31, 7}));
  EXPECT_EQ(scale_place_2x2(63, 128, 0, 1).quarters, 0x3U);
  EXPECT_EQ(scale_place_2x2(64, 128, 0, 1).quarters, 0xCU);
  EXPECT_EQ(scale_place_2x2(64 + 40, 128, 0, 1).cell, (TensorCell{8, 1}));
}

// A block of 128 rows by 4 scales as libraries lay it out, copied with .32x128b.warpx4, is where
// the instruction reads it.
TEST(Scales, AreWhatACopyBrings) {
  for (uint32_t row = 0; row < 128; ++row) {
    for (uint32_t block = 0; block < 4; ++block) {
      const uint32_t offset = row % 32 * 16 + row / 32 * 4 + block;
      const uint32_t source_row = offset / 16;
      const uint32_t column = offset % 16 / 4;
      const ScalePlace place = scale_place(row, block, 0);
      EXPECT_EQ(place.cell, (TensorCell{source_row, column}));
      EXPECT_EQ(place.byte, offset % 4);
      const CopyLanes lanes = lanes_of(CopyShape::x32x128b_warpx4, source_row);
      ASSERT_EQ(lanes.count, 4U);
      for (uint32_t q = 0; q < 4; ++q) EXPECT_EQ(lanes.lanes[q], 32 * q + place.cell.lane);
    }
  }
}

TEST(Copies, Lanes) {
  const auto lanes = [](CopyShape shape, uint32_t row) {
    const CopyLanes l = lanes_of(shape, row);
    return std::vector<uint32_t>(l.lanes.begin(), l.lanes.begin() + l.count);
  };
  using V = std::vector<uint32_t>;
  EXPECT_EQ(lanes(CopyShape::x128x256b, 127), V{127});
  EXPECT_EQ(lanes(CopyShape::x64x128b_02_13, 40), (V{40, 104}));
  EXPECT_EQ(lanes(CopyShape::x64x128b_01_23, 31), (V{31, 63}));
  EXPECT_EQ(lanes(CopyShape::x64x128b_01_23, 32), (V{64, 96}));
  EXPECT_EQ(lanes(CopyShape::x4x256b, 3), V{96});
  // Every shape but the smallest reaches all lanes, each once.
  for (int i = 0; i < static_cast<int>(CopyShape::x4x256b); ++i) {
    const auto shape = static_cast<CopyShape>(i);
    std::set<uint32_t> seen;
    uint32_t count = 0;
    for (uint32_t row = 0; row < extent_of(shape).rows; ++row) {
      for (uint32_t lane : lanes(shape, row)) seen.insert(lane), ++count;
    }
    EXPECT_EQ(seen.size(), 128U);
    EXPECT_EQ(count, 128U);
  }
  EXPECT_EQ(extent_of(CopyShape::x4x256b).bytes, 32U);
}

constexpr MoveShape kShapes[] = {MoveShape::x32x32b, MoveShape::x16x64b, MoveShape::x16x128b,
                                 MoveShape::x16x256b, MoveShape::x16x32bx2};

TEST(Moves, Registers) {
  EXPECT_EQ(registers_of(MoveShape::x32x32b, 128), 128U);
  EXPECT_EQ(registers_of(MoveShape::x16x128b, 64), 128U);
  EXPECT_EQ(registers_of(MoveShape::x16x128b, 128), 0U);
  EXPECT_EQ(registers_of(MoveShape::x16x256b, 32), 128U);
  EXPECT_EQ(registers_of(MoveShape::x16x256b, 64), 0U);
  EXPECT_EQ(registers_of(MoveShape::x32x32b, 3), 0U);
  EXPECT_EQ(registers_of(MoveShape::x32x32b, 0), 0U);
  EXPECT_EQ(registers_of(MoveShape::x32x32b, 256), 0U);
}

TEST(Moves, CellsByHand) {
  struct Row {
    MoveShape shape;
    uint32_t thread;
    uint32_t reg;
    TensorCell cell;
  };
  const Row rows[] = {
      {MoveShape::x32x32b, 17, 5, {17, 5}},   {MoveShape::x16x64b, 1, 0, {8, 0}},
      {MoveShape::x16x64b, 2, 0, {0, 1}},     {MoveShape::x16x64b, 31, 3, {15, 7}},
      {MoveShape::x16x128b, 5, 0, {1, 1}},    {MoveShape::x16x128b, 5, 3, {9, 5}},
      {MoveShape::x16x256b, 6, 1, {1, 5}},    {MoveShape::x16x256b, 6, 6, {9, 12}},
      {MoveShape::x16x32bx2, 20, 3, {4, 35}},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(move_cell(row.shape, row.thread, row.reg, 32), row.cell)
        << static_cast<int>(row.shape) << ": " << row.thread << ", " << row.reg;
  }
}

TEST(Moves, EveryCellOnce) {
  for (const MoveShape shape : kShapes) {
    for (uint32_t repeat = 1; registers_of(shape, repeat) != 0; repeat *= 2) {
      const uint32_t registers = registers_of(shape, repeat);
      const uint32_t lanes = shape == MoveShape::x32x32b ? 32 : 16;
      Cells cells;
      Cells packed;
      for (uint32_t t = 0; t < 32; ++t) {
        for (uint32_t r = 0; r < registers; ++r) {
          const TensorCell cell = move_cell(shape, t, r, registers);
          ASSERT_LT(cell.lane, lanes);
          ASSERT_LT(cell.column, 32 * registers / lanes);
          cells.insert({cell.lane, cell.column});
          for (const TensorCell& half : packed_cells(shape, t, r, 2 * registers)) {
            ASSERT_LT(half.column, 64 * registers / lanes);
            packed.insert({half.lane, half.column});
          }
        }
      }
      EXPECT_EQ(cells.size(), 32 * registers) << static_cast<int>(shape) << ".x" << repeat;
      EXPECT_EQ(packed.size(), 64 * registers);
    }
  }
}

}  // namespace
}  // namespace cohort::emu
