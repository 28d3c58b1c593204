#include "engine/reference/interval.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <string_view>

#include "base/checked.h"
#include "base/diagnostics.h"
#include "engine/reference/interval_roots.h"
#include "engine/reference/panel_product.h"
#include "engine/reference/region_run.h"
#include "ir/op_record.h"
#include "numerics/codec.h"

namespace cohort::engine::reference {

using ir::kNone;
using Kind = ir::Reference::Kind;

namespace {

constexpr double kUnit = 0x1p-23;        // one unit in the last place of an f32, relative
constexpr float kTiny = 0x1p-126f;       // below it a device may flush to zero
constexpr double kOpRoundings = 4;       // of one pointwise op; none here rounds more often
constexpr double kProductRoundings = 4;  // scales, the last rounding, ours

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

class Evaluation {
 public:
  explicit Evaluation(const Memory& memory) : m_(memory), g_(memory.graph()) {
    all_.resize(g_.values.size());
  }

  std::vector<Interval> run() {
    for (const ir::Node& n : g_.nodes) node(n);
    return std::move(all_);
  }

 private:
  const ir::Value& value(int32_t v) const { return g_.values[static_cast<size_t>(v)]; }
  Interval& at(int32_t v) { return all_[static_cast<size_t>(v)]; }
  int64_t width(int32_t v) const {
    return value(v).shape.rank > 1 ? m_.extent(value(v).shape[1]) : 1;
  }

  // The groups of a node's rows: of the product or load, or of the first operand that has some.
  int32_t groups_of(const ir::Node& n) const {
    if (n.op->is_root) return value(n.first_result).groups;
    int32_t groups = value(n.in).groups;
    for (size_t f = 0; f < n.op->fields.size() && groups == kNone; ++f) {
      const ir::FieldValue& field = g_.fields[static_cast<size_t>(n.first_field) + f];
      if (field.kind != ir::FieldValue::Kind::value) continue;
      if (value(field.value).role == Role::value) groups = value(field.value).groups;
    }
    return groups;
  }

  RootOperand root(const ir::Node& n, std::string_view field) {
    const int32_t v = g_.operand(n, field);
    if (value(v).node == kNone) return {};
    if (value(v).scaled) unsupported(n, std::string(field) + " is quantised in the graph");
    return {&at(v)};
  }

  void node(const ir::Node& n) {
    const Kind kind = n.op->reference.kind;
    if (kind == Kind::quantize) return;
    if (kind == Kind::none) unsupported(n, "the op has no reference");
    const bool combines =
        kind == Kind::combine || kind == Kind::d_combine || kind == Kind::d_combine_weights;
    if (kind == Kind::wgrad) {
      return wgrad_interval(m_, n, root(n, "a"), root(n, "b"), at(n.first_result));
    }
    if (combines) {
      const bool has_both = kind == Kind::d_combine_weights;
      return combine_interval(m_, n, root(n, kind == Kind::d_combine ? "d_out" : "y"),
                              has_both ? root(n, "d_out") : RootOperand{}, at(n.first_result));
    }
    const int32_t result = n.first_result;
    const int32_t rows_of = n.op->is_root ? result : n.in;
    const int64_t rows = m_.extent(value(rows_of).shape[0]);
    const auto count = static_cast<size_t>(m_.extent(value(result).shape[0]) * width(result));
    at(result).resize(count);
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
  }

  // |f32 evaluation - exact| <= (K + 4) units of sum |a||b|: each of K products and K additions
  // errs by less than a unit of a partial sum when it truncates, as tensor cores do.
  void product(const ir::Node& n, const RowGroup& group, int64_t first, int64_t rows) {
    const int32_t a = g_.operand(n, "a");
    const int32_t b = g_.operand(n, "b");
    if (value(b).node != kNone) unsupported(n, "b is computed in the graph");
    if (value(a).node != kNone && value(a).scaled) unsupported(n, "a is quantised in the graph");
    const Interval* from = value(a).node == kNone ? nullptr : &at(a);
    const int64_t n_columns = width(n.first_result);
    const auto sums = product_sums(m_, n, group, first, rows, from, scratch_);
    const auto k = static_cast<double>(m_.extent(value(a).shape[1]));
    Interval& y = at(n.first_result);
    for (int64_t i = 0; i < rows * n_columns; ++i) {
      const auto to = static_cast<size_t>(first * n_columns + i);
      const auto s = static_cast<size_t>(i);
      const double sum = sums.value[s];
      const double error = (k + kProductRoundings) * kUnit * sums.magnitude[s] + sums.spread[s];
      widen(y, to, static_cast<float>(sum), sum, sum, k == 0 ? 0 : error);
    }
  }

