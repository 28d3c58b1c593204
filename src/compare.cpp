// Results against the reference: intervals of every value, then each output held to its own.
#include <cohort/compare.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/diagnostics.h"
#include "engine/reference/interval.h"
#include "engine/reference/quantised_bound.h"
#include "engine/reference/schedule.h"
#include "engine/reference/sink.h"
#include "numerics/codec.h"
#include "plan/access.h"
#include "plan/bind.h"

namespace cohort::detail {

/// As compare(), where what Load reads may be off by `slack`, relative to itself. For tests of the
/// bounds.
[[nodiscard]] Result<Comparison> compare_within(const Graph& graph, Sizes sizes,
                                                NamedTensors inputs, NamedTensors got,
                                                double slack) noexcept;

}  // namespace cohort::detail

namespace cohort {

namespace detail {

struct ComparisonRep {
  std::vector<TensorComparison> tensors;
  std::vector<std::string> names;
  std::vector<int64_t> unbounded;  ///< Elements of each about whose size nothing is known.
  std::string text;
  std::atomic<int64_t> references{1};
};

struct ComparisonAccess {
  static Comparison make(ComparisonRep* rep) { return Comparison(rep); }
};

}  // namespace detail

namespace {

using namespace engine::reference;  // NOLINT: this file is that room's face
using ir::kNone;

class Checker {
 public:
  Checker(const Memory& memory, const std::vector<Interval>& values, detail::ComparisonRep& rep)
      : m_(memory), g_(memory.graph()), values_(values), rep_(rep) {}

  void output(size_t index) {
    const ir::Output& o = g_.outputs[index];
    const ir::Value& v = g_.values[static_cast<size_t>(o.value)];
    if (v.role == Role::weight_grad) {
      begin(o.name);
      return matrices(index, v);
    }
    const StoredRef ref = m_.output(index);
    const auto groups = m_.groups(v.groups, m_.extent(v.shape[0]));
    begin(o.name);
    if (v.scaled) {
      quantised(o, v, ref, groups);
    } else {
      plain(o, v, ref, groups);
    }
    if (o.tail == Tail::zero && (o.scatter != kNone || v.groups != kNone)) {
      zero_tail(o, v, ref, groups);
    }
  }

 private:
  TensorComparison& now() { return rep_.tensors.back(); }
  void begin(const std::string& name) {
    rep_.names.push_back(name);
    rep_.tensors.emplace_back();
    rep_.unbounded.push_back(0);
  }

  // Of the value before it is rounded: fp8 has no infinity that would show it afterwards.
  void count_unbounded(const Allowed& a) {
    const auto open = [&](double end) { return std::isinf(end) && end != a.wanted; };
    if (open(a.low) || open(a.high)) ++rep_.unbounded.back();
  }

  void element(const Allowed& a, double got, int64_t row, int64_t column) {
    TensorComparison& t = now();
    ++t.elements;
    const bool nan = std::isnan(a.low) || std::isnan(a.high);
    const bool good = nan ? std::isnan(got) : got >= a.low && got <= a.high;
    // The side of the wanted value that the other lies on; of one that is NaN the wider.
    const double above = a.high - a.wanted;
    const double below = a.wanted - a.low;
    const double bound = got > a.wanted ? above : got < a.wanted ? below : std::max(above, below);
    const double error = std::fabs(got - a.wanted);
    const double in_bounds = bound > 0 ? error / bound : std::numeric_limits<double>::infinity();
    if (good) {
      if (error > 0 && bound > 0) t.largest = std::max(t.largest, in_bounds);
      return;
    }
    t.largest =
        std::max(t.largest, in_bounds >= 1 ? in_bounds : std::numeric_limits<double>::infinity());
    if (t.wrong++ > 0) return;
    t.rank = 2;
    t.index[0] = row;
    t.index[1] = column;
    t.wanted = a.wanted;
    t.got = got;
    t.bound = bound;
  }

  static Allowed interval(const Interval& x, size_t e) {
    return {static_cast<double>(x.mid[e]), static_cast<double>(x.low[e]),
            static_cast<double>(x.high[e])};
  }

  void row_of(const StoredRef& ref, int64_t row, std::vector<float>& out) const {
    out.resize(static_cast<size_t>(ref.columns));
    ref.read_codes(row, 0, ref.columns, out.data());
  }

