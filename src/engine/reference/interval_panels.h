// Intervals of what maps and reductions make, panel by panel.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/reference/interval.h"
#include "ir/bound.h"

namespace cohort::engine::reference {

/// Refuses an op: E-UNSUPPORTED, it has no bound for that reason.
[[noreturn]] void no_bound(const ir::Node& n, const std::string& why);
/// Elements of one row of a value.
[[nodiscard]] int64_t row_width(const Memory& memory, int32_t v);
/// The value in field `f` of a node, or kNone.
[[nodiscard]] int32_t value_in_field(const ir::Graph& g, const ir::Node& n, size_t f);

/// Reads the intervals of operands and writes those of results, which have their size already.
class PanelBounds {
 public:
  PanelBounds(const Memory& memory, std::vector<Interval>& all)
      : m_(memory), g_(memory.graph()), all_(all) {}

  /// Rows [first, first + rows) of one group.
  void map(const ir::Node& n, const RowGroup& group, int64_t first, int64_t rows);
  /// Before and after all panels of a reduction.
  void begin_reduction(const ir::Node& n);
  void reduce(const ir::Node& n, const RowGroup& group, int64_t first, int64_t rows);
  void finish_reduction(const ir::Node& n);

 private:
  // The three numbers of an operand or result that a panel may hold.
  enum class End : uint8_t { mid, low, high };

  const ir::Value& value(int32_t v) const { return g_.values[static_cast<size_t>(v)]; }
  Interval& at(int32_t v) { return all_[static_cast<size_t>(v)]; }
  int64_t rows_of(int32_t v) const { return m_.extent(value(v).shape[0]); }
  int64_t width(int32_t v) const { return row_width(m_, v); }
  std::vector<float>& numbers(int32_t v, End end) {
    return end == End::mid ? at(v).mid : end == End::low ? at(v).low : at(v).high;
  }
  static End pick(End end, unsigned which, unsigned operand);
  unsigned computed_operands(const ir::Node& n) const;

  ir::Panel panel(const ir::Node& n, const RowGroup& group, int64_t first, int64_t rows,
                  unsigned which, End end);
  ir::PanelData computed(int32_t v, const RowGroup& group, int64_t first, End end);
  ir::PanelData stored(const ir::Node& n, size_t f, const RowGroup& group, int64_t first,
                       int64_t rows);
  void results_to(ir::Panel& p, const ir::Node& n, int64_t first, End end);
  void corners(const ir::Node& n, const RowGroup& group, int64_t first, int64_t rows);
  ir::RowBound* middles_of(int32_t v);

  const Memory& m_;
  const ir::Graph& g_;
  std::vector<Interval>& all_;
  std::array<std::vector<float>, ir::kMaxFields> buffers_;
  std::vector<ir::RowBound> totals_;
  std::vector<ir::RowBound> middles_;
  int32_t middles_of_ = ir::kNone;
};

}  // namespace cohort::engine::reference
