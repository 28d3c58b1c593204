// The seam between an op's own reference arithmetic (in ops/) and the reference engine, which
// walks a graph in panels: some rows of one group, all columns, f32.
#pragma once

#include <array>
#include <cstdint>

#include "ir/graph.h"

namespace cohort::ir {

/// f32 rows of a value, or the one row, column or number that a broadcast operand has for a panel.
struct PanelData {
  float* data = nullptr;  ///< Null when the operand or result is absent or unused.
  int64_t stride = 0;     ///< Elements from row to row.
};

/// One panel. Everything is f32; rows are rows of the token axis, never those of two groups.
struct Panel {
  const Graph* graph = nullptr;
  const Node* node = nullptr;
  int64_t first_row = 0;  ///< Row of the token axis.
  int64_t rows = 0;
  int64_t columns = 0;       ///< Columns of the piped value.
  int32_t group = 0;         ///< -1 for rows that no group owns.
  int64_t row_in_group = 0;  ///< first_row minus the group's first row.
  PanelData in;              ///< The piped value.
  /// Operands by field position. Roles value and tensor: rows x columns. row_vec: one number a row
  /// (stride 1). group_mat: the group's row. col_vec: one row. group_vec, scalar, by-value numbers:
  /// one number.
  std::array<PanelData, kMaxFields> operand{};
  /// Results by port. Role value: rows x columns of the result. row_vec: one number a row.
  std::array<PanelData, 4> out{};
};

struct BoundPanel;
struct RowBound;

/// How the reference engine evaluates an op.
struct Reference {
  enum class Kind : uint8_t {
    none,               ///< Not there: the engine declines.
    product,            ///< A root whose sums the engine makes itself.
    load,               ///< A stored tensor read as f32.
    wgrad,              ///< A root that sums over the rows of each group.
    combine,            ///< A root that sums rows which an index names.
    d_combine,          ///< Its gradient, row by row.
    d_combine_weights,  ///< Its gradient, entry by entry.
    map,                ///< `map`, panel by panel.
    reduce,             ///< `reduce` per panel, folded with `fold` in panel order.
    quantize,           ///< Codes and scales through the numerics room.
  };
  Kind kind = Kind::none;
  void (*map)(const Panel&) = nullptr;
  /// Kind reduce: adds the panel to `accumulator` (as many f64 as the result has numbers for one
  /// group); the whole is rounded once.
  void (*reduce)(const Panel&, double* accumulator) = nullptr;
  /// Kind reduce: folds a later partial result into an earlier one, element by element.
  double (*fold)(double earlier, double later) = nullptr;
  double identity = 0;  ///< Kind reduce: the result without any row.
  /// Every group must have a multiple of this many rows: a run checks it. Null: any number.
  int64_t (*row_unit)(const Graph&, const Node&) = nullptr;

  // How compare() bounds the results of kinds map and reduce: by one of these, or not at all.
  /// Kind map: each element of the result never falls or never rises in the same element of each
  /// operand, and an f32 evaluation errs by less than four units of it: the extremes of `map` lie
  /// at the corners of the operands' intervals.
  bool monotone = false;
  /// Kind map: the ends between which every f32 evaluation lies (ir/bound.h).
  void (*bound)(const BoundPanel&) = nullptr;
  /// Kind reduce: adds the panel to `accumulator` (as many as the result has for one group).
  void (*reduce_bound)(const BoundPanel&, RowBound* accumulator) = nullptr;
};

}  // namespace cohort::ir
