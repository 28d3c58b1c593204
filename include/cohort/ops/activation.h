// Activations of a mixture-of-experts layer.
#pragma once

#include <cstdint>

#include <cohort/graph.h>
#include <cohort/ops/fields.h>
#include <cohort/types.h>

namespace cohort {

/// y = relu(x)^2; with `clamp` s: t = min(tanh(relu(x) / s), 1), y = (s * t)^2.
struct ReluSquared {
  Maybe<float> clamp{};                                ///< s > 0, the tanh clamp.
  using Out = Value;                                   ///< (T, N).
  static constexpr const char* name = "relu_squared";  ///< In JSON and docs.
  COHORT_FIELDS(field("clamp", &ReluSquared::clamp))
};

}  // namespace cohort
