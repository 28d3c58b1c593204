// Sums of products and their error bounds, tile by tile.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/reference/interval.h"

namespace cohort::engine::reference {

/// Sums of a product in f64, and how far any f32 evaluation may lie from them.
struct ProductBounds {
  std::vector<double> sum;    ///< rows x columns, packed.
  std::vector<double> error;  ///< Infinite or NaN: nothing is known.
};

/// Which rows are multiplied: row i of the result is a's row `rows[i]` times b's rows, all of them.
struct BoundedProduct {
  const BoundedRows& a;
  const BoundedRows& b;
  std::vector<int64_t> rows;
  int64_t columns = 0;  ///< Rows of b.
  int64_t depth = 0;    ///< K.
  const RowGroup* group = nullptr;
};

/// |f32 evaluation - exact| <= (K + 4) units of sum |a||b|, plus what a and b may be off.
[[nodiscard]] ProductBounds product_bounds(const BoundedProduct& product);

}  // namespace cohort::engine::reference
