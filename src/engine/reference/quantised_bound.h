// What a quantiser may make of values that lie in intervals: scales, codes, and what they mean.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/reference/interval.h"
#include "numerics/block.h"

namespace cohort::engine::reference {

/// What may stand in one place of memory.
struct Allowed {
  double wanted = 0;
  double low = 0;
  double high = 0;
};

/// The elements that share a scale.
struct ScaleBlock {
  int64_t row;
  int64_t column;
  int64_t rows;
  int64_t columns;
  int64_t scale;         ///< Byte, or f32 number.
  int64_t scale_row;     ///< Of a column scale: the feature.
  int64_t scale_column;  ///< Number of the block.
  int32_t group;         ///< Of its rows.
};

/// All blocks of a quantised (rows, columns) matrix, rows without a group left out.
[[nodiscard]] std::vector<ScaleBlock> scale_blocks(const ir::ScaledType& type, int64_t rows,
                                                   int64_t columns,
                                                   const std::vector<RowGroup>& groups);

/// Widens `amax` by the magnitudes of a block of x, `width` elements a row.
void widen_amax(const Interval& x, int64_t width, const ScaleBlock& block, Allowed& amax);

/// A scale, decoded: `byte` or `number`, as the format says.
[[nodiscard]] double decoded_scale(const numerics::BlockSpec& spec, uint8_t byte, float number);
/// The scales that quantisers make of these maxima.
[[nodiscard]] Allowed allowed_scale(const numerics::BlockSpec& spec, const Allowed& amax);
/// Values of the codes of one element under one scale, the element between x.low and x.high.
[[nodiscard]] Allowed allowed_code(const numerics::BlockSpec& spec, double scale, const Allowed& x);

/// Code times scale of every element of a quantised result of `node`, whose piped value is x.
[[nodiscard]] Interval dequantised(const Memory& memory, const ir::Node& node,
                                   const ir::Value& result, const Interval& x);

}  // namespace cohort::engine::reference
