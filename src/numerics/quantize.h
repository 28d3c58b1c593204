// Block quantisers, panel by panel. docs/numerics.md defines every bit.
#pragma once

#include <cstdint>

#include "numerics/block.h"

namespace cohort::numerics {

/// Where element codes go. Row m, column n of the panel is element first + m * stride + n of
/// `data`, or first + n * stride + m when transposed; e2m1 elements are nibbles.
struct CodeTarget {
  uint8_t* data = nullptr;
  int64_t stride = 0;
  bool transposed = false;
  int64_t first = 0;
};

/// Where scales go: (row or column) x block, 8-bit codes or f32 factors by the format.
struct ScaleTarget {
  uint8_t* bytes = nullptr;
  float* floats = nullptr;
  int64_t stride = 0;  ///< Scales from row to row.
};

/// One panel of f32 values.
struct Source {
  const float* data = nullptr;
  int64_t stride = 0;
  int64_t rows = 0;
  int64_t columns = 0;
  uint64_t first_index = 0;   ///< Element number of the panel's first element in its tensor.
  uint64_t index_stride = 0;  ///< Element numbers from row to row: the tensor's columns.
};

/// Blocks along each row. Scale (r, b) goes to position r * stride + b.
void quantize_rows(const BlockSpec& spec, const Source& x, const CodeTarget& codes,
                   const ScaleTarget& scales);
/// One block along tokens for each column: at most info(format).block rows. Scale of column n goes
/// to position n.
void quantize_column_block(const BlockSpec& spec, const Source& x, const CodeTarget& codes,
                           const ScaleTarget& scales);
/// One factor for the whole panel, given amax over everything that shares it.
void quantize_whole(const BlockSpec& spec, float amax, const Source& x, const CodeTarget& codes,
                    float* scale);

/// max |x| of a panel; NaN when it holds one.
[[nodiscard]] float panel_amax(const Source& x);

}  // namespace cohort::numerics
