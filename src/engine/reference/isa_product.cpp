// Compiled for x86-64, x86-64-v3 and x86-64-v4, with Eigen's namespace renamed for each.
#include <Eigen/Core>

#include "engine/reference/product.h"

namespace cohort::engine::reference::COHORT_ISA {

namespace {

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Stride = Eigen::OuterStride<>;

void product(const double* a, int64_t lda, const double* b, int64_t ldb, double* c, int64_t ldc,
             int64_t m, int64_t n, int64_t k) {
  const Eigen::Map<const Matrix, 0, Stride> a_map(a, m, k, Stride(lda));
  const Eigen::Map<const Matrix, 0, Stride> b_map(b, n, k, Stride(ldb));
  Eigen::Map<Matrix, 0, Stride> c_map(c, m, n, Stride(ldc));
  c_map.noalias() += a_map * b_map.transpose();
}

}  // namespace

extern const ProductTile kProductTile;
const ProductTile kProductTile = product;

}  // namespace cohort::engine::reference::COHORT_ISA
