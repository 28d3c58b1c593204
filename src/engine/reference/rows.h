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

/// What values that are stored by group demand of the groups of their rows.
struct GroupNeeds {
  int64_t begin = 1;   ///< A group with rows begins at a multiple of this.
  bool pairs = false;  ///< It begins at an even row and has an even number of them.
};

/// Reads the offsets of a groups input; form whole has none. Throws FindingsError (E-GROUPS) when
/// they decrease, overlap or pass `rows`, or when a group with rows is not what `needs` says.
/// `count`: how many; `begin`: the tensor, or the begins of slots; `used`: of slots only.
[[nodiscard]] std::vector<RowGroup> read_groups(const ir::Value& groups, int64_t count,
                                                const TensorView& begin, const TensorView* used,
                                                int64_t rows, const std::string& name,
                                                const GroupNeeds& needs);

/// Ranges of rows that no group owns, in order.
struct RowRange {
  int64_t begin = 0;
  int64_t end = 0;
};
[[nodiscard]] std::vector<RowRange> unowned_rows(const std::vector<RowGroup>& groups, int64_t rows);

}  // namespace cohort::engine::reference
