#include "engine/reference/interval_panels.h"

#include <algorithm>
#include <cmath>

#include "base/diagnostics.h"
#include "ir/op_record.h"
#include "numerics/codec.h"

namespace cohort::engine::reference {

using ir::kNone;

namespace {

constexpr double kOpRoundings = 4;  // of one monotone op; none rounds more often

// Where the reference has NaN, NaN is wanted; where an end has none, nothing is known.
void settle(Interval& y, size_t first, size_t count) {
  for (size_t i = first; i < first + count; ++i) {
    if (std::isnan(y.mid[i])) {
      y.low[i] = y.high[i] = y.mid[i];
    } else if (std::isnan(y.low[i]) || std::isnan(y.high[i])) {
      y.low[i] = -kInfinity;
      y.high[i] = kInfinity;
    }
  }
}

}  // namespace

void no_bound(const ir::Node& n, const std::string& why) {
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

int64_t row_width(const Memory& memory, int32_t v) {
  const ir::Extents& shape = memory.graph().values[static_cast<size_t>(v)].shape;
  int64_t w = 1;
  for (int d = 1; d < shape.rank; ++d) w *= memory.extent(shape[d]);
  return w;
}

int32_t value_in_field(const ir::Graph& g, const ir::Node& n, size_t f) {
  const ir::FieldValue& field = g.fields[static_cast<size_t>(n.first_field) + f];
  return field.kind == ir::FieldValue::Kind::value ? field.value : kNone;
}

// One end of every operand of a panel; the results, by port, go to `out`.
ir::Panel PanelBounds::panel(const ir::Node& n, const RowGroup& group, int64_t first, int64_t rows,
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
    const int32_t v = value_in_field(g_, n, f);
    if (v != kNone && value(v).node != kNone) {
      p.operand[f] = computed(v, group, first, pick(end, which, bit++));
    } else {
      p.operand[f] = stored(n, f, group, first, rows);
    }
  }
  return p;
}

// Bit `operand` of `which` chooses between the ends, unless the middle is asked for.
PanelBounds::End PanelBounds::pick(End end, unsigned which, unsigned operand) {
  if (end == End::mid) return end;
  return (which >> operand & 1) != 0 ? End::high : End::low;
}

unsigned PanelBounds::computed_operands(const ir::Node& n) const {
  unsigned count = 1;  // the piped value
  for (size_t f = 0; f < n.op->fields.size(); ++f) {
    const int32_t v = value_in_field(g_, n, f);
    if (v != kNone && value(v).node != kNone) ++count;
  }
  return count;
}

// Rows of a computed matrix or row vector; of a computed group vector the group's part.
ir::PanelData PanelBounds::computed(int32_t v, const RowGroup& group, int64_t first, End end) {
  float* data = numbers(v, end).data();
  const bool by_row = value(v).role == Role::value || value(v).role == Role::row_vec;
  const int64_t row = by_row ? first : group.group % std::max<int64_t>(rows_of(v), 1);
  return {data + row * width(v), width(v)};
}

ir::PanelData PanelBounds::stored(const ir::Node& n, size_t f, const RowGroup& group, int64_t first,
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
void PanelBounds::results_to(ir::Panel& p, const ir::Node& n, int64_t first, End end) {
  for (size_t port = 0; port < n.op->results.size(); ++port) {
    const int32_t v = n.first_result + static_cast<int32_t>(port);
    if (value(v).absent || (value(v).uses == 0 && n.op->results.size() > 1)) continue;
    p.out[port] = {numbers(v, end).data() + first * width(v), width(v)};
  }
}

void PanelBounds::map(const ir::Node& n, const RowGroup& group, int64_t first, int64_t rows) {
  const ir::Reference& reference = n.op->reference;
  if (reference.bound == nullptr && !reference.monotone) no_bound(n, "the op has none yet");
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

// The extremes of a monotone op, widened by its own roundings. A cast rounds to its type exactly,
// relu and the like do not round: their error is that of their operands, and 4 units more.
void PanelBounds::corners(const ir::Node& n, const RowGroup& group, int64_t first, int64_t rows) {
  const unsigned count = computed_operands(n);
  if (count > 6) no_bound(n, "more than six computed operands");
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
void PanelBounds::reduce(const ir::Node& n, const RowGroup& group, int64_t first, int64_t rows) {
  if (n.op->reference.reduce_bound == nullptr) no_bound(n, "the op has none yet");
  const int32_t v = n.first_result;
  const int64_t row = rows_of(v) > 1 ? group.group : 0;
  const auto at_row = static_cast<size_t>(row * width(v));
  const ir::Panel middle = panel(n, group, first, rows, 0, End::mid);
  n.op->reference.reduce_bound({middle, middle}, middles_of(v) + at_row);
  const ir::Panel low = panel(n, group, first, rows, 0, End::low);
  const ir::Panel high = panel(n, group, first, rows, ~0u, End::high);
  n.op->reference.reduce_bound({low, high}, totals_.data() + at_row);
}

ir::RowBound* PanelBounds::middles_of(int32_t v) {
  const auto count = static_cast<size_t>(rows_of(v) * width(v));
  if (middles_of_ != v) {
    middles_.assign(count, {});
    middles_of_ = v;
  }
  return middles_.data();
}

void PanelBounds::finish_reduction(const ir::Node& n) {
  const int32_t v = n.first_result;
  const ir::RowBound* middles = middles_of(v);
  Interval& y = at(v);
  for (size_t i = 0; i < totals_.size(); ++i) {
    const ir::Bound b = totals_[i].finish();
    y.set(i, static_cast<float>(middles[i].value.low), b.low, b.high, 0);
  }
  settle(y, 0, totals_.size());
}

void PanelBounds::begin_reduction(const ir::Node& n) {
  totals_.assign(static_cast<size_t>(rows_of(n.first_result) * width(n.first_result)), {});
}

}  // namespace cohort::engine::reference
