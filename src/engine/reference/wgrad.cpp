#include "engine/reference/wgrad.h"

#include <algorithm>
#include <vector>

#include "base/checked.h"
#include "base/parallel.h"
#include "engine/reference/product.h"
#include "ir/op_record.h"

namespace cohort::engine::reference {

using base::ceil_div;
using ir::kNone;

namespace {

// A tile of the result: 192 x 256 f64 sums, with 256 rows of both operands beside it, stay in a
// level-2 cache. A sum is cut at multiples of 256 rows of its group, never elsewhere.
constexpr int64_t kTileI = 192;
constexpr int64_t kTileJ = 256;
constexpr int64_t kTileRows = 256;

// One operand: where it lies, and the rows of it that a group reads.
struct WgradSide {
  StoredRef ref;
  int32_t index = kNone;
  std::vector<int64_t> scale_base;

  WgradSide(const Memory& m, const ir::Node& node, const char* field, const char* gather,
            const std::vector<RowGroup>& groups) {
    const ir::Graph& g = m.graph();
    ref = m.matrix(g.operand(node, field));
    index = g.operand(node, gather);
    if (ref.scaled != nullptr && ref.scaled->layout == ScaleLayout::per_group) {
      scale_base = per_group_bases(groups, ref.columns, info(ref.scaled->format).block);
    }
  }
  [[nodiscard]] StoredRef placed() const {
    StoredRef r = ref;
    if (!scale_base.empty()) r.scale_base = &scale_base;
    return r;
  }
};

// The rows of both operands that one sum takes, in order.
struct RowPairs {
  std::vector<int64_t> a;
  std::vector<int64_t> b;
};

struct WgradScratch {
  std::vector<double> row;
  std::vector<double> a;
  std::vector<double> b;
  std::vector<double> c;
  std::vector<float> out;
  std::vector<float> old;
};

class Wgrad {
 public:
  Wgrad(const Memory& memory, int32_t number)
      : m_(memory),
        g_(memory.graph()),
        node_(g_.nodes[static_cast<size_t>(number)]),
        groups_(m_.groups(g_.operand(node_, "groups"), rows())),
        a_(m_, node_, "a", "gather_a", groups_),
        b_(m_, node_, "b", "gather_b", groups_),
        tiles_i_(ceil_div(a_.ref.columns, kTileI)),
        tiles_j_(ceil_div(b_.ref.columns, kTileJ)) {
    for (const RowGroup& g : groups_) pairs_.push_back(row_pairs(g));
  }

  bool run(int threads, const std::function<bool(int64_t)>& progress) {
    std::vector<WgradScratch> scratch(static_cast<size_t>(threads));
    const auto work = [&](int64_t item, int thread) {
      tile(item, scratch[static_cast<size_t>(thread)]);
    };
    const auto count = static_cast<int64_t>(groups_.size()) * tiles_i_ * tiles_j_;
    return base::parallel_for(count, threads, work, progress);
  }

 private:
  int64_t rows() const {
    const int32_t index = g_.operand(node_, "gather_a");
    const int32_t of = index != kNone ? index : g_.operand(node_, "a");
    return m_.extent(g_.values[static_cast<size_t>(of)].shape[0]);
  }

  RowPairs row_pairs(const RowGroup& group) const {
    RowPairs p;
    for (int64_t r = group.begin; r < group.begin + group.rows; ++r) {
      const int64_t a = m_.index_row(a_.index, r, a_.ref.rows, true);
      const int64_t b = m_.index_row(b_.index, r, b_.ref.rows, true);
      if (a < 0 || b < 0) continue;
      p.a.push_back(a);
      p.b.push_back(b);
    }
    return p;
  }

  // Columns [first, first + count) of some rows, transposed: what a product tile reads.
  static void read(const StoredRef& ref, const std::vector<int64_t>& rows, int64_t from,
                   int64_t depth, int64_t first, int64_t count, const RowGroup& group,
                   std::vector<double>& row, std::vector<double>& out) {
    row.resize(static_cast<size_t>(count));
    for (int64_t d = 0; d < depth; ++d) {
      ref.read(rows[static_cast<size_t>(from + d)], first, count, &group, row.data());
      for (int64_t i = 0; i < count; ++i) {
        out[static_cast<size_t>(i * depth + d)] = row[static_cast<size_t>(i)];
      }
    }
  }

