#include "engine/reference/interval_roots.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "engine/reference/combine.h"
#include "ir/op_record.h"

namespace cohort::engine::reference {

using ir::kNone;
using Kind = ir::Reference::Kind;

namespace {

constexpr double kUnit = 0x1p-23;
constexpr double kTiny = 0x1p-126;
constexpr double kExtra = 4;  // scales, the last rounding, the reference's own

/// An operand of a root: its interval when it is computed in the graph, else null.
struct RootOperand {
  const Interval* interval = nullptr;
};

struct Ends {
  double low;
  double high;
};

// Sets element i to [low, high], rounded outwards.
void put(Interval& y, size_t i, float mid, Ends ends) {
  y.mid[i] = mid;
  if (std::isnan(mid)) {
    y.low[i] = y.high[i] = mid;
    return;
  }
  if (std::isnan(ends.low) || std::isnan(ends.high)) ends = {-kInfinity, kInfinity};
  const auto l = static_cast<float>(ends.low);
  const auto h = static_cast<float>(ends.high);
  y.low[i] = static_cast<double>(l) <= ends.low ? l : std::nextafter(l, -kInfinity);
  y.high[i] = static_cast<double>(h) >= ends.high ? h : std::nextafter(h, kInfinity);
}

Ends widened(double low, double high, double units) {
  const double by = units * kUnit * std::max(std::fabs(low), std::fabs(high)) + kTiny;
  return {low - by, high + by};
}

// One operand of a gradient: exact numbers of memory, or an interval of the graph.
class Side {
 public:
  Side(const Memory& m, const ir::Node& node, const char* field, const char* gather,
       RootOperand given, const std::vector<RowGroup>& groups)
      : m_(m), interval_(given.interval) {
    const ir::Value& v = m.graph().values[static_cast<size_t>(m.graph().operand(node, field))];
    columns_ = m.extent(v.shape[1]);
    rows_ = m.extent(v.shape[0]);
    index_ = m.graph().operand(node, gather);
    if (interval_ != nullptr) return;
    ref_ = m.matrix(m.graph().operand(node, field));
    if (ref_.scaled == nullptr || ref_.scaled->layout != ScaleLayout::per_group) return;
    bases_ = per_group_bases(groups, columns_, info(ref_.scaled->format).block);
    ref_.scale_base = &bases_;
  }
  Side(const Side&) = delete;
  Side& operator=(const Side&) = delete;

  [[nodiscard]] int64_t columns() const { return columns_; }
  [[nodiscard]] int64_t row(int64_t r) const { return m_.index_row(index_, r, rows_, true); }
  /// The numbers of a row, and how far each may be off.
  void read(int64_t row, const RowGroup& group, std::vector<double>& mid,
            std::vector<double>& off) const {
    mid.resize(static_cast<size_t>(columns_));
    off.assign(mid.size(), 0);
    if (interval_ == nullptr) return ref_.read(row, 0, columns_, &group, mid.data());
    for (size_t i = 0; i < mid.size(); ++i) {
      const size_t e = static_cast<size_t>(row * columns_) + i;
      mid[i] = static_cast<double>(interval_->mid[e]);
      off[i] = std::max(static_cast<double>(interval_->high[e]) - mid[i],
                        mid[i] - static_cast<double>(interval_->low[e]));
    }
  }

