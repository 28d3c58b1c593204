#include "engine/reference/product_bound.h"

#include <algorithm>
#include <cmath>

#include "base/checked.h"
#include "engine/reference/product.h"

namespace cohort::engine::reference {

namespace {

constexpr double kUnitOfF32 = 0x1p-23;   // one unit in the last place of an f32, relative
constexpr double kProductRoundings = 4;  // scales, the last rounding, ours
constexpr int64_t kBoundTile = 256;
constexpr int64_t kTileDepth = 256;

// Rows of one operand: as they are, their magnitudes, and the largest magnitudes allowed.
struct BoundSide {
  std::vector<double> mid;
  std::vector<double> magnitude;
  std::vector<double> largest;
  std::vector<double> off;

  void resize(int64_t rows, int64_t columns) {
    const auto count = static_cast<size_t>(rows * columns);
    mid.assign(count, 0.0);
    magnitude.assign(count, 0.0);
    largest.assign(count, 0.0);
    off.assign(static_cast<size_t>(columns), 0.0);
  }
  void read(const BoundedRows& from, int64_t row, int64_t begin, int64_t count,
            const RowGroup* group, int64_t at) {
    double* m = mid.data() + at;
    from.read(row, begin, count, group, m, off.data());
    for (int64_t i = 0; i < count; ++i) {
      const auto to = static_cast<size_t>(at + i);
      magnitude[to] = std::fabs(m[i]);
      largest[to] = magnitude[to] + off[static_cast<size_t>(i)];
    }
  }
};

}  // namespace

ProductBounds product_bounds(const BoundedProduct& p) {
  const auto rows = static_cast<int64_t>(p.rows.size());
  const int64_t padded = base::ceil_div(rows, kRowUnit) * kRowUnit;
  const bool exact = p.a.is_exact() && p.b.is_exact();
  const ProductTile tile = product_tile();
  ProductBounds y{std::vector<double>(static_cast<size_t>(rows * p.columns), 0),
                  std::vector<double>(static_cast<size_t>(rows * p.columns), 0)};
  BoundSide a;
  BoundSide b;
  a.resize(padded, p.depth);
  for (int64_t r = 0; r < rows; ++r) {
    a.read(p.a, p.rows[static_cast<size_t>(r)], 0, p.depth, p.group, r * p.depth);
  }
  std::vector<double> sum;
  std::vector<double> magnitude;
  std::vector<double> largest;
  for (int64_t j = 0; j < p.columns; j += kBoundTile) {
    const int64_t width = std::min(kBoundTile, p.columns - j);
    for (std::vector<double>* c : {&sum, &magnitude, &largest}) {
      c->assign(static_cast<size_t>(padded * width), 0.0);
    }
    for (int64_t k = 0; k < p.depth; k += kTileDepth) {
      const int64_t depth = std::min(kTileDepth, p.depth - k);
      b.resize(width, depth);
      for (int64_t n = 0; n < width; ++n) b.read(p.b, j + n, k, depth, nullptr, n * depth);
      const auto multiply = [&](const std::vector<double>& left, const std::vector<double>& right,
                                std::vector<double>& out) {
        tile(left.data() + k, p.depth, right.data(), depth, out.data(), width, padded, width,
             depth);
      };
      multiply(a.mid, b.mid, sum);
      multiply(a.magnitude, b.magnitude, magnitude);
      if (!exact) multiply(a.largest, b.largest, largest);
    }
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t n = 0; n < width; ++n) {
        const auto from = static_cast<size_t>(r * width + n);
        const auto to = static_cast<size_t>(r * p.columns + j + n);
        const double most = exact ? magnitude[from] : largest[from];
        // (|a| + da)(|b| + db) - |a||b| holds what the operands may be off.
        const double spread = exact ? 0 : most - magnitude[from];
        const double units = static_cast<double>(p.depth) + kProductRoundings;
        y.sum[to] = sum[from];
        y.error[to] = p.depth == 0 ? 0 : units * kUnitOfF32 * most + spread;
      }
    }
  }
  return y;
}

}  // namespace cohort::engine::reference
