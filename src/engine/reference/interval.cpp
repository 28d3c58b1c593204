#include "engine/reference/interval.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/reference/interval_panels.h"
#include "engine/reference/interval_roots.h"
#include "engine/reference/panel_product.h"
#include "engine/reference/product_bound.h"
#include "engine/reference/quantised_bound.h"
#include "engine/reference/region_run.h"
#include "ir/op_record.h"

namespace cohort::engine::reference {

using ir::kNone;
using Kind = ir::Reference::Kind;

namespace {

class Evaluation {
 public:
  Evaluation(const Memory& memory, double slack)
      : m_(memory),
        g_(memory.graph()),
        slack_(slack),
        read_(g_.values.size(), false),
        all_(g_.values.size()),
        panels_(memory, all_) {
    for (const ir::Node& n : g_.nodes) {
      if (n.in != kNone) read_[static_cast<size_t>(n.in)] = true;
      for (size_t f = 0; f < n.op->fields.size(); ++f) {
        const int32_t v = operand(n, f);
        if (v != kNone) read_[static_cast<size_t>(v)] = true;
      }
    }
  }

  std::vector<Interval> run() {
    for (const ir::Node& n : g_.nodes) node(n);
    return std::move(all_);
  }

 private:
  const ir::Value& value(int32_t v) const { return g_.values[static_cast<size_t>(v)]; }
  Interval& at(int32_t v) { return all_[static_cast<size_t>(v)]; }
  int64_t rows_of(int32_t v) const { return m_.extent(value(v).shape[0]); }
  int64_t width(int32_t v) const { return row_width(m_, v); }
  int32_t operand(const ir::Node& n, size_t f) const { return value_in_field(g_, n, f); }

  // The groups of a node's rows: of its result, of the piped value, or of the first operand that
  // has some.
  int32_t groups_of(const ir::Node& n) const {
    if (n.op->is_root) return value(n.first_result).groups;
    int32_t groups = value(n.in).groups;
    for (size_t f = 0; f < n.op->fields.size() && groups == kNone; ++f) {
      const int32_t v = operand(n, f);
      if (v != kNone) groups = value(v).groups;
    }
    return groups;
  }

  void node(const ir::Node& n) {
    const Kind kind = n.op->reference.kind;
    if (kind == Kind::quantize) return quantize(n);
    if (kind == Kind::none) no_bound(n, "the op has no reference");
    if (root_interval(m_, n, all_)) return;
    const bool maps = kind == Kind::map || kind == Kind::reduce;
    if (!maps && kind != Kind::product && kind != Kind::load) no_bound(n, "sums over rows");
    for (size_t p = 0; p < n.op->results.size(); ++p) {
      const int32_t v = n.first_result + static_cast<int32_t>(p);
      if (value(v).absent) continue;
      at(v).resize(static_cast<size_t>(rows_of(v) * width(v)));
    }
    const int64_t rows = rows_of(n.op->is_root ? n.first_result : n.in);
    if (kind == Kind::reduce) panels_.begin_reduction(n);
    for (const RowGroup& group : m_.groups(groups_of(n), rows)) {
      for (int64_t r = 0; r < group.rows; r += kPanelRows) {
        const int64_t length = std::min(kPanelRows, group.rows - r);
        const int64_t first = group.begin + r;
        if (kind == Kind::product) product(n, group, first, length);
        if (kind == Kind::load) load(n, group, first, length);
        if (kind == Kind::map) panels_.map(n, group, first, length);
        if (kind == Kind::reduce) panels_.reduce(n, group, first, length);
      }
    }
    if (kind == Kind::reduce) panels_.finish_reduction(n);
  }

  // Only what a later op reads is needed: outputs are held to their values directly.
  void quantize(const ir::Node& n) {
    for (int32_t p = 0; p < static_cast<int32_t>(n.op->results.size()); ++p) {
      const int32_t v = n.first_result + p;
      if (!read_[static_cast<size_t>(v)] || value(v).absent) continue;
      at(v) = dequantised(m_, n, value(v), at(n.in));
    }
  }

  BoundedRows rows_from(int32_t v, const StoredRef& stored, bool transposed) {
    if (value(v).node == kNone) return BoundedRows(stored);
    return {at(v), width(v), transposed};
  }

