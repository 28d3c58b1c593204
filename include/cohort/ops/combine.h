// From grouped rows back to tokens, forward and backward.
#pragma once

#include <cstdint>

#include <cohort/graph.h>
#include <cohort/ops/fields.h>
#include <cohort/types.h>

namespace cohort {

/// o[t,n] = sum over j ascending of weights[t,j] * y[rev[t,j],n] in f32: the end of a layer of
/// experts, and, without weights, the gradient of its tokens. Begins a chain.
struct Combine {
  Operand y;                ///< Grouped rows (R, d).
  Index rev;                ///< (T, K): the row of y of each entry; -1: none. (entries) with koff.
  Maybe<Tensor> weights{};  ///< One factor an entry, of the shape of rev. Default: 1.
  Maybe<Groups> koff{};     ///< T groups of the entries: which belong to which token.
  using Out = Value;        ///< (T, d).
  static constexpr bool is_root = true;           ///< Begins a chain.
  static constexpr const char* name = "combine";  ///< In JSON and docs.
  COHORT_FIELDS(field("y", &Combine::y), field("rev", &Combine::rev),
                field("weights", &Combine::weights), field("koff", &Combine::koff))
};

/// dy[r,n] = weights[scat[r]] * d_out[token of scat[r],n]: the gradient of the y of Combine.
struct DCombine {
  Operand d_out;            ///< Gradient of what Combine made (T, d).
  Index scat;               ///< (R): the entry of each grouped row, t * top_k + j; -1: none.
  int64_t top_k = 1;        ///< Experts a token; 1 with koff.
  Maybe<Tensor> weights{};  ///< One factor an entry: (T, top_k), or (entries) with koff.
  Maybe<Groups> koff{};     ///< T groups of the entries: which belong to which token.
  Maybe<Groups> groups{};   ///< Which of the R rows belong to which group, for ops that need it.
  using Out = Value;        ///< (R, d).
  static constexpr bool is_root = true;             ///< Begins a chain.
  static constexpr const char* name = "d_combine";  ///< In JSON and docs.
  COHORT_FIELDS(field("d_out", &DCombine::d_out), field("scat", &DCombine::scat),
                field("top_k", &DCombine::top_k), field("weights", &DCombine::weights),
                field("koff", &DCombine::koff), field("groups", &DCombine::groups))
};

/// dw[t,j] = sum over n of d_out[t,n] * y[rev[t,j],n]: the gradient of the weights of Combine.
struct DCombineWeights {
  Operand d_out;                         ///< Gradient of what Combine made (T, d).
  Operand y;                             ///< Grouped rows (R, d).
  Index rev;                             ///< As in Combine; an entry of -1 has gradient 0.
  Maybe<Groups> koff{};                  ///< As in Combine.
  using Out = Value;                     ///< (T, K), or (entries, 1) with koff.
  static constexpr bool is_root = true;  ///< Begins a chain.
  static constexpr const char* name = "d_combine_weights";  ///< In JSON and docs.
  COHORT_FIELDS(field("d_out", &DCombineWeights::d_out), field("y", &DCombineWeights::y),
                field("rev", &DCombineWeights::rev), field("koff", &DCombineWeights::koff))
};

}  // namespace cohort
