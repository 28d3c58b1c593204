// Products: operands dequantised tile by tile to f64, summed in f64, rounded once to f32.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/reference/interval.h"
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

/// Sums of a product in f64, for its error bound.
struct ProductSums {
  std::vector<double> value;
  std::vector<double> magnitude;  ///< sum |a||b| with the largest |a| that is allowed.
  std::vector<double> spread;     ///< sum of what a may be off times |b|.
};

/// As panel_product, in f64. `a`: the operand's interval when it is computed in the graph.
[[nodiscard]] ProductSums product_sums(const Memory& memory, const ir::Node& node,
                                       const RowGroup& group, int64_t first, int64_t rows,
                                       const Interval* a, ProductScratch& scratch);

}  // namespace cohort::engine::reference
