// The ops of a graph, one aggregate each. `fields` lists the members once; JSON both ways, checks,
// keys and docs are driven by that list. docs/ops/ has a page per op.
#pragma once

#include <cstdint>

#include <cohort/graph.h>
#include <cohort/types.h>

namespace cohort {

/// Lists the fields of an op, in declaration order.
#define COHORT_FIELDS(...)                               \
  template <class V>                                     \
  static constexpr auto fields([[maybe_unused]] V&& v) { \
    return v(__VA_ARGS__);                               \
  }

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
  Operand x;               ///< (T, N), plain or quantised.
  Maybe<Groups> groups{};  ///< Which rows belong to which group, for ops that need it.
  using Out = Value;       ///< The (T, N) value.
  static constexpr bool is_root = true;        ///< Begins a chain.
  static constexpr const char* name = "load";  ///< In JSON and docs.
  COHORT_FIELDS(field("x", &Load::x), field("groups", &Load::groups))
};

/// y[m,n] = by[g(m)] * x[m,n]; directly after a product.
struct Alpha {
  GroupVec by;                                  ///< One factor an expert (E) or group.
  using Out = Value;                            ///< (T, N).
  static constexpr const char* name = "alpha";  ///< In JSON and docs.
  COHORT_FIELDS(field("by", &Alpha::by))
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

/// y = relu(x)^2; with `clamp` s: t = min(tanh(relu(x) / s), 1), y = (s * t)^2.
struct ReluSquared {
  Maybe<float> clamp{};                                ///< s > 0, the tanh clamp.
  using Out = Value;                                   ///< (T, N).
  static constexpr const char* name = "relu_squared";  ///< In JSON and docs.
  COHORT_FIELDS(field("clamp", &ReluSquared::clamp))
};

/// y[m,n] = x[m,n] + c[m,n]: the residual.
struct Add {
  Value c;                                    ///< (T, N).
  using Out = Value;                          ///< (T, N).
  static constexpr const char* name = "add";  ///< In JSON and docs.
  COHORT_FIELDS(field("c", &Add::c))
};

/// Function of Unary.
enum class UnaryMode : uint8_t {
  identity,  ///< y = x.
  relu,      ///< y = max(x, 0); NaN stays NaN.
};
/// The word for a mode ("relu"); empty for an unknown value.
[[nodiscard]] COHORT_API std::string_view name(UnaryMode value) noexcept;

/// y = f(x), element by element.
struct Unary {
  Required<UnaryMode> mode;                     ///< f.
  using Out = Value;                            ///< (T, N).
  static constexpr const char* name = "unary";  ///< In JSON and docs.
  COHORT_FIELDS(field("mode", &Unary::mode))
};

/// y = x rounded to a type: nearest even; fp8 saturates, f16 and bf16 overflow to infinity.
struct Cast {
  Required<DType> to;     ///< f32, f16, bf16, e4m3 or e5m2.
  Maybe<Scalar> scale{};  ///< y = round(round_f32(x * scale)): fp8 with a given scale.
  using Out = Value;      ///< (T, N), of type `to`.
  static constexpr const char* name = "cast";  ///< In JSON and docs.
  COHORT_FIELDS(field("to", &Cast::to), field("scale", &Cast::scale))
};

/// What shares one maximum in Amax.
enum class AmaxPer : uint8_t {
  tensor,       ///< All rows of all groups: (1).
  expert,       ///< The rows of a group: (groups); 0 for an empty one.
  expert_half,  ///< As expert, for the two halves of the columns: (groups, 2).
};
/// The word for it ("expert"); empty for an unknown value.
[[nodiscard]] COHORT_API std::string_view name(AmaxPer value) noexcept;

/// max |x| of the f32 values, before any rounding. NaN propagates.
struct Amax {
  AmaxPer per = AmaxPer::tensor;               ///< What shares one maximum.
  using Out = GroupVec;                        ///< (1), (groups) or (groups, 2), f32.
  static constexpr const char* name = "amax";  ///< In JSON and docs.
  COHORT_FIELDS(field("per", &Amax::per))
};

/// Quantises in blocks; numerics.h defines every bit. Ends a chain.
struct Quantize {
  Required<Format> to;     ///< Element, scale and block.
  Axes axes = Axes::row;   ///< Blocks along features, along tokens, or both.
  Maybe<DType> element{};  ///< e5m2 in place of e4m3, for the fp8_* formats.
  ScalarArg norm = 1.0;    ///< Read back, an element means code * scale / norm.
  Maybe<float> qmax{};     ///< Default: largest value of the element type.
  ScaleRounding scale_rounding = ScaleRounding::up;  ///< Of UE8M0 scales.
  Reciprocal reciprocal = Reciprocal::exact;         ///< How norm / scale is formed.
  Rounding rounding = Rounding::nearest_even;        ///< Of elements.
  Maybe<Scalar> seed{};                              ///< Of stochastic rounding, i64.
  Maybe<Scalar> offset{};                            ///< Of stochastic rounding, i64.
  Maybe<ScaleLayout> row_layout{};  ///< Default: linear for f32 scales, else tiled_128x4.
  ScaleLayout col_layout = ScaleLayout::per_group;  ///< per_group or global.
  ColStorage col_storage = ColStorage::as_rows;     ///< e2m1 is always transposed.
  using Out = Quantized;                            ///< row and col.
  static constexpr const char* name = "quantize";   ///< In JSON and docs.
  COHORT_FIELDS(field("to", &Quantize::to), field("axes", &Quantize::axes),
                field("element", &Quantize::element), field("norm", &Quantize::norm),
                field("qmax", &Quantize::qmax), field("scale_rounding", &Quantize::scale_rounding),
                field("reciprocal", &Quantize::reciprocal), field("rounding", &Quantize::rounding),
                field("seed", &Quantize::seed), field("offset", &Quantize::offset),
                field("row_layout", &Quantize::row_layout),
                field("col_layout", &Quantize::col_layout),
                field("col_storage", &Quantize::col_storage))
};

}  // namespace cohort