  // Sets element i to [low - error, high + error], rounded outwards.
  static void widen(Interval& y, size_t i, float mid, double low, double high, double error) {
    y.mid[i] = mid;
    if (std::isnan(error)) error = std::numeric_limits<double>::infinity();
    if (!std::isfinite(low) || !std::isfinite(high)) {
      y.low[i] = static_cast<float>(low);
      y.high[i] = static_cast<float>(high);
      return;
    }
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    const auto l = static_cast<float>(low - error);
    const auto h = static_cast<float>(high + error);
    y.low[i] = static_cast<double>(l) <= low - error ? l : std::nextafter(l, -kInfinity);
    y.high[i] = static_cast<double>(h) >= high + error ? h : std::nextafter(h, kInfinity);
  }

  void load(const ir::Node& n, const RowGroup& group, int64_t first, int64_t rows) {
    const int32_t x = g_.operand(n, "x");
    Interval& y = at(n.first_result);
    const int64_t columns = width(n.first_result);
    if (value(x).node != kNone) {
      if (value(x).scaled) unsupported(n, "x is quantised in the graph");
      for (int64_t i = first * columns; i < (first + rows) * columns; ++i) {
        const auto e = static_cast<size_t>(i);
        widen(y, e, at(x).mid[e], static_cast<double>(at(x).low[e]),
              static_cast<double>(at(x).high[e]), 0);
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
        widen(y, static_cast<size_t>(r * columns + i), static_cast<float>(v), v, v, 0);
      }
    }
  }

  // Operands of an op that are themselves intervals: the piped value and computed fields.
  struct Corners {
    std::array<int32_t, 3> value{};
    std::array<int, 3> field{};  // -1: the piped value
    int count = 0;
  };

  Corners corners(const ir::Node& n) const {
    Corners c;
    c.value[0] = n.in;
    c.field[0] = -1;
    c.count = 1;
    for (size_t f = 0; f < n.op->fields.size(); ++f) {
      const ir::FieldValue& field = g_.fields[static_cast<size_t>(n.first_field) + f];
      if (field.kind != ir::FieldValue::Kind::value || value(field.value).node == kNone) continue;
      if (c.count == 3) unsupported(n, "more than three computed operands");
      c.value[static_cast<size_t>(c.count)] = field.value;
      c.field[static_cast<size_t>(c.count++)] = static_cast<int>(f);
    }
    return c;
  }

  // Pointwise ops are monotone in each operand: their extremes lie at the corners.
  void map(const ir::Node& n, const RowGroup& group, int64_t first, int64_t rows) {
    const Corners c = corners(n);
    const int64_t columns = width(n.first_result);
    const auto count = static_cast<size_t>(rows * columns);
    std::vector<float> out(count);
    std::vector<float> low(count, std::numeric_limits<float>::infinity());
    std::vector<float> high(count, -std::numeric_limits<float>::infinity());
    std::vector<bool> nan(count, false);
    for (unsigned pick = 0; pick < 1u << c.count; ++pick) {
      evaluate(n, c, group, first, rows, pick, false, out.data());
      for (size_t i = 0; i < count; ++i) {
        if (std::isnan(out[i])) nan[i] = true;
        low[i] = std::min(low[i], out[i]);
        high[i] = std::max(high[i], out[i]);
      }
    }
    evaluate(n, c, group, first, rows, 0, true, out.data());
    const bool rounds = std::string_view(n.op->name) == "cast";
    Interval& y = at(n.first_result);
    for (size_t i = 0; i < count; ++i) {
      const auto to = static_cast<size_t>(first * columns) + i;
      if (std::isnan(out[i])) {
        y.mid[to] = y.low[to] = y.high[to] = out[i];
        continue;
      }
      if (nan[i]) {  // a corner at infinity: nothing is known of the value
        y.mid[to] = out[i];
        y.low[to] = -std::numeric_limits<float>::infinity();
        y.high[to] = std::numeric_limits<float>::infinity();
        continue;
      }
      const double largest =
          std::max(std::fabs(static_cast<double>(low[i])), std::fabs(static_cast<double>(high[i])));
      // A cast rounds to its type exactly; its own error is that of its operands.
      const double error = rounds ? 0 : kOpRoundings * kUnit * largest + tiny(n);
      widen(y, to, out[i], static_cast<double>(low[i]), static_cast<double>(high[i]), error);
    }
  }

