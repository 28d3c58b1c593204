// Kernels that are compiled once for each x86-64 level and chosen at run time.
#pragma once

#include <cstdint>

#include "numerics/block.h"

namespace cohort::numerics {

/// The quantiser kernels of one level. All levels give the same bits.
struct QuantizeKernels {
  /// MXFP8 along a row, nearest even, exact reciprocal: n codes and ceil(n / 32) scales.
  void (*mx8_row)(const BlockSpec& spec, const float* x, int64_t n, uint8_t* codes,
                  uint8_t* scales);
  /// MXFP8 along tokens: one block of `rows` (at most 32) x n; codes as rows; n scales.
  void (*mx8_column_block)(const BlockSpec& spec, const float* x, int64_t stride, int64_t rows,
                           int64_t n, uint8_t* codes, int64_t code_stride, uint8_t* scales);
};

namespace v1 {
extern const QuantizeKernels kQuantizeKernels;
}
namespace v3 {
extern const QuantizeKernels kQuantizeKernels;
}
namespace v4 {
extern const QuantizeKernels kQuantizeKernels;
}

/// The kernels of the best level that this processor has.
[[nodiscard]] const QuantizeKernels& quantize_kernels();

}  // namespace cohort::numerics