 private:
  const Memory& m_;
  const Interval* interval_;
  StoredRef ref_;
  std::vector<int64_t> bases_;
  int32_t index_ = kNone;
  int64_t rows_ = 0;
  int64_t columns_ = 0;
};

struct Sums {
  std::vector<double> value;
  std::vector<double> magnitude;
  std::vector<double> spread;
  int64_t rows = 0;
};

Sums sums_of(const Side& a, const Side& b, const RowGroup& group) {
  const auto count = static_cast<size_t>(a.columns() * b.columns());
  Sums s{std::vector<double>(count, 0), std::vector<double>(count, 0),
         std::vector<double>(count, 0)};
  std::vector<double> x, x_off, y, y_off;
  for (int64_t r = group.begin; r < group.begin + group.rows; ++r) {
    const int64_t ra = a.row(r);
    const int64_t rb = b.row(r);
    if (ra < 0 || rb < 0) continue;
    ++s.rows;
    a.read(ra, group, x, x_off);
    b.read(rb, group, y, y_off);
    size_t to = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      for (size_t j = 0; j < y.size(); ++j, ++to) {
        const double largest = std::fabs(y[j]) + y_off[j];
        s.value[to] += x[i] * y[j];
        s.magnitude[to] += (std::fabs(x[i]) + x_off[i]) * largest;
        s.spread[to] += x_off[i] * largest + std::fabs(x[i]) * y_off[j];
      }
    }
  }
  return s;
}

// The numbers of an interval's middle, or of how far it reaches beyond them.
std::vector<float> reach(const Interval& y) {
  std::vector<float> off(y.mid.size());
  for (size_t i = 0; i < off.size(); ++i)
    off[i] = std::max(y.high[i] - y.mid[i], y.mid[i] - y.low[i]);
  return off;
}

std::vector<float> evaluate(const Memory& m, const ir::Node& node, const CombineNumbers& numbers,
                            size_t count) {
  std::vector<float> out(count);
  const ir::Value& y = m.graph().values[static_cast<size_t>(node.first_result)];
  const CombineRows rows(m, node, numbers);
  for (const RowGroup& g : m.groups(y.groups, m.extent(y.shape[0]))) {
    rows.rows(g.begin, g.rows, out.data() + g.begin * m.extent(y.shape[1]));
  }
  return out;
}

// Rows of a group are the K of a product; factors and accumulation round once each.
void wgrad_interval(const Memory& m, const ir::Node& node, RootOperand a, RootOperand b,
                    Interval& out) {
  const ir::Graph& g = m.graph();
  const int32_t index = g.operand(node, "gather_a");
  const int32_t of = index != kNone ? index : g.operand(node, "a");
  const auto groups =
      m.groups(g.operand(node, "groups"), m.extent(g.values[static_cast<size_t>(of)].shape[0]));
  const Side left(m, node, "a", "gather_a", a, groups);
  const Side right(m, node, "b", "gather_b", b, groups);
  const int64_t matrix = left.columns() * right.columns();
  out.resize(groups.size() * static_cast<size_t>(matrix));
  const int32_t old = g.operand(node, "accumulate");
  std::vector<float> before(static_cast<size_t>(right.columns()));
  for (const RowGroup& group : groups) {
    const Sums s = sums_of(left, right, group);
    for (int64_t e = 0; e < matrix; ++e) {
      const auto i = static_cast<size_t>(e);
      auto mid = static_cast<float>(s.value[i]);
      const double error =
          (static_cast<double>(s.rows) + kExtra) * kUnit * s.magnitude[i] + s.spread[i];
      Ends ends{s.value[i] - error, s.value[i] + error};
      for (const char* field : {"alpha", "global_scale_a", "global_scale_b"}) {
        const int32_t by = g.operand(node, field);
        if (by == kNone || s.rows == 0) continue;
        const float f = m.number(by, group.group);
        mid *= f;
        const double p = ends.low * static_cast<double>(f);
        const double q = ends.high * static_cast<double>(f);
        ends = widened(std::min(p, q), std::max(p, q), 1);
      }
      if (old != kNone) {
        m.expert(old, group.group)
            .read_codes(e / right.columns(), e % right.columns(), 1, before.data());
        mid = s.rows == 0 ? before[0] : mid + before[0];
        ends = {ends.low + static_cast<double>(before[0]),
                ends.high + static_cast<double>(before[0])};
        if (s.rows > 0) ends = widened(ends.low, ends.high, 1);
      }
      put(out, static_cast<size_t>(group.group * matrix) + i, mid, ends);
    }
  }
}

// All three are linear in each operand: |weights| times what an operand may be off is what the
// result may be off, and `terms` products and additions err by a unit of the magnitudes each.
void combine_interval(const Memory& m, const ir::Node& node, RootOperand y, RootOperand d_out,
                      Interval& out) {
  const ir::Value& result = m.graph().values[static_cast<size_t>(node.first_result)];
  const auto count = static_cast<size_t>(m.extent(result.shape[0]) * m.extent(result.shape[1]));
  const auto middle = [](RootOperand o) {
    return o.interval != nullptr ? o.interval->mid.data() : nullptr;
  };
  const std::vector<float> mid = evaluate(m, node, {middle(y), middle(d_out), false}, count);
  const std::vector<float> size = evaluate(m, node, {middle(y), middle(d_out), true}, count);
  std::vector<double> error(count, 0);
  std::vector<float> magnitude = size;
  const auto spread = [&](RootOperand o, bool is_y) {
    if (o.interval == nullptr) return;
    const std::vector<float> off = reach(*o.interval);
    CombineNumbers n{is_y ? off.data() : middle(y), is_y ? middle(d_out) : off.data(), true};
    const std::vector<float> by = evaluate(m, node, n, count);
    for (size_t i = 0; i < count; ++i) {
      error[i] += static_cast<double>(by[i]);
      magnitude[i] += by[i];
    }
  };
  spread(y, true);
  spread(d_out, false);
  if (y.interval != nullptr && d_out.interval != nullptr) {  // both are off at once
    const std::vector<float> oy = reach(*y.interval);
    const std::vector<float> od = reach(*d_out.interval);
    const std::vector<float> by = evaluate(m, node, {oy.data(), od.data(), true}, count);
    for (size_t i = 0; i < count; ++i) error[i] += static_cast<double>(by[i]);
  }
  const auto terms =
      static_cast<double>(CombineRows(m, node, {middle(y), middle(d_out), false}).terms());
  out.resize(count);
  for (size_t i = 0; i < count; ++i) {
    const double e = error[i] * (1 + 0x1p-20) +
                     (2 * terms + kExtra) * kUnit * static_cast<double>(magnitude[i]) + kTiny;
    const auto v = static_cast<double>(mid[i]);
    put(out, i, mid[i], {v - e, v + e});
  }
}

}  // namespace

bool root_interval(const Memory& m, const ir::Node& n, std::vector<Interval>& values) {
  const auto of = [&](std::string_view field) -> RootOperand {
    const auto v = static_cast<size_t>(m.graph().operand(n, field));
    if (m.graph().values[v].node == kNone) return {};
    return {&values[v]};
  };
  Interval& y = values[static_cast<size_t>(n.first_result)];
  switch (n.op->reference.kind) {
    case Kind::wgrad:
      wgrad_interval(m, n, of("a"), of("b"), y);
      return true;
    case Kind::combine:
      combine_interval(m, n, of("y"), {}, y);
      return true;
    case Kind::d_combine:
      combine_interval(m, n, of("d_out"), {}, y);
      return true;
    case Kind::d_combine_weights:
      combine_interval(m, n, of("y"), of("d_out"), y);
      return true;
    default:
      return false;
  }
}

}  // namespace cohort::engine::reference