  static double tiny(const ir::Node& n) {
    return std::string_view(n.op->name) == "unary" ? 0 : static_cast<double>(kTiny);
  }

  const std::vector<float>& pick_of(int32_t v, unsigned bit, bool mid) {
    return mid ? at(v).mid : bit != 0 ? at(v).high : at(v).low;
  }

  void evaluate(const ir::Node& n, const Corners& c, const RowGroup& group, int64_t first,
                int64_t rows, unsigned pick, bool mid, float* out) {
    ir::Panel p;
    p.graph = &g_;
    p.node = &n;
    p.first_row = first;
    p.rows = rows;
    p.columns = width(n.in);
    p.group = group.group;
    p.row_in_group = first - group.begin;
    p.out[0] = {out, width(n.first_result)};
    for (size_t f = 0; f < n.op->fields.size(); ++f) {
      p.operand[f] = stored_operand(n, f, group, first, rows);
    }
    for (int i = 0; i < c.count; ++i) {
      const int32_t v = c.value[static_cast<size_t>(i)];
      // Maps never write their operands.
      auto* data = const_cast<float*>(pick_of(v, pick >> i & 1, mid).data());
      const int field = c.field[static_cast<size_t>(i)];
      if (value(v).role == Role::value) {
        data += first * width(v);
      } else if (value(v).shape.rank > 0) {
        data += group.group % m_.extent(value(v).shape[0]) * width(v);
      }
      (field < 0 ? p.in : p.operand[static_cast<size_t>(field)]) = {data, width(v)};
    }
    n.op->reference.map(p);
  }

  ir::PanelData stored_operand(const ir::Node& n, size_t f, const RowGroup& group, int64_t first,
                               int64_t rows) {
    const ir::FieldValue& field = g_.fields[static_cast<size_t>(n.first_field) + f];
    std::vector<float>& buffer = buffers_[f];
    if (field.kind == ir::FieldValue::Kind::number) {
      buffer.assign(1, static_cast<float>(field.number));
      return {buffer.data(), 0};
    }
    if (field.kind != ir::FieldValue::Kind::value || value(field.value).node != kNone) return {};
    const ir::Value& v = value(field.value);
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

  // The maximum of magnitudes, the only reduction there is.
  void reduce(const ir::Node& n, const RowGroup& group, int64_t first, int64_t rows) {
    if (std::string_view(n.op->name) != "amax") unsupported(n, "a sum over rows");
    const Interval& x = at(n.in);
    Interval& y = at(n.first_result);
    const int64_t columns = width(n.in);
    const int64_t halves = width(n.first_result);
    const int64_t row = m_.extent(value(n.first_result).shape[0]) > 1 ? group.group : 0;
    const auto larger = [](float& a, float b) { a = std::isnan(a) || a > b ? a : b; };
    for (int64_t i = first * columns; i < (first + rows) * columns; ++i) {
      const auto e = static_cast<size_t>(i);
      const int64_t half = halves > 1 && i % columns >= columns / 2 ? 1 : 0;
      const auto to = static_cast<size_t>(row * halves + half);
      const bool spans_zero = x.low[e] <= 0 && x.high[e] >= 0;
      const float l = std::fabs(x.low[e]);
      const float h = std::fabs(x.high[e]);
      larger(y.mid[to], std::fabs(x.mid[e]));
      larger(y.low[to], spans_zero ? 0 : std::min(l, h));
      larger(y.high[to], std::isnan(l) ? l : std::max(l, h));
    }
  }

  const Memory& m_;
  const ir::Graph& g_;
  std::vector<Interval> all_;
  std::array<std::vector<float>, ir::kMaxFields> buffers_;
  ProductScratch scratch_;
};

}  // namespace

void Interval::resize(size_t count) {
  mid.assign(count, 0);
  low.assign(count, 0);
  high.assign(count, 0);
}

std::vector<Interval> intervals(const Memory& memory) { return Evaluation(memory).run(); }

}  // namespace cohort::engine::reference
