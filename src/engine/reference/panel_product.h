// Products: operands dequantised tile by tile to f64, summed in f64, rounded once to f32.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/reference/memory.h"

namespace cohort::engine::reference {

/// Buffers that a thread keeps from product to product.
struct ProductScratch {
  std::vector<double> a;
  std::vector<double> b;
  std::vector<double> c;
};

/// What a product reads for the rows of one group.
struct ProductOperands {
  StoredRef a;
  StoredRef b;
  int32_t index = ir::kNone;
  int64_t k = 0;
  int64_t n = 0;

  ProductOperands(const Memory& memory, const ir::Node& node, const RowGroup& group);
  /// The row of a for a row of the result. Throws FindingsError (E-INDEX).
  [[nodiscard]] int64_t row(const Memory& memory, int64_t row) const;
};

/// The rows [first, first + rows) of a product node, packed with the width of its result.
void panel_product(const Memory& memory, const ir::Node& node, const RowGroup& group, int64_t first,
                   int64_t rows, float* out, ProductScratch& scratch);

}  // namespace cohort::engine::reference
