#include "engine/reference/interval.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>

#include "base/diagnostics.h"
#include "engine/reference/interval_roots.h"
#include "engine/reference/panel_product.h"
#include "engine/reference/product_bound.h"
#include "engine/reference/quantised_bound.h"
#include "engine/reference/region_run.h"
#include "ir/bound.h"
#include "ir/op_record.h"
#include "numerics/codec.h"

namespace cohort::engine::reference {

using ir::kNone;
using Kind = ir::Reference::Kind;

namespace {

constexpr double kOpRoundings = 4;  // of one monotone op; none rounds more often
constexpr float kInfinity = std::numeric_limits<float>::infinity();

[[noreturn]] void unsupported(const ir::Node& n, const std::string& why) {
  throw base::FindingsError{base::make_findings(
      ErrorKind::unsupported,
      {.code = "E-UNSUPPORTED",
       .op = n.op->name,
       .field = "bound",
       .wanted = "an op with an error bound",
       .got = why,
       .message = "no error bound: " + why,
       .hint = "make the operand an output, and compare the graph behind it by itself"})};
}

// The three numbers of an operand or result that a panel may hold.
enum class End : uint8_t { mid, low, high };

class Evaluation {
 public:
  Evaluation(const Memory& memory, double slack)
      : m_(memory), g_(memory.graph()), slack_(slack), read_(g_.values.size(), false) {
    all_.resize(g_.values.size());
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
  // Elements of one row of a value.
  int64_t width(int32_t v) const {
    int64_t w = 1;
    for (int d = 1; d < value(v).shape.rank; ++d) w *= m_.extent(value(v).shape[d]);
    return w;
  }
  // The value in a field, or kNone.
  int32_t operand(const ir::Node& n, size_t f) const {
    const ir::FieldValue& field = g_.fields[static_cast<size_t>(n.first_field) + f];
    return field.kind == ir::FieldValue::Kind::value ? field.value : kNone;
  }

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
    if (kind == Kind::none) unsupported(n, "the op has no reference");
    if (root_interval(m_, n, all_)) return;
    const bool maps = kind == Kind::map || kind == Kind::reduce;
    if (!maps && kind != Kind::product && kind != Kind::load) unsupported(n, "sums over rows");
    for (size_t p = 0; p < n.op->results.size(); ++p) {
      const int32_t v = n.first_result + static_cast<int32_t>(p);
      if (value(v).absent) continue;
      at(v).resize(static_cast<size_t>(rows_of(v) * width(v)));
    }
    const int64_t rows = rows_of(n.op->is_root ? n.first_result : n.in);
    if (kind == Kind::reduce) {
      totals_.assign(static_cast<size_t>(rows_of(n.first_result) * width(n.first_result)), {});
    }
    for (const RowGroup& group : m_.groups(groups_of(n), rows)) {
      for (int64_t r = 0; r < group.rows; r += kPanelRows) {
        const int64_t length = std::min(kPanelRows, group.rows - r);
        const int64_t first = group.begin + r;
        if (kind == Kind::product) product(n, group, first, length);
        if (kind == Kind::load) load(n, group, first, length);
        if (kind == Kind::map) map(n, group, first, length);
        if (kind == Kind::reduce) reduce(n, group, first, length);
      }
    }
    if (kind == Kind::reduce) finish_reduction(n);
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

  // ---- maps and reductions

  // One end of every operand of a panel; the results, by port, go to `out`.
  ir::Panel panel(const ir::Node& n, const RowGroup& group, int64_t first, int64_t rows,
                  unsigned which, End end) {
    ir::Panel p;
    p.graph = &g_;
    p.node = &n;
    p.first_row = first;
    p.rows = rows;
    p.columns = width(n.in);
    p.group = group.group;
    p.row_in_group = first - group.begin;
    p.in = computed(n.in, group, first, pick(end, which, 0));
    unsigned bit = 1;
    for (size_t f = 0; f < n.op->fields.size(); ++f) {
      const int32_t v = operand(n, f);
      if (v != kNone && value(v).node != kNone) {
        p.operand[f] = computed(v, group, first, pick(end, which, bit++));
      } else {
        p.operand[f] = stored(n, f, group, first, rows);
      }
    }
    return p;
  }

  // Bit `operand` of `which` chooses between the ends, unless the middle is asked for.
  static End pick(End end, unsigned which, unsigned operand) {
    if (end == End::mid) return end;
    return (which >> operand & 1) != 0 ? End::high : End::low;
  }

  unsigned computed_operands(const ir::Node& n) const {
    unsigned count = 1;  // the piped value
    for (size_t f = 0; f < n.op->fields.size(); ++f) {
      const int32_t v = operand(n, f);
      if (v != kNone && value(v).node != kNone) ++count;
    }
    return count;
  }

  std::vector<float>& numbers(int32_t v, End end) {
    return end == End::mid ? at(v).mid : end == End::low ? at(v).low : at(v).high;
  }

  // Rows of a computed matrix or row vector; of a computed group vector the group's part.
  ir::PanelData computed(int32_t v, const RowGroup& group, int64_t first, End end) {
    float* data = numbers(v, end).data();
    const bool by_row = value(v).role == Role::value || value(v).role == Role::row_vec;
    const int64_t row = by_row ? first : group.group % std::max<int64_t>(rows_of(v), 1);
    return {data + row * width(v), width(v)};
  }

  ir::PanelData stored(const ir::Node& n, size_t f, const RowGroup& group, int64_t first,
                       int64_t rows) {
    const ir::FieldValue& field = g_.fields[static_cast<size_t>(n.first_field) + f];
    std::vector<float>& buffer = buffers_[f];
    if (field.kind == ir::FieldValue::Kind::number) {
      buffer.assign(1, static_cast<float>(field.number));
      return {buffer.data(), 0};
    }
    if (field.kind != ir::FieldValue::Kind::value) return {};
    const ir::Value& v = value(field.value);
    if (v.role == Role::tensor) {
      const StoredRef ref = m_.matrix(field.value);
      buffer.resize(static_cast<size_t>(rows * ref.columns));
      for (int64_t r = 0; r < rows; ++r) {
        ref.read_codes(first + r, 0, ref.columns, buffer.data() + r * ref.columns);
      }
      return {buffer.data(), ref.columns};
    }
    const int64_t extent = m_.extent(v.shape[0]);
    int64_t from = 0;
    int64_t length = width(field.value);
    if (v.role == Role::row_vec) {
      from = first;
      length = rows;
    } else if (v.role == Role::group_mat || v.role == Role::group_vec) {
      from = group.group % extent * length;
    } else if (v.role == Role::col_vec) {
      length = extent;
    }
    buffer.resize(static_cast<size_t>(length));
    const TensorView& view = m_.input(field.value, ir::TensorPart::Kind::data);
    numerics::decode_row(view.dtype, view.data, from, length, buffer.data());
    return {buffer.data(), 1};
  }

  // Results go straight into one of the three numbers of each port's interval.
  void results_to(ir::Panel& p, const ir::Node& n, int64_t first, End end) {
    for (size_t port = 0; port < n.op->results.size(); ++port) {
      const int32_t v = n.first_result + static_cast<int32_t>(port);
      if (value(v).absent || (value(v).uses == 0 && n.op->results.size() > 1)) continue;
      p.out[port] = {numbers(v, end).data() + first * width(v), width(v)};
    }
  }

  void map(const ir::Node& n, const RowGroup& group, int64_t first, int64_t rows) {
    const ir::Reference& reference = n.op->reference;
    if (reference.bound == nullptr && !reference.monotone) unsupported(n, "the op has none yet");
    ir::Panel middle = panel(n, group, first, rows, 0, End::mid);
    results_to(middle, n, first, End::mid);
    reference.map(middle);
    if (reference.bound != nullptr) {
      const auto all = ~0u;
      ir::Panel low = panel(n, group, first, rows, 0, End::low);
      ir::Panel high = panel(n, group, first, rows, all, End::high);
      results_to(low, n, first, End::low);
      results_to(high, n, first, End::high);
      reference.bound({low, high});
    } else {
      corners(n, group, first, rows);
    }
    for (size_t port = 0; port < n.op->results.size(); ++port) {
      if (middle.out[port].data == nullptr) continue;
      const int32_t v = n.first_result + static_cast<int32_t>(port);
      settle(at(v), static_cast<size_t>(first * width(v)), static_cast<size_t>(rows * width(v)));
    }
  }

  // Where the reference has NaN, NaN is wanted; where an end has none, nothing is known.
  static void settle(Interval& y, size_t first, size_t count) {
    for (size_t i = first; i < first + count; ++i) {
      if (std::isnan(y.mid[i])) {
        y.low[i] = y.high[i] = y.mid[i];
      } else if (std::isnan(y.low[i]) || std::isnan(y.high[i])) {
        y.low[i] = -kInfinity;
        y.high[i] = kInfinity;
      }
    }
  }

  // The extremes of a monotone op, widened by its own roundings. A cast rounds to its type exactly,
  // relu and the like do not round: their error is that of their operands, and 4 units more.
  void corners(const ir::Node& n, const RowGroup& group, int64_t first, int64_t rows) {
    const unsigned count = computed_operands(n);
    if (count > 6) unsupported(n, "more than six computed operands");
    const int32_t v = n.first_result;
    const auto elements = static_cast<size_t>(rows * width(v));
    std::vector<float> out(elements);
    std::vector<float> low(elements, kInfinity);
    std::vector<float> high(elements, -kInfinity);
    for (unsigned which = 0; which < 1u << count; ++which) {
      ir::Panel p = panel(n, group, first, rows, which, End::low);
      p.out[0] = {out.data(), width(v)};
      n.op->reference.map(p);
      for (size_t i = 0; i < elements; ++i) {
        const bool nan = std::isnan(out[i]);
        low[i] = nan ? -kInfinity : std::min(low[i], out[i]);
        high[i] = nan ? kInfinity : std::max(high[i], out[i]);
      }
    }
    const bool rounds = value(v).dtype != DType::f32;
    Interval& y = at(v);
    for (size_t i = 0; i < elements; ++i) {
      const auto to = static_cast<size_t>(first * width(v)) + i;
      const auto wide = ir::outward(static_cast<double>(low[i]), static_cast<double>(high[i]),
                                    rounds ? 0 : kOpRoundings);
      y.set(to, y.mid[to], rounds ? static_cast<double>(low[i]) : wide.low,
            rounds ? static_cast<double>(high[i]) : wide.high, 0);
    }
  }

  // The middle is the same sum over the middles, in f64.
  void reduce(const ir::Node& n, const RowGroup& group, int64_t first, int64_t rows) {
    if (n.op->reference.reduce_bound == nullptr) unsupported(n, "the op has none yet");
    const int32_t v = n.first_result;
    const int64_t row = rows_of(v) > 1 ? group.group : 0;
    const auto at_row = static_cast<size_t>(row * width(v));
    const ir::Panel middle = panel(n, group, first, rows, 0, End::mid);
    n.op->reference.reduce_bound({middle, middle}, middles_of(v) + at_row);
    const ir::Panel low = panel(n, group, first, rows, 0, End::low);
    const ir::Panel high = panel(n, group, first, rows, ~0u, End::high);
    n.op->reference.reduce_bound({low, high}, totals_.data() + at_row);
  }

  ir::RowBound* middles_of(int32_t v) {
    const auto count = static_cast<size_t>(rows_of(v) * width(v));
    if (middles_of_ != v) {
      middles_.assign(count, {});
      middles_of_ = v;
    }
    return middles_.data();
  }

  void finish_reduction(const ir::Node& n) {
    const int32_t v = n.first_result;
    const ir::RowBound* middles = middles_of(v);
    Interval& y = at(v);
    for (size_t i = 0; i < totals_.size(); ++i) {
      const ir::Bound b = totals_[i].finish();
      y.set(i, static_cast<float>(middles[i].value.low), b.low, b.high, 0);
    }
    settle(y, 0, totals_.size());
  }

  const Memory& m_;
  const ir::Graph& g_;
  double slack_;
  std::vector<bool> read_;  // by value: an op reads it
  std::vector<Interval> all_;
  std::array<std::vector<float>, ir::kMaxFields> buffers_;
  std::vector<ir::RowBound> totals_;
  std::vector<ir::RowBound> middles_;
  int32_t middles_of_ = kNone;
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
