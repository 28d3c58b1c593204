#include "numerics/layout.h"

#include "base/checked.h"

namespace cohort::numerics {

using base::ceil_div;
using base::checked_add;
using base::checked_mul;

namespace {

std::optional<int64_t> product(std::optional<int64_t> a, std::optional<int64_t> b) {
  return a && b ? checked_mul(*a, *b) : std::nullopt;
}

}  // namespace

std::optional<int64_t> tiled_bytes(int64_t rows, int64_t columns) {
  return product(checked_mul(ceil_div(rows, kAtomRows), ceil_div(columns, kAtomColumns)),
                 kAtomBytes);
}

std::optional<int64_t> per_group_bytes(int64_t features, int64_t rows, int64_t block) {
  return tiled_bytes(features, ceil_div(rows, block));
}

std::optional<int64_t> scale_buffer_bytes(ScaleLayout layout, int64_t rows, int64_t features,
                                          int64_t block, int64_t groups) {
  const int64_t columns = ceil_div(features, block);
  switch (layout) {
    case ScaleLayout::linear:
      return checked_mul(rows, columns);
    case ScaleLayout::tiled_128x4:
      return tiled_bytes(rows, columns);
    case ScaleLayout::shifted_128:
    case ScaleLayout::padded_128: {
      // With at least one row a group, no more tiles than whole ones and one begun by each group.
      const auto tiles = checked_add(ceil_div(rows, kAtomRows), groups - 1);
      return product(product(tiles, ceil_div(columns, kAtomColumns)), kAtomBytes);
    }
    case ScaleLayout::global:
      return tiled_bytes(features, ceil_div(rows, block));
    case ScaleLayout::per_group: {
      const auto tiles = checked_add(ceil_div(rows, kAtomColumns * block), groups);
      return product(product(tiles, ceil_div(features, kAtomRows)), kAtomBytes);
    }
  }
  return std::nullopt;
}

}  // namespace cohort::numerics
