// One op over a stored f32 matrix.
#pragma once

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "engine/gemm_case.h"
#include "fixtures/findings.h"

namespace cohort::test {

inline constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
inline constexpr float kInf = std::numeric_limits<float>::infinity();

/// A builder with a loaded x (rows, columns), and the groups of its rows when there are ends.
struct Small {
  Small(int64_t rows_, int64_t columns_, const std::vector<int32_t>& ends_ = {})
      : rows(rows_), columns(columns_), ends(ends_) {}

  int64_t rows;
  int64_t columns;
  std::vector<int32_t> ends;
  Builder g{"small"};
  Tensor stored = g.input("x", {rows, columns}, DType::f32);
  Maybe<Groups> groups = made_groups();
  Value x = g.add(Load{.x = stored, .groups = groups});

  Maybe<Groups> made_groups() {
    if (ends.empty()) return {};
    return g.groups("ends", static_cast<int64_t>(ends.size()), GroupForm::ends);
  }
  /// The graph with `y` as its output, ready to be filled.
  Bench bench(const Handle& y, const OutputOptions& options = {}) {
    g.output("y", y, options);
    Bench b(finish(g));
    if (!ends.empty()) b.tensors.set("ends", ends);
    return b;
  }
  /// Codes of the findings of a graph with that output.
  std::string faults(const Handle& y) {
    g.output("y", y);
    const Result<Graph> graph = std::move(g).finish();
    return graph ? std::string() : codes(graph.findings());
  }
};

/// The op of one row of numbers.
template <class O>
std::vector<float> applied(const O& op, const std::vector<float>& x) {
  Small s(1, static_cast<int64_t>(x.size()));
  Bench b = s.bench(s.x.then(op));
  b.tensors.set("x", x);
  b.run_well();
  return b.tensors.values<float>("y");
}

/// Equal numbers and signs of zero; any NaN equals any.
inline void expect_numbers(const std::vector<float>& got, const std::vector<float>& wanted) {
  ASSERT_EQ(got.size(), wanted.size());
  for (size_t i = 0; i < got.size(); ++i) {
    if (std::isnan(wanted[i])) {
      EXPECT_TRUE(std::isnan(got[i])) << "element " << i << ": " << got[i];
      continue;
    }
    EXPECT_EQ(got[i], wanted[i]) << "element " << i;
    EXPECT_EQ(std::signbit(got[i]), std::signbit(wanted[i])) << "element " << i;
  }
}

}  // namespace cohort::test
