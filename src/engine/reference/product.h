// The f64 product of one tile, compiled for each x86-64 level.
#pragma once

#include <cstdint>

namespace cohort::engine::reference {

/// c[m,n] += sum_k a[m,k] * b[n,k], row-major with the given leading dimensions.
using ProductTile = void (*)(const double* a, int64_t lda, const double* b, int64_t ldb, double* c,
                             int64_t ldc, int64_t m, int64_t n, int64_t k);

namespace v1 {
extern const ProductTile kProductTile;
}
namespace v3 {
extern const ProductTile kProductTile;
}
namespace v4 {
extern const ProductTile kProductTile;
}

/// The tile product of the best level of this processor.
[[nodiscard]] ProductTile product_tile();

/// Rows of a tile are a multiple of this, padded with zeros: then Eigen's kernel computes every row
/// by the same instructions at every level, so a row's bits do not depend on its neighbours.
inline constexpr int64_t kRowUnit = 24;

}  // namespace cohort::engine::reference
