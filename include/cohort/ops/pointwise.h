// Generic ops, element by element.
#pragma once

#include <cstdint>

#include <cohort/graph.h>
#include <cohort/ops/fields.h>
#include <cohort/types.h>

namespace cohort {

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

/// y[m,n] = x[m,n] + c[m,n]: the residual.
struct Add {
  Value c;                                    ///< (T, N).
  using Out = Value;                          ///< (T, N).
  static constexpr const char* name = "add";  ///< In JSON and docs.
  COHORT_FIELDS(field("c", &Add::c))
};

/// y = x rounded to a type: nearest even; fp8 saturates, f16 and bf16 overflow to infinity.
struct Cast {
  Required<DType> to;     ///< f32, f16, bf16, e4m3 or e5m2.
  Maybe<Scalar> scale{};  ///< y = round(round_f32(x * scale)): fp8 with a given scale.
  using Out = Value;      ///< (T, N), of type `to`.
  static constexpr const char* name = "cast";  ///< In JSON and docs.
  COHORT_FIELDS(field("to", &Cast::to), field("scale", &Cast::scale))
};

}  // namespace cohort
