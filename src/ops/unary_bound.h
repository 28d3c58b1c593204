// Bounds of unary, and what its two files share.
#pragma once

#include <cstddef>

#include "ir/reference.h"
#include "ops/unary_math.h"

namespace cohort::ops {

/// Position of the field `x` of unary.
inline constexpr size_t kUnaryX = 2;

[[nodiscard]] UnaryParameters unary_parameters(const ir::Panel& p);
void unary_bound(const ir::BoundPanel& b);

}  // namespace cohort::ops
