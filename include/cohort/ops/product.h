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
