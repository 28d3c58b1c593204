// Ops that begin a chain: products and stored tensors.
#pragma once

#include <cstdint>

#include <cohort/graph.h>
#include <cohort/ops/fields.h>
#include <cohort/types.h>

namespace cohort {

/// acc[m,n] = sum_k a[m,k] * b[g(m)][n,k], accumulated in f32 or better. Begins a chain.
struct GroupedGemm {
  Operand a;              ///< Tokens (T, K), or (S, K) with `gather`.
  WeightOperand b;        ///< Weights (E, N, K); group g uses expert g mod E.
  Groups groups;          ///< Which of the T rows belong to which group.
  Maybe<Index> gather{};  ///< (T): row r reads a[gather[r]]; scale rows are gathered with it.
  using Out = Value;      ///< The (T, N) accumulator.
  static constexpr bool is_root = true;                ///< Begins a chain.
  static constexpr const char* name = "grouped_gemm";  ///< In JSON and docs.
  COHORT_FIELDS(field("a", &GroupedGemm::a), field("b", &GroupedGemm::b),
                field("groups", &GroupedGemm::groups), field("gather", &GroupedGemm::gather))
};

/// dw[g][i,j] = alpha[g] * sum over the rows m of group g of a[m,i] * b[m,j]: gradients of weights.
/// For weights (E, N, K): a is the gradient of the product, b its tokens; the other way round for
/// weights stored (E, K, N).
struct GroupedWgrad {
  Operand a;                             ///< (T, I), or (S, I) with `gather_a`.
  Operand b;                             ///< (T, J), or (S, J) with `gather_b`.
  Groups groups;                         ///< Which of the T rows belong to which group.
  Maybe<Index> gather_a{};               ///< (T): row r reads a[gather_a[r]]; -1: no row.
  Maybe<Index> gather_b{};               ///< (T): row r reads b[gather_b[r]]; -1: no row.
  Maybe<GroupVec> alpha{};               ///< One factor a group.
  Maybe<GroupVec> global_scale_a{};      ///< As alpha: the outer scale of an nvfp4 a.
  Maybe<GroupVec> global_scale_b{};      ///< As alpha: the outer scale of an nvfp4 b.
  Maybe<WeightOperand> accumulate{};     ///< (groups, I, J): added in f32 before rounding.
  using Out = WeightGrad;                ///< (groups, I, J).
  static constexpr bool is_root = true;  ///< Begins a chain.
  static constexpr const char* name = "grouped_wgrad";  ///< In JSON and docs.
  COHORT_FIELDS(field("a", &GroupedWgrad::a), field("b", &GroupedWgrad::b),
                field("groups", &GroupedWgrad::groups), field("gather_a", &GroupedWgrad::gather_a),
                field("gather_b", &GroupedWgrad::gather_b), field("alpha", &GroupedWgrad::alpha),
                field("global_scale_a", &GroupedWgrad::global_scale_a),
                field("global_scale_b", &GroupedWgrad::global_scale_b),
                field("accumulate", &GroupedWgrad::accumulate))
};

/// y[m,n] = sum_k a[m,k] * b[n,k]: a plain product. Begins a chain.
struct Matmul {
  Operand a;                                     ///< (M, K).
  Operand b;                                     ///< (N, K), or (K, N) when `b_major` is n.
  Major b_major = Major::k;                      ///< Which dimension of b is contiguous.
  using Out = Value;                             ///< The (M, N) accumulator.
  static constexpr bool is_root = true;          ///< Begins a chain.
  static constexpr const char* name = "matmul";  ///< In JSON and docs.
  COHORT_FIELDS(field("a", &Matmul::a), field("b", &Matmul::b), field("b_major", &Matmul::b_major))
};

/// y = x as f32: a stored tensor becomes a value. Begins a chain.
struct Load {
  StoredOperand x;         ///< (T, N), plain or quantised.
  Maybe<Groups> groups{};  ///< Which rows belong to which group; default: those x was made by.
  using Out = Value;       ///< The (T, N) value.
  static constexpr bool is_root = true;        ///< Begins a chain.
  static constexpr const char* name = "load";  ///< In JSON and docs.
  COHORT_FIELDS(field("x", &Load::x), field("groups", &Load::groups))
};

}  // namespace cohort
