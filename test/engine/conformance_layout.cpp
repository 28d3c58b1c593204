// Where codes and scales of conformance cases stand, by the definitions of the layouts.
#include "engine/conformance.h"

namespace cohort::test::conformance {

namespace {

int64_t up(int64_t value, int64_t multiple) { return (value + multiple - 1) / multiple * multiple; }

}  // namespace

int64_t tiled_byte(int64_t r, int64_t s, int64_t columns) {
  const int64_t tiles = (columns + 3) / 4;
  return (r / 128 * tiles + s / 4) * 512 + r % 32 * 16 + r % 128 / 32 * 4 + s % 4;
}

int64_t code_place(ColStorage storage, const Tokens& tokens, int64_t rows, int64_t columns,
                   int64_t r, int64_t c) {
  if (storage == ColStorage::transposed) return c * rows + r;
  if (storage == ColStorage::as_rows || tokens.group(r) < 0) return r * columns + c;
  const Range& g = tokens.ranges[static_cast<size_t>(tokens.group(r))];
  return columns * g.begin + c * g.rows + r - g.begin;
}

int64_t scale_place(const ScaleLocation& where, const Tokens& tokens, int64_t rows, int64_t columns,
                    int64_t r, int64_t c) {
  const int64_t block = info(where.format).block;
  if (where.format == Format::fp8_tensor) return 0;
  if (where.format == Format::fp8_row) return r;
  const int64_t across = (columns + block - 1) / block;
  if (where.format == Format::fp8_block128) {
    return (where.weights ? r / 128 : r) * across + c / 128;
  }
  if (where.layout == ScaleLayout::linear) return r * across + c / block;
  if (where.layout == ScaleLayout::tiled_128x4) return tiled_byte(r, c / block, across);
  if (where.layout == ScaleLayout::global) return tiled_byte(c, r / block, up(rows, block) / block);
  const int32_t group = tokens.group(r);
  const int64_t row = tokens.row_in_group(r);
  int64_t earlier = 0;
  int64_t tiles = 0;
  int64_t base = 0;
  for (int32_t g = 0; g < group; ++g) {
    const int64_t size = tokens.ranges[static_cast<size_t>(g)].rows;
    earlier += size;
    tiles += up(size, 128) / 128;
    base += 512 * (up(columns, 128) / 128) * (up(up(size, block) / block, 4) / 4);
  }
  if (where.layout == ScaleLayout::shifted_128) tiles = earlier / 128 + group;
  if (is_placed_by_group(where.layout)) return tiled_byte(tiles * 128 + row, c / block, across);
  const int64_t own = tokens.ranges[static_cast<size_t>(group)].rows;
  return base + tiled_byte(c, row / block, up(own, block) / block);
}

}  // namespace cohort::test::conformance
