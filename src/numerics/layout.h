// Where scale factors stand in memory. Formulas: docs/numerics.md.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include <cohort/types.h>

namespace cohort::numerics {

/// Rows and scale columns of one 512-byte atom (cuBLAS "128x4" block scaling layout).
inline constexpr int64_t kAtomRows = 128;
inline constexpr int64_t kAtomColumns = 4;
inline constexpr int64_t kAtomBytes = 512;

/// Bytes of the tiled form of a (rows, columns) matrix of scale bytes; nothing on overflow.
[[nodiscard]] std::optional<int64_t> tiled_bytes(int64_t rows, int64_t columns);

/// Byte of scale (row, column) in the tiled form of a matrix with `columns` scale columns.
[[nodiscard]] constexpr int64_t tiled_offset(int64_t row, int64_t column, int64_t columns) {
  const int64_t tiles = (columns + kAtomColumns - 1) / kAtomColumns;
  return ((row / kAtomRows) * tiles + column / kAtomColumns) * kAtomBytes + (row % 32) * 16 +
         ((row % kAtomRows) / 32) * 4 + column % kAtomColumns;
}

/// Row at which expert g's scales start in shifted_128; `begin`: rows of earlier groups.
[[nodiscard]] constexpr int64_t shifted_row(int64_t begin, int64_t group) {
  return (begin / kAtomRows + group) * kAtomRows;
}

/// Bytes of one group's column scales: a tiled (features, ceil(rows / block)) matrix.
[[nodiscard]] std::optional<int64_t> per_group_bytes(int64_t features, int64_t rows, int64_t block);

/// Most bytes that a scale buffer of `layout` holds, whatever the group sizes. Row scales: rows x
/// ceil(features / block) scales; column scales: features x token blocks.
[[nodiscard]] std::optional<int64_t> scale_buffer_bytes(ScaleLayout layout, int64_t rows,
                                                        int64_t features, int64_t block,
                                                        int64_t groups);

}  // namespace cohort::numerics
