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

/// The rows [first, first + rows) of a product node, packed with the width of its result.
void panel_product(const Memory& memory, const ir::Node& node, const RowGroup& group, int64_t first,
                   int64_t rows, float* out, ProductScratch& scratch);

}  // namespace cohort::engine::reference
