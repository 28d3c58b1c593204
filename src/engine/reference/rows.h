// Which rows belong to which group, read from the offsets that a caller bound.
#pragma once

#include <cstdint>
#include <vector>

#include <cohort/tensor.h>

#include "ir/graph.h"

namespace cohort::engine::reference {

/// The rows of one group.
struct RowGroup {
  int32_t group = 0;
  int64_t begin = 0;  ///< First row of the token axis.
  int64_t rows = 0;
  int64_t before = 0;  ///< Rows of earlier groups: the c_g of shifted_128.
  int64_t tiles = 0;   ///< Tiles of 128 rows that earlier groups begin: padded_128.
};

/// Reads the offsets of a groups input. Throws FindingsError (E-GROUPS) when they decrease, overlap
/// or pass `rows`, or when a group with rows does not begin at a multiple of `unit`. `count`: how
/// many; `begin`: the tensor, or the begins of slots; `used`: of slots only.
[[nodiscard]] std::vector<RowGroup> read_groups(const ir::Value& groups, int64_t count,
                                                const TensorView& begin, const TensorView* used,
                                                int64_t rows, const std::string& name,
                                                int64_t unit);

/// Ranges of rows that no group owns, in order.
struct RowRange {
  int64_t begin = 0;
  int64_t end = 0;
};
[[nodiscard]] std::vector<RowRange> unowned_rows(const std::vector<RowGroup>& groups, int64_t rows);

}  // namespace cohort::engine::reference
