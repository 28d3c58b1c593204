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

using ir::kNone;

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

// What a product reads for the rows of one group.
struct Operands {
  StoredRef a;
  StoredRef b;
  int32_t index = kNone;
  int64_t k = 0;
  int64_t n = 0;

  Operands(const Memory& m, const ir::Node& node, const RowGroup& group) {
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
};

}  // namespace

ProductSums product_sums(const Memory& m, const ir::Node& node, const RowGroup& group,
                         int64_t first, int64_t rows, const Interval* a, ProductScratch& s) {
  const Operands o(m, node, group);
  const size_t count = static_cast<size_t>(rows * o.n);
  ProductSums sums{std::vector<double>(count, 0), std::vector<double>(count, 0),
                   std::vector<double>(count, 0)};
  std::vector<double> row(static_cast<size_t>(o.k));
  std::vector<double> largest(row.size());
  std::vector<double> off(row.size(), 0);
  s.b.resize(static_cast<size_t>(o.n * o.k));
  for (int64_t j = 0; j < o.n; ++j) o.b.read(j, 0, o.k, nullptr, s.b.data() + j * o.k);
  for (int64_t r = 0; r < rows; ++r) {
    const int64_t from = m.index_row(o.index, first + r, o.a.rows, false);
    if (a == nullptr) o.a.read(from, 0, o.k, &group, row.data());
    for (size_t i = 0; i < row.size(); ++i) {
      if (a != nullptr) {
        const size_t e = static_cast<size_t>(from * o.k) + i;
        row[i] = static_cast<double>(a->mid[e]);
        off[i] = std::max(static_cast<double>(a->high[e]) - row[i],
                          row[i] - static_cast<double>(a->low[e]));
      }
      largest[i] = std::fabs(row[i]) + off[i];
    }
    for (int64_t j = 0; j < o.n; ++j) {
      const double* b = s.b.data() + j * o.k;
      const auto to = static_cast<size_t>(r * o.n + j);
      for (size_t i = 0; i < row.size(); ++i) {
        sums.value[to] += row[i] * b[i];
        sums.magnitude[to] += largest[i] * std::fabs(b[i]);
        sums.spread[to] += off[i] * std::fabs(b[i]);
      }
    }
  }
  return sums;
}

void panel_product(const Memory& m, const ir::Node& node, const RowGroup& group, int64_t first,
                   int64_t rows, float* out, ProductScratch& s) {
  const auto [a, b, index, k, n] = Operands(m, node, group);
  const int64_t padded = base::ceil_div(rows, kRowUnit) * kRowUnit;
  s.a.assign(static_cast<size_t>(padded * k), 0.0);
  for (int64_t r = 0; r < rows; ++r) {
    a.read(m.index_row(index, first + r, a.rows, false), 0, k, &group, s.a.data() + r * k);
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
