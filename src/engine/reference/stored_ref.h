// A stored tensor as the reference engine reads and writes it: element by element through its
// format, strides and scale layout.
#pragma once

#include <cstdint>
#include <vector>

#include <cohort/tensor.h>

#include "engine/reference/rows.h"
#include "ir/graph.h"

namespace cohort::engine::reference {

/// A (rows, columns) matrix in memory, or one expert of weights.
struct StoredRef {
  DType dtype = DType::f32;
  const ir::ScaledType* scaled = nullptr;
  bool is_weights = false;  ///< fp8_block128 scales then come in 128 x 128 blocks.
  void* data = nullptr;
  void* scale = nullptr;
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t row_stride = 0;     ///< Elements from row to row.
  int64_t column_stride = 1;  ///< Elements from column to column.
  int64_t first = 0;          ///< Element at row 0, column 0: fp4 experts begin at nibbles.
  const std::vector<int64_t>* scale_base = nullptr;  ///< per_group: first scale byte by group.

  /// Elements [begin, begin + count) of a row as stored, without scales.
  void read_codes(int64_t row, int64_t begin, int64_t count, float* out) const;
  /// The same, times their scales; products of code and scale are exact. `group` places the row for
  /// layouts that depend on groups; may be null for the others.
  void read(int64_t row, int64_t begin, int64_t count, const RowGroup* group, double* out) const;
  /// Writes f32 elements, rounded to the type, without scales.
  void write(int64_t row, int64_t begin, int64_t count, const float* x) const;
  void write_zeros(int64_t row) const;
  /// The same matrix with its rows where those of a group stand: in ragged storage each group has
  /// a matrix of its own.
  [[nodiscard]] StoredRef in_group(const RowGroup& group) const;
};

/// First scale byte of each group in per_group layout.
[[nodiscard]] std::vector<int64_t> per_group_bases(const std::vector<RowGroup>& groups,
                                                   int64_t features, int64_t block);

/// Byte of the row scale (row, block) in any layout of row scales but f32 ones.
[[nodiscard]] int64_t row_scale_offset(ScaleLayout layout, int64_t row, int64_t block,
                                       int64_t blocks, const RowGroup* group);

}  // namespace cohort::engine::reference
