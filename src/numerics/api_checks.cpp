#include "numerics/api_checks.h"

#include "base/checked.h"
#include "base/diagnostics.h"
#include "numerics/layout.h"

namespace cohort::numerics {

void refuse(std::string_view code, std::string_view field, std::string wanted, std::string got) {
  std::string message = std::string(field) + ": wanted " + wanted + ", got " + got;
  throw base::FindingsError{
      base::make_findings(ErrorKind::mismatch, {.code = code,
                                                .op = "numerics",
                                                .field = std::string(field),
                                                .wanted = std::move(wanted),
                                                .got = std::move(got),
                                                .message = std::move(message)})};
}

void check_extents(int64_t rows, int64_t columns) {
  if (rows < 0) refuse("E-SHAPE", "rows", "at least 0", std::to_string(rows));
  if (columns < 0) refuse("E-SHAPE", "columns", "at least 0", std::to_string(columns));
  const auto elements = base::checked_mul(rows, columns);
  if (!elements || !base::checked_mul(*elements, 8)) {
    refuse("E-OVERFLOW", "rows * columns", "less than 2^60",
           std::to_string(rows) + " * " + std::to_string(columns));
  }
}

Groups::Groups(std::span<const int64_t> boundaries, int64_t rows)
    : boundaries_(boundaries),
      rows_(rows),
      count_(boundaries.empty() ? 1 : static_cast<int64_t>(boundaries.size()) - 1) {
  if (boundaries.size() == 1) refuse("E-GROUPS", "boundaries", "E + 1 numbers, E >= 1", "1");
  int64_t last = 0;
  for (size_t i = 0; i < boundaries.size(); ++i) {
    if (boundaries[i] < last || boundaries[i] > rows) {
      refuse("E-GROUPS", "boundaries[" + std::to_string(i) + "]",
             std::to_string(last) + " to " + std::to_string(rows), std::to_string(boundaries[i]));
    }
    last = boundaries[i];
  }
}

Group Groups::operator[](int64_t g) const {
  if (boundaries_.empty()) return {g, 0, rows_};
  const auto i = static_cast<size_t>(g);
  return {g, boundaries_[i], boundaries_[i + 1]};
}

int64_t Groups::scale_row(ScaleLayout layout, int64_t g) const {
  if (layout == ScaleLayout::shifted_128) return shifted_row(before(g), g);
  int64_t tiles = 0;
  for (int64_t h = 0; h < g; ++h) {
    tiles += base::ceil_div((*this)[h].end - (*this)[h].begin, kAtomRows);
  }
  return tiles * kAtomRows;
}

int64_t exact_scale_bytes(const ScaleMatrix& m, const Groups& groups) {
  check_extents(m.rows, m.columns);
  if (m.block < 1) refuse("E-SHAPE", "block", "at least 1", std::to_string(m.block));
  std::optional<int64_t> bytes;
  if (m.layout == ScaleLayout::per_group) {
    bytes = 0;
    for (int64_t g = 0; g < groups.size() && bytes; ++g) {
      const auto part = per_group_bytes(m.columns, groups[g].end - groups[g].begin, m.block);
      bytes = part ? base::checked_add(*bytes, *part) : std::nullopt;
    }
  } else if (m.layout == ScaleLayout::padded_128) {
    const int64_t rows = groups.scale_row(m.layout, groups.size());
    bytes = tiled_bytes(rows, base::ceil_div(m.columns, m.block));
  } else {
    bytes = scale_buffer_bytes(m.layout, m.rows, m.columns, m.block, groups.size());
  }
  if (!bytes) refuse("E-OVERFLOW", "scales", "less than 2^63 bytes", "more");
  return *bytes;
}

}  // namespace cohort::numerics
