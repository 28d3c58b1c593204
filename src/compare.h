// What compare() is made of, for tests of its bounds.
#pragma once

#include <cohort/compare.h>

namespace cohort::detail {

/// As compare(), where what Load reads may be off by `slack`, relative to itself.
[[nodiscard]] Result<Comparison> compare_within(const Graph& graph, Sizes sizes,
                                                NamedTensors inputs, NamedTensors got,
                                                double slack) noexcept;

}  // namespace cohort::detail
