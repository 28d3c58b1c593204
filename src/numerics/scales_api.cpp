// Public sizes, places and moves of block scales.
#include <cstring>

#include <cohort/numerics.h>

#include "base/checked.h"
#include "base/diagnostics.h"
#include "numerics/api_checks.h"
#include "numerics/layout.h"

namespace cohort {

using base::ceil_div;
using numerics::refuse;

namespace {

// The group that owns a row, or nothing.
std::optional<numerics::Group> owner(const numerics::Groups& groups, int64_t row) {
  for (int64_t g = 0; g < groups.size(); ++g) {
    if (row >= groups[g].begin && row < groups[g].end) return groups[g];
  }
  return std::nullopt;
}

int64_t grouped_offset(const ScaleMatrix& m, const numerics::Groups& groups, int64_t row,
                       int64_t column) {
  const auto group = owner(groups, row);
  if (!group) refuse("E-GROUPS", "row", "a row of a group", std::to_string(row));
  if (is_placed_by_group(m.layout)) {
    const int64_t shifted = groups.scale_row(m.layout, group->index);
    return numerics::tiled_offset(shifted + row - group->begin, column / m.block,
                                  ceil_div(m.columns, m.block));
  }
  int64_t base = 0;
  for (int64_t g = 0; g < group->index; ++g) {
    base += *numerics::per_group_bytes(m.columns, groups[g].end - groups[g].begin, m.block);
  }
  return base + numerics::tiled_offset(column, (row - group->begin) / m.block,
                                       ceil_div(group->end - group->begin, m.block));
}

int64_t offset_of(const ScaleMatrix& m, int64_t row, int64_t column) {
  const numerics::Groups groups(m.boundaries, m.rows);
  (void)numerics::exact_scale_bytes(m, groups);
  if (row < 0 || row >= m.rows) {
    refuse("E-SHAPE", "row", "0 to " + std::to_string(m.rows - 1), std::to_string(row));
  }
  if (column < 0 || column >= m.columns) {
    refuse("E-SHAPE", "column", "0 to " + std::to_string(m.columns - 1), std::to_string(column));
  }
  const int64_t blocks = ceil_div(m.columns, m.block);
  switch (m.layout) {
    case ScaleLayout::linear:
      return row * blocks + column / m.block;
    case ScaleLayout::tiled_128x4:
      return numerics::tiled_offset(row, column / m.block, blocks);
    case ScaleLayout::global:
      return numerics::tiled_offset(column, row / m.block, ceil_div(m.rows, m.block));
    default:
      return grouped_offset(m, groups, row, column);
  }
}

int64_t tiled_size(int64_t rows, int64_t scale_columns) {
  const ScaleMatrix m{.rows = rows, .columns = scale_columns, .block = 1};
  return numerics::exact_scale_bytes(m, numerics::Groups({}, rows < 0 ? 0 : rows));
}

}  // namespace

Result<int64_t> scale_bytes(const ScaleMatrix& m) noexcept {
  return base::guarded("sizing scales", [&]() -> Result<int64_t> {
    return numerics::exact_scale_bytes(m, numerics::Groups(m.boundaries, m.rows));
  });
}

Result<int64_t> scale_bytes(ScaleLayout layout, int64_t rows, int64_t columns,
                            int64_t block) noexcept {
  return base::guarded("sizing scales", [&]() -> Result<int64_t> {
    if (layout != ScaleLayout::linear && layout != ScaleLayout::tiled_128x4) {
      refuse("E-LAYOUT", "layout", "linear or tiled_128x4", std::string(name(layout)));
    }
    const ScaleMatrix m{.layout = layout, .rows = rows, .columns = columns, .block = block};
    return numerics::exact_scale_bytes(m, numerics::Groups({}, rows));
  });
}

Result<int64_t> scale_bytes_bound(const ScaleMatrix& m, int64_t groups) noexcept {
  return base::guarded("sizing scales", [&]() -> Result<int64_t> {
    numerics::check_extents(m.rows, m.columns);
    if (m.block < 1) refuse("E-SHAPE", "block", "at least 1", std::to_string(m.block));
    if (groups < 1) refuse("E-GROUPS", "groups", "at least 1", std::to_string(groups));
    const auto bytes = numerics::scale_buffer_bytes(m.layout, m.rows, m.columns, m.block, groups);
    if (!bytes) refuse("E-OVERFLOW", "scales", "less than 2^63 bytes", "more");
    return *bytes;
  });
}

Result<int64_t> scale_offset(const ScaleMatrix& m, int64_t row, int64_t column) noexcept {
  return base::guarded("placing a scale",
                       [&]() -> Result<int64_t> { return offset_of(m, row, column); });
}

Status swizzle_scales(int64_t rows, int64_t scale_columns, const std::byte* linear,
                      std::byte* tiled) noexcept {
  return base::guarded("swizzling scales", [&]() -> Status {
    const int64_t bytes = tiled_size(rows, scale_columns);
    if (bytes > 0) std::memset(tiled, 0, static_cast<size_t>(bytes));
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t c = 0; c < scale_columns; ++c) {
        tiled[numerics::tiled_offset(r, c, scale_columns)] = linear[r * scale_columns + c];
      }
    }
    return {};
  });
}

Status unswizzle_scales(int64_t rows, int64_t scale_columns, const std::byte* tiled,
                        std::byte* linear) noexcept {
  return base::guarded("unswizzling scales", [&]() -> Status {
    (void)tiled_size(rows, scale_columns);
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t c = 0; c < scale_columns; ++c) {
        linear[r * scale_columns + c] = tiled[numerics::tiled_offset(r, c, scale_columns)];
      }
    }
    return {};
  });
}

}  // namespace cohort
