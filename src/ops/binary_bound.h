// Bounds of the two functions of binary that interval arithmetic does not have.
#pragma once

#include "ir/bound.h"

namespace cohort::ops {

/// Of a to the power b. Nothing is known where a NaN or both infinities are among the results.
[[nodiscard]] ir::Bound power_bound(ir::Bound a, ir::Bound b);
/// Of the remainder of a / b, which has the sign of a and is exact in every evaluation. Nothing is
/// known where b may be 0 or a infinite.
[[nodiscard]] ir::Bound remainder_bound(ir::Bound a, ir::Bound b);

}  // namespace cohort::ops