  // Rounding to a type is monotone: the ends of the interval, rounded, are what is allowed. `from`:
  // row of the interval; `at`: row of the memory; `shown`: row of the report.
  void plain_row(const ir::Output& o, const StoredRef& ref, int64_t from, int64_t at,
                 int64_t shown) {
    const Interval& x = values_[static_cast<size_t>(o.value)];
    const auto rounded = [&](float f) {
      return static_cast<double>(numerics::round_to(o.dtype, f));
    };
    row_of(ref, at, row_);
    for (int64_t i = 0; i < ref.columns; ++i) {
      const auto e = static_cast<size_t>(from * ref.columns + i);
      count_unbounded(interval(x, e));
      element({rounded(x.mid[e]), rounded(x.low[e]), rounded(x.high[e])},
              static_cast<double>(row_[static_cast<size_t>(i)]), shown, i);
    }
  }

  void plain(const ir::Output& o, const ir::Value& v, const StoredRef& ref,
             const std::vector<RowGroup>& groups) {
    if (v.role != Role::value && v.role != Role::row_vec) {  // a reduction: one row a group
      for (int64_t r = 0; r < ref.rows; ++r) plain_row(o, ref, r, r, r);
      return;
    }
    std::optional<std::vector<int64_t>> scattered;
    if (o.scatter != kNone) scattered = scattered_rows(m_, o, groups, m_.extent(v.shape[0]));
    for (const RowGroup& g : groups) {
      for (int64_t r = g.begin; r < g.begin + g.rows; ++r) {
        const int64_t to = scattered ? (*scattered)[static_cast<size_t>(r)] : r;
        if (to >= 0) plain_row(o, ref, r, to, to);
      }
    }
  }

  // Gradients of weights: one matrix after the other, whose rows are numbered on.
  void matrices(size_t index, const ir::Value& v) {
    for (int64_t m = 0; m < m_.extent(v.shape[0]); ++m) {
      const StoredRef ref = m_.output_matrix(index, m);
      for (int64_t r = 0; r < ref.rows; ++r) {
        plain_row(g_.outputs[index], ref, m * ref.rows + r, r, m * ref.rows + r);
      }
    }
  }

  // Rows that nobody owns.
  void zero_tail(const ir::Output& o, const ir::Value& v, const StoredRef& ref,
                 const std::vector<RowGroup>& groups) {
    std::vector<bool> owned(static_cast<size_t>(ref.rows));
    for (const RowGroup& g : groups) {
      if (o.scatter == kNone) std::fill_n(owned.begin() + g.begin, g.rows, true);
    }
    if (o.scatter != kNone) {
      owned = places_taken(scattered_rows(m_, o, groups, m_.extent(v.shape[0])), ref.rows);
    }
    for (int64_t r = 0; r < ref.rows; ++r) {
      if (!owned[static_cast<size_t>(r)]) row_of(ref, r, row_);
      for (int64_t i = 0; i < ref.columns && !owned[static_cast<size_t>(r)]; ++i) {
        element({0, 0, 0}, static_cast<double>(row_[static_cast<size_t>(i)]), r, i);
      }
    }
  }

  // ---- quantised outputs: the scale between those of the smallest and the largest maximum, each
  // code between those of the ends, by the scale that is there.

  void quantised(const ir::Output& o, const ir::Value& v, const StoredRef& ref,
                 const std::vector<RowGroup>& groups) {
    const ir::Node& n = g_.nodes[static_cast<size_t>(v.node)];
    const numerics::BlockSpec spec = block_spec(m_, n);
    const Interval& x = values_[static_cast<size_t>(n.in)];
    const auto blocks = scale_blocks(*v.scaled, ref.rows, ref.columns, groups);
    const bool whole = spec.format == Format::fp8_tensor;
    for (const ScaleBlock& b : blocks) {
      codes(spec, x, ref, ref.in_group(groups[static_cast<size_t>(b.group)]), b);
    }
    begin(o.name + ".scale");
    Allowed amax;
    for (const ScaleBlock& b : blocks) {
      if (!whole) amax = {};
      widen_amax(x, ref.columns, b, amax);
      if (!whole) scale(spec, amax, ref, b);
    }
    if (whole && !blocks.empty()) scale(spec, amax, ref, blocks.front());
  }

  static double stored_scale(const numerics::BlockSpec& spec, const StoredRef& ref,
                             const ScaleBlock& b) {
    if (info(spec.format).scale == DType::f32) {
      return decoded_scale(spec, 0, static_cast<const float*>(ref.scale)[b.scale]);
    }
    return decoded_scale(spec, static_cast<const uint8_t*>(ref.scale)[b.scale], 0);
  }

  void scale(const numerics::BlockSpec& spec, const Allowed& amax, const StoredRef& ref,
             const ScaleBlock& b) {
    count_unbounded(amax);
    element(allowed_scale(spec, amax), stored_scale(spec, ref, b), b.scale_row, b.scale_column);
  }

