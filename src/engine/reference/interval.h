// Every value of a graph as the reference computes it, and between which numbers any other f32
// evaluation of it must lie. docs/compare.md derives the bounds.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "engine/reference/memory.h"

namespace cohort::engine::reference {

inline constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// One number an element: the reference's, and the ends of what is allowed. Of a quantised value:
/// code times scale.
struct Interval {
  std::vector<float> mid;
  std::vector<float> low;
  std::vector<float> high;
  [[nodiscard]] bool empty() const { return mid.empty(); }
  void resize(size_t count);
  /// Sets element i to [low - error, high + error], rounded outwards. An end that is no number
  /// stays: NaN is wanted then.
  void set(size_t i, float middle, double low_end, double high_end, double error);
};

/// Intervals by value number; empty for inputs, and for quantised values that no op reads. Rows
/// that no group owns are 0. `slack` widens what is loaded, relative to itself: for tests. Throws
/// FindingsError (E-UNSUPPORTED) for an op without a bound.
[[nodiscard]] std::vector<Interval> intervals(const Memory& memory, double slack = 0);

/// Rows of a matrix operand in f64: from memory, or from the interval of a computed value.
class BoundedRows {
 public:
  explicit BoundedRows(const StoredRef& stored) : stored_(stored) {}
  /// A packed (rows, columns) interval; `transposed` reads it as (columns, rows).
  BoundedRows(const Interval& interval, int64_t columns, bool transposed)
      : interval_(&interval),
        row_stride_(transposed ? 1 : columns),
        column_stride_(transposed ? columns : 1) {}

  [[nodiscard]] bool is_exact() const { return interval_ == nullptr; }
  /// Elements [begin, begin + count) of a row, and how far an end may be off.
  void read(int64_t row, int64_t begin, int64_t count, const RowGroup* group, double* mid,
            double* off) const;

 private:
  StoredRef stored_;
  const Interval* interval_ = nullptr;
  int64_t row_stride_ = 0;
  int64_t column_stride_ = 1;
};

}  // namespace cohort::engine::reference
