// Every value of a graph as the reference computes it, and between which numbers any other f32
// evaluation of it must lie. docs/compare.md derives the bounds.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/reference/memory.h"

namespace cohort::engine::reference {

/// One number an element: the reference's, and the ends of what is allowed.
struct Interval {
  std::vector<float> mid;
  std::vector<float> low;
  std::vector<float> high;
  [[nodiscard]] bool empty() const { return mid.empty(); }
  void resize(size_t count);
};

/// Intervals by value number; empty for inputs and quantised values. Rows that no group owns are 0.
/// Throws FindingsError (E-UNSUPPORTED) for an op without a bound.
[[nodiscard]] std::vector<Interval> intervals(const Memory& memory);

}  // namespace cohort::engine::reference