  void codes(const numerics::BlockSpec& spec, const Interval& x, const StoredRef& ref,
             const StoredRef& placed, const ScaleBlock& b) {
    const double s = stored_scale(spec, ref, b);
    float got = 0;
    for (int64_t r = b.row; r < b.row + b.rows; ++r) {
      for (int64_t c = b.column; c < b.column + b.columns; ++c) {
        const auto e = static_cast<size_t>(r * ref.columns + c);
        placed.read_codes(r, c, 1, &got);
        const Allowed a = interval(x, e);
        count_unbounded(a);
        element(allowed_code(spec, s, a), static_cast<double>(got), r, c);
      }
    }
  }

  const Memory& m_;
  const ir::Graph& g_;
  const std::vector<Interval>& values_;
  detail::ComparisonRep& rep_;
  std::vector<float> row_;
};

std::string line(const TensorComparison& t, int64_t unbounded) {
  char text[400];
  int n = std::snprintf(text, sizeof text, ": %lld of %lld wrong", static_cast<long long>(t.wrong),
                        static_cast<long long>(t.elements));
  const auto append = [&](const char* format, auto... values) {
    n += std::snprintf(text + n, sizeof text - static_cast<size_t>(n), format, values...);
  };
  // An error in bounds says nothing when there is no bound.
  if (std::isinf(t.largest)) {
    append("%s",
           ", largest error past any number of bounds: a bound is 0, or a value NaN or infinite");
  } else if (unbounded == 0 || unbounded < t.elements || t.wrong > 0) {
    append(", largest error %.3g bounds", t.largest);
  }
  if (unbounded > 0) append(", not bounded: %lld", static_cast<long long>(unbounded));
  if (t.wrong > 0) {
    append("; first at [%lld, %lld]: wanted %.9g, got %.9g, allowed error %.3g",
           static_cast<long long>(t.index[0]), static_cast<long long>(t.index[1]), t.wanted, t.got,
           t.bound);
  }
  return std::string(t.tensor) + std::string(text, static_cast<size_t>(n)) + "\n";
}

}  // namespace

Comparison::Comparison(const Comparison& other) noexcept : rep_(other.rep_) {
  rep_->references.fetch_add(1, std::memory_order_relaxed);
}
Comparison& Comparison::operator=(const Comparison& other) noexcept {
  Comparison copy(other);
  std::swap(rep_, copy.rep_);
  return *this;
}
Comparison::~Comparison() {
  if (rep_->references.fetch_sub(1, std::memory_order_acq_rel) == 1) delete rep_;
}
bool Comparison::good() const noexcept {
  for (const TensorComparison& t : rep_->tensors) {
    if (t.wrong > 0) return false;
  }
  return true;
}
int32_t Comparison::size() const noexcept { return static_cast<int32_t>(rep_->tensors.size()); }
const TensorComparison& Comparison::operator[](int32_t i) const noexcept {
  return rep_->tensors[static_cast<size_t>(i)];
}
std::string_view Comparison::text() const noexcept { return rep_->text; }

Result<Comparison> compare(const Graph& graph, Sizes sizes, NamedTensors inputs,
                           NamedTensors got) noexcept {
  return detail::compare_within(graph, sizes, inputs, got, 0);
}

Result<Comparison> detail::compare_within(const Graph& graph, Sizes sizes, NamedTensors inputs,
                                          NamedTensors got, double slack) noexcept {
  return base::guarded("comparing with the reference", [&]() -> Result<Comparison> {
    const ir::Graph& g = *detail::Access::graph(graph);
    std::vector<NamedTensor> tensors(inputs.begin(), inputs.end());
    tensors.insert(tensors.end(), got.begin(), got.end());
    const Plan plan = detail::PlanAccess::plan(plan::cached_plan(g, 0, {.engine = "reference"}));
    const std::unique_ptr<plan::ExecutionData> bound(
        plan::bind(detail::PlanAccess::data(plan), g, sizes, tensors));
    const Schedule schedule(g);
    const engine::Launch launch{g, bound->bound.views, bound->bound.sizes, nullptr, {}, {}};
    const Memory memory(g, schedule, launch);
    const std::vector<Interval> values = intervals(memory, slack);
    auto rep = std::make_unique<detail::ComparisonRep>();
    Checker checker(memory, values, *rep);
    for (size_t o = 0; o < g.outputs.size(); ++o) checker.output(o);
    for (size_t i = 0; i < rep->tensors.size(); ++i) {
      rep->tensors[i].tensor = rep->names[i];
      rep->text += line(rep->tensors[i], rep->unbounded[i]);
    }
    return detail::ComparisonAccess::make(rep.release());
  });
}

}  // namespace cohort
