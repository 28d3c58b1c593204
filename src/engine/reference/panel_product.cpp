#include "engine/reference/panel_product.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "base/checked.h"
#include "base/diagnostics.h"
#include "base/isa_level.h"
#include "engine/reference/product.h"
#include "ir/op_record.h"

namespace cohort::engine::reference {

ProductTile product_tile() {
  switch (base::isa_level()) {
    case base::IsaLevel::v4:
      return v4::kProductTile;
    case base::IsaLevel::v3:
      return v3::kProductTile;
    default:
      return v1::kProductTile;
  }
}

namespace {

// Columns and sums of a tile: 256 x 256 doubles stay in a level-2 cache, and Eigen never splits a
// sum of 256 itself.
constexpr int64_t kTileColumns = 256;
constexpr int64_t kTileSum = 256;

}  // namespace

ProductOperands::ProductOperands(const Memory& m, const ir::Node& node, const RowGroup& group) {
  const ir::Graph& g = m.graph();
  const int32_t b_value = g.operand(node, "b");
  const bool grouped = node.op->field_index("groups") >= 0;
  const int64_t experts = grouped ? g.values[static_cast<size_t>(b_value)].shape[0].bound : 1;
  a = m.matrix(g.operand(node, "a"));
  b = grouped ? m.expert(b_value, group.group % experts) : m.matrix(b_value);
  if (!grouped && static_cast<Major>(g.field(node, "b_major").integer) == Major::n) {
    std::swap(b.rows, b.columns);
    std::swap(b.row_stride, b.column_stride);
  }
  if (grouped) index = g.operand(node, "gather");
  k = a.columns;
  n = b.rows;
}

int64_t ProductOperands::row(const Memory& m, int64_t row) const {
  return m.index_row(index, row, a.rows, false);
}

void panel_product(const Memory& m, const ir::Node& node, const RowGroup& group, int64_t first,
                   int64_t rows, float* out, ProductScratch& s) {
  const ProductOperands operands(m, node, group);
  const auto& [a, b, index, k, n] = operands;
  const int64_t padded = base::ceil_div(rows, kRowUnit) * kRowUnit;
  s.a.assign(static_cast<size_t>(padded * k), 0.0);
  for (int64_t r = 0; r < rows; ++r) {
    a.read(operands.row(m, first + r), 0, k, &group, s.a.data() + r * k);
  }
  const ProductTile tile = product_tile();
  for (int64_t j = 0; j < n; j += kTileColumns) {
    const int64_t width = std::min(kTileColumns, n - j);
    s.c.assign(static_cast<size_t>(padded * width), 0.0);
    for (int64_t i = 0; i < k; i += kTileSum) {
      const int64_t depth = std::min(kTileSum, k - i);
      s.b.resize(static_cast<size_t>(width * depth));
      for (int64_t r = 0; r < width; ++r) {
        b.read(j + r, i, depth, nullptr, s.b.data() + r * depth);
      }
      tile(s.a.data() + i, k, s.b.data(), depth, s.c.data(), width, padded, width, depth);
    }
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t c = 0; c < width; ++c) {
        out[r * n + j + c] = static_cast<float>(s.c[static_cast<size_t>(r * width + c)]);
      }
    }
  }
}

}  // namespace cohort::engine::reference
