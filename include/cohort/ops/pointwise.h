// Generic ops, element by element.
#pragma once

#include <cstdint>
#include <limits>

#include <cohort/graph.h>
#include <cohort/ops/fields.h>
#include <cohort/types.h>

namespace cohort {

/// Function of Unary.
enum class UnaryMode : uint8_t {
  identity,      ///< y = x.
  relu,          ///< lower_clip + slope * (x - lower_clip) below lower_clip, upper_clip above it, x
                 ///< between.
  silu,          ///< y = x * sigmoid(beta * x), also named swish.
  gelu,          ///< y = x * (1 + erf(x / sqrt(2))) / 2.
  gelu_tanh,     ///< y = x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))) / 2.
  tanh,          ///< Hyperbolic tangent.
  sigmoid,       ///< y = 1 / (1 + exp(-x)).
  elu,           ///< y = x for x > 0, alpha * (exp(x) - 1) otherwise.
  softplus,      ///< y = log(1 + exp(beta * x)) / beta.
  exp,           ///< y = e^x.
  log,           ///< Natural logarithm.
  sqrt,          ///< Square root.
  rsqrt,         ///< y = 1 / sqrt(x).
  reciprocal,    ///< y = 1 / x.
  neg,           ///< y = -x.
  abs,           ///< y = |x|.
  erf,           ///< Error function.
  ceil,          ///< Smallest whole number that is not below x.
  floor,         ///< Largest whole number that is not above x.
  sin,           ///< Sine, x in radians.
  cos,           ///< Cosine, x in radians.
  tan,           ///< Tangent, x in radians.
  logical_not,   ///< y = 1 where x is 0, otherwise 0.
  row_index,     ///< y[m,n] = m, the row of the token axis, whatever x is.
  column_index,  ///< y[m,n] = n, whatever x is.
};
/// The word for a mode ("relu"); empty for an unknown value.
[[nodiscard]] COHORT_API std::string_view name(UnaryMode value) noexcept;

/// Whether Unary applies its function or passes a gradient back through it.
enum class Direction : uint8_t {
  fwd,  ///< y = f(in).
  bwd,  ///< y = in * f'(x): `in` is the gradient of f(x), `x` the saved forward input.
};
/// The word for a direction ("bwd"); empty for an unknown value.
[[nodiscard]] COHORT_API std::string_view name(Direction value) noexcept;

/// y = f(x), or y = in * f'(x), element by element.
struct Unary {
  Required<UnaryMode, "Unary::mode"> mode;                    ///< f.
  Direction direction = Direction::fwd;                       ///< bwd: relu to softplus only.
  Maybe<MatrixArg> x{};                                       ///< (T, N): bwd only.
  float lower_clip = 0;                                       ///< Of relu.
  float upper_clip = std::numeric_limits<float>::infinity();  ///< Of relu, >= lower_clip.
  float slope = 0;                                            ///< Of relu, below lower_clip.
  float alpha = 1;                                            ///< Of elu.
  float beta = 1;                                             ///< Of silu and softplus.
  using Out = Value;                                          ///< (T, N).
  static constexpr const char* name = "unary";                ///< In JSON and docs.
  COHORT_FIELDS(field("mode", &Unary::mode), field("direction", &Unary::direction),
                field("x", &Unary::x), field("lower_clip", &Unary::lower_clip),
                field("upper_clip", &Unary::upper_clip), field("slope", &Unary::slope),
                field("alpha", &Unary::alpha), field("beta", &Unary::beta))
};

/// Function of Binary. A number is true when it is not 0; true is 1, false is 0.
enum class BinaryMode : uint8_t {
  add,          ///< a + b.
  sub,          ///< a - b.
  mul,          ///< a * b.
  div,          ///< a / b.
  min,          ///< The smaller one; -0 < +0, and NaN when either is NaN.
  max,          ///< The larger one; -0 < +0, and NaN when either is NaN.
  pow,          ///< a to the power b.
  mod,          ///< Remainder of a / b with the sign of a.
  add_square,   ///< a + b * b.
  logical_and,  ///< Both are true.
  logical_or,   ///< One or both are true.
};
/// The word for a mode ("mul"); empty for an unknown value.
[[nodiscard]] COHORT_API std::string_view name(BinaryMode value) noexcept;

/// y = f(in, by), element by element; f(by, in) when `swapped`.
struct Binary {
  Required<BinaryMode, "Binary::mode"> mode;     ///< f.
  Arg by;                                        ///< A number, or what broadcasts to (T, N).
  bool swapped = false;                          ///< `by` comes first.
  using Out = Value;                             ///< (T, N).
  static constexpr const char* name = "binary";  ///< In JSON and docs.
  COHORT_FIELDS(field("mode", &Binary::mode), field("by", &Binary::by),
                field("swapped", &Binary::swapped))
};

/// Relation of Compare. NaN is unequal to everything and in no order.
enum class CompareMode : uint8_t {
  eq,  ///< in == by.
  ne,  ///< in != by.
  lt,  ///< in < by.
  le,  ///< in <= by.
  gt,  ///< in > by.
  ge,  ///< in >= by.
};
/// The word for a mode ("lt"); empty for an unknown value.
[[nodiscard]] COHORT_API std::string_view name(CompareMode value) noexcept;

/// y = 1 where in and by stand in a relation, otherwise 0.
struct Compare {
  Required<CompareMode, "Compare::mode"> mode;    ///< The relation.
  Arg by;                                         ///< A number, or what broadcasts to (T, N).
  using Out = Value;                              ///< (T, N).
  static constexpr const char* name = "compare";  ///< In JSON and docs.
  COHORT_FIELDS(field("mode", &Compare::mode), field("by", &Compare::by))
};

/// y = if_true where in is not 0, if_false where it is.
struct Select {
  Arg if_true;                                   ///< A number, or what broadcasts to (T, N).
  Arg if_false;                                  ///< A number, or what broadcasts to (T, N).
  using Out = Value;                             ///< (T, N).
  static constexpr const char* name = "select";  ///< In JSON and docs.
  COHORT_FIELDS(field("if_true", &Select::if_true), field("if_false", &Select::if_false))
};

/// y[m,n] = x[m,n] + c[m,n]: the residual.
struct Add {
  Value c;                                    ///< (T, N).
  using Out = Value;                          ///< (T, N).
  static constexpr const char* name = "add";  ///< In JSON and docs.
  COHORT_FIELDS(field("c", &Add::c))
};

/// y = x rounded to a type: nearest even; fp8 saturates, f16 and bf16 overflow to infinity.
struct Cast {
  Required<DType, "Cast::to"> to;  ///< f32, f16, bf16, e4m3 or e5m2.
  Maybe<Scalar> scale{};           ///< y = round(round_f32(x * scale)): fp8 with a given scale.
  using Out = Value;               ///< (T, N), of type `to`.
  static constexpr const char* name = "cast";  ///< In JSON and docs.
  COHORT_FIELDS(field("to", &Cast::to), field("scale", &Cast::scale))
};

}  // namespace cohort
