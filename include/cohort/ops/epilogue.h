// Ops on a product: factors, bias, gate, reductions.
#pragma once

#include <cstdint>

#include <cohort/graph.h>
#include <cohort/ops/fields.h>
#include <cohort/types.h>

namespace cohort {

/// y[m,n] = by[g(m)]^power * x[m,n]; directly after a product.
struct Alpha {
  GroupVec by;                                  ///< One factor an expert (E) or group.
  int64_t power = 1;                            ///< 1, or 2: the square, rounded to f32 first.
  using Out = Value;                            ///< (T, N).
  static constexpr const char* name = "alpha";  ///< In JSON and docs.
  COHORT_FIELDS(field("by", &Alpha::by), field("power", &Alpha::power))
};

/// y[m,n] = by[m] * x[m,n]; directly after a product.
struct RowScale {
  RowVec by;                                        ///< One factor a row (T).
  using Out = Value;                                ///< (T, N).
  static constexpr const char* name = "row_scale";  ///< In JSON and docs.
  COHORT_FIELDS(field("by", &RowScale::by))
};

/// y[m,n] = x[m,n] + by[g(m)][n], or + p[m] * by[g(m)][n] when `scaled_by` is given.
struct Bias {
  GroupMat by;                                 ///< (E, N).
  Maybe<RowVec> scaled_by{};                   ///< p (T): multiplies the bias only.
  using Out = Value;                           ///< (T, N).
  static constexpr const char* name = "bias";  ///< In JSON and docs.
  COHORT_FIELDS(field("by", &Bias::by), field("scaled_by", &Bias::scaled_by))
};

/// y[m,n] = by[m] * x[m,n]: the routing probability.
struct RowGate {
  RowVec by;                                       ///< One factor a row (T).
  using Out = Value;                               ///< (T, N).
  static constexpr const char* name = "row_gate";  ///< In JSON and docs.
  COHORT_FIELDS(field("by", &RowGate::by))
};

/// The gradient of a bias: y[g][n] = sum of x[m,n] over the rows m of group g, or of
/// scaled_by[m] * x[m,n]. Of the f32 values, before any rounding.
struct DBias {
  Maybe<RowVec> scaled_by{};                     ///< p (T): the gradient of a bias scaled by it.
  using Out = GroupMat;                          ///< (groups, N), f32; (1, N) without groups.
  static constexpr const char* name = "d_bias";  ///< In JSON and docs.
  COHORT_FIELDS(field("scaled_by", &DBias::scaled_by))
};

/// y = x times the Hadamard matrix of 16, Sylvester order, over blocks of 16 features or tokens.
struct Hadamard {
  Axes axis = Axes::row;                           ///< row: features; col: tokens of a group.
  bool normalised = true;                          ///< Divided by 4, so that it is orthonormal.
  Maybe<DType> round_through{};                    ///< bf16 or f16: rounds x and y, as kernels do.
  using Out = Value;                               ///< (T, N).
  static constexpr const char* name = "hadamard";  ///< In JSON and docs.
  COHORT_FIELDS(field("axis", &Hadamard::axis), field("normalised", &Hadamard::normalised),
                field("round_through", &Hadamard::round_through))
};

/// What shares one maximum in Amax.
enum class AmaxPer : uint8_t {
  tensor,       ///< All rows of all groups: (1).
  expert,       ///< The rows of a group: (groups); 0 for an empty one.
  expert_half,  ///< As expert, for the gate and the up half of the columns: (groups, 2).
};
/// The word for it ("expert"); empty for an unknown value.
[[nodiscard]] COHORT_API std::string_view name(AmaxPer value) noexcept;

/// max |x| of the f32 values, before any rounding. NaN propagates.
struct Amax {
  AmaxPer per = AmaxPer::tensor;               ///< What shares one maximum.
  Packing packing = Packing::split;            ///< Where gate and up stand; expert_half only.
  using Out = GroupVec;                        ///< (1), (groups) or (groups, 2), f32.
  static constexpr const char* name = "amax";  ///< In JSON and docs.
  COHORT_FIELDS(field("per", &Amax::per), field("packing", &Amax::packing))
};

}  // namespace cohort