  void tile(int64_t item, WgradScratch& s) {
    const int64_t g = item / (tiles_i_ * tiles_j_);
    const int64_t i0 = item / tiles_j_ % tiles_i_ * kTileI;
    const int64_t j0 = item % tiles_j_ * kTileJ;
    const int64_t ni = std::min(kTileI, a_.ref.columns - i0);
    const int64_t nj = std::min(kTileJ, b_.ref.columns - j0);
    const int64_t padded = ceil_div(ni, kRowUnit) * kRowUnit;
    const RowPairs& pairs = pairs_[static_cast<size_t>(g)];
    const RowGroup& group = groups_[static_cast<size_t>(g)];
    const auto count = static_cast<int64_t>(pairs.a.size());
    const StoredRef a = a_.placed();
    const StoredRef b = b_.placed();
    s.c.assign(static_cast<size_t>(padded * nj), 0.0);
    for (int64_t r = 0; r < count; r += kTileRows) {
      const int64_t depth = std::min(kTileRows, count - r);
      s.a.assign(static_cast<size_t>(padded * depth), 0.0);
      s.b.resize(static_cast<size_t>(nj * depth));
      read(a, pairs.a, r, depth, i0, ni, group, s.row, s.a);
      read(b, pairs.b, r, depth, j0, nj, group, s.row, s.b);
      product_(s.a.data(), depth, s.b.data(), depth, s.c.data(), nj, padded, nj, depth);
    }
    for (int64_t i = 0; i < ni; ++i)
      write_row(g, i0 + i, j0, nj, count == 0, &s.c[static_cast<size_t>(i * nj)], s);
  }

  // One row of a tile: factors, then what is there already, each step rounded to f32. Without any
  // row the gradient is an exact 0 whatever the factors, and old content keeps its bits.
  void write_row(int64_t g, int64_t i, int64_t j0, int64_t nj, bool is_empty, const double* sums,
                 WgradScratch& s) const {
    const int32_t old = g_.operand(node_, "accumulate");
    s.out.resize(static_cast<size_t>(nj));
    for (int64_t j = 0; j < nj; ++j) s.out[static_cast<size_t>(j)] = static_cast<float>(sums[j]);
    if (!is_empty) {
      for (const char* field : {"alpha", "global_scale_a", "global_scale_b"}) {
        const int32_t by = g_.operand(node_, field);
        if (by == kNone) continue;
        const float factor = m_.number(by, g);
        for (float& x : s.out) x *= factor;
      }
    }
    if (old != kNone) {
      s.old.resize(static_cast<size_t>(nj));
      m_.expert(old, g).read_codes(i, j0, nj, s.old.data());
      for (size_t j = 0; j < s.out.size(); ++j) {
        s.out[j] = is_empty ? s.old[j] : s.out[j] + s.old[j];
      }
    }
    for (const int32_t o : m_.outputs_of(node_.first_result)) {
      m_.output_matrix(static_cast<size_t>(o), g).write(i, j0, nj, s.out.data());
    }
  }

  const Memory& m_;
  const ir::Graph& g_;
  const ir::Node& node_;
  std::vector<RowGroup> groups_;
  WgradSide a_;
  WgradSide b_;
  int64_t tiles_i_;
  int64_t tiles_j_;
  std::vector<RowPairs> pairs_;
  ProductTile product_ = product_tile();
};

}  // namespace

int64_t wgrad_tiles(const Memory& m, const ir::Node& node) {
  const ir::Value& y = m.graph().values[static_cast<size_t>(node.first_result)];
  return m.extent(y.shape[0]) * ceil_div(m.extent(y.shape[1]), kTileI) *
         ceil_div(m.extent(y.shape[2]), kTileJ);
}

bool run_wgrad(const Memory& memory, int32_t node, int threads,
               const std::function<bool(int64_t)>& progress) {
  return Wgrad(memory, node).run(threads, progress);
}

}  // namespace cohort::engine::reference
