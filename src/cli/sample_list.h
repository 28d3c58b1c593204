// The bundled graphs.
#pragma once

#include <cohort/cohort.h>

#include <span>
#include <string_view>

namespace cohort::cli {

inline constexpr int64_t kExperts = 8;  ///< Of most bundled graphs.

struct Sample {
  std::string_view name;
  std::string_view about;
  Result<Graph> (*make)();
};

[[nodiscard]] std::span<const Sample> samples();
/// Those of products, gradients and combine; samples() has them too.
[[nodiscard]] std::span<const Sample> product_samples();
/// Those of whole layers; samples() has them too.
[[nodiscard]] std::span<const Sample> layer_samples();

}  // namespace cohort::cli