  void product(const ir::Node& n, const RowGroup& group, int64_t first, int64_t rows) {
    const ProductOperands o(m_, n, group);
    const bool grouped = n.op->field_index("groups") >= 0;
    const bool n_major = !grouped && static_cast<Major>(g_.field(n, "b_major").integer) == Major::n;
    const BoundedRows a = rows_from(g_.operand(n, "a"), o.a, false);
    const BoundedRows b = rows_from(g_.operand(n, "b"), o.b, n_major);
    BoundedProduct p{a, b, {}, o.n, o.k, &group};
    for (int64_t r = 0; r < rows; ++r) p.rows.push_back(o.row(m_, first + r));
    const ProductBounds sums = product_bounds(p);
    Interval& y = at(n.first_result);
    for (size_t i = 0; i < sums.sum.size(); ++i) {
      const double sum = sums.sum[i];
      y.set(static_cast<size_t>(first * o.n) + i, static_cast<float>(sum), sum, sum, sums.error[i]);
    }
  }

  void load(const ir::Node& n, const RowGroup& group, int64_t first, int64_t rows) {
    const int32_t x = g_.operand(n, "x");
    Interval& y = at(n.first_result);
    const int64_t columns = width(n.first_result);
    if (value(x).node != kNone) {
      for (int64_t i = first * columns; i < (first + rows) * columns; ++i) {
        const auto e = static_cast<size_t>(i);
        y.mid[e] = at(x).mid[e];
        y.low[e] = at(x).low[e];
        y.high[e] = at(x).high[e];
      }
      return;
    }
    StoredRef ref = m_.matrix(x);
    std::vector<int64_t> bases;
    if (ref.scaled != nullptr && ref.scaled->layout == ScaleLayout::per_group) {
      const auto groups = m_.groups(g_.operand(n, "groups"), m_.extent(value(x).shape[0]));
      bases = per_group_bases(groups, ref.columns, info(ref.scaled->format).block);
      ref.scale_base = &bases;
    }
    std::vector<double> row(static_cast<size_t>(columns));
    for (int64_t r = first; r < first + rows; ++r) {
      ref.read(r, 0, columns, &group, row.data());
      for (int64_t i = 0; i < columns; ++i) {
        const double v = row[static_cast<size_t>(i)];
        y.set(static_cast<size_t>(r * columns + i), static_cast<float>(v), v, v,
              slack_ * std::fabs(v));
      }
    }
  }

  const Memory& m_;
  const ir::Graph& g_;
  double slack_;
  std::vector<bool> read_;  // by value: an op reads it
  std::vector<Interval> all_;
  PanelBounds panels_;
};

}  // namespace

void Interval::resize(size_t count) {
  mid.assign(count, 0);
  low.assign(count, 0);
  high.assign(count, 0);
}

void Interval::set(size_t i, float middle, double low_end, double high_end, double error) {
  mid[i] = middle;
  if (std::isnan(error)) error = std::numeric_limits<double>::infinity();
  if (!std::isfinite(low_end) || !std::isfinite(high_end)) {
    low[i] = static_cast<float>(low_end);
    high[i] = static_cast<float>(high_end);
    return;
  }
  const auto l = static_cast<float>(low_end - error);
  const auto h = static_cast<float>(high_end + error);
  low[i] = static_cast<double>(l) <= low_end - error ? l : std::nextafter(l, -kInfinity);
  high[i] = static_cast<double>(h) >= high_end + error ? h : std::nextafter(h, kInfinity);
}

void BoundedRows::read(int64_t row, int64_t begin, int64_t count, const RowGroup* group,
                       double* mid, double* off) const {
  if (interval_ == nullptr) {
    stored_.read(row, begin, count, group, mid);
    std::fill_n(off, count, 0.0);
    return;
  }
  for (int64_t i = 0; i < count; ++i) {
    const auto e = static_cast<size_t>(row * row_stride_ + (begin + i) * column_stride_);
    mid[i] = static_cast<double>(interval_->mid[e]);
    off[i] = std::max(static_cast<double>(interval_->high[e]) - mid[i],
                      mid[i] - static_cast<double>(interval_->low[e]));
  }
}

std::vector<Interval> intervals(const Memory& memory, double slack) {
  return Evaluation(memory, slack).run();
}

}  // namespace cohort::engine::reference
