// Results against the reference: intervals of every value, then each output held to its own.
#include <cohort/compare.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/checked.h"
#include "base/diagnostics.h"
#include "engine/reference/interval.h"
#include "engine/reference/schedule.h"
#include "engine/reference/sink.h"
#include "numerics/codec.h"
#include "numerics/layout.h"
#include "numerics/quantize.h"
#include "plan/access.h"
#include "plan/bind.h"

namespace cohort {

namespace detail {

struct ComparisonRep {
  std::vector<TensorComparison> tensors;
  std::vector<std::string> names;
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

// What may stand in one place of memory.
struct Allowed {
  double wanted = 0;
  double low = 0;
  double high = 0;
};

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
  }

  void element(const Allowed& a, double got, int64_t row, int64_t column) {
    TensorComparison& t = now();
    ++t.elements;
    const bool nan = std::isnan(a.low) || std::isnan(a.high);
    const bool good = nan ? std::isnan(got) : got >= a.low && got <= a.high;
    const double bound = std::max(a.high - a.wanted, a.wanted - a.low);
    const double error = std::fabs(got - a.wanted);
    if (error > 0 && bound > 0) t.largest = std::max(t.largest, error / bound);
    if (good) return;
    if (t.wrong++ > 0) return;
    t.rank = 2;
    t.index[0] = row;
    t.index[1] = column;
    t.wanted = a.wanted;
    t.got = got;
    t.bound = bound;
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
      element({rounded(x.mid[e]), rounded(x.low[e]), rounded(x.high[e])},
              static_cast<double>(row_[static_cast<size_t>(i)]), shown, i);
    }
  }

  void plain(const ir::Output& o, const ir::Value& v, const StoredRef& ref,
             const std::vector<RowGroup>& groups) {
    if (v.role != Role::value) {  // a reduction: one row a group
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

  struct Block {
    int64_t row;
    int64_t column;
    int64_t rows;
    int64_t columns;
    const RowGroup* group;
    int64_t scale;  ///< Byte, or f32 number.
    int64_t scale_row;
    int64_t scale_column;
  };

  void quantised(const ir::Output& o, const ir::Value& v, const StoredRef& ref,
                 const std::vector<RowGroup>& groups) {
    const ir::Node& n = g_.nodes[static_cast<size_t>(v.node)];
    const numerics::BlockSpec spec = block_spec(m_, n);
    const Interval& x = values_[static_cast<size_t>(n.in)];
    const std::vector<Block> blocks = blocks_of(v, ref, groups);
    const bool whole = spec.format == Format::fp8_tensor;
    Allowed amax;
    for (const Block& b : blocks) {
      if (!whole) amax = {};
      largest(x, ref.columns, b, amax);
      if (!whole) codes(o, spec, x, ref, b);
    }
    if (whole) {
      for (const Block& b : blocks) codes(o, spec, x, ref, b);
    }
    begin(o.name + ".scale");
    for (const Block& b : blocks) {
      if (!whole) amax = {};
      if (!whole) largest(x, ref.columns, b, amax);
      if (!whole || &b == &blocks.front()) scale(spec, amax, ref, b);
    }
  }

  static void widen(double& a, double b) {
    if (!std::isnan(a)) a = std::isnan(b) ? b : std::max(a, b);
  }

  static void largest(const Interval& x, int64_t width, const Block& b, Allowed& amax) {
    for (int64_t r = b.row; r < b.row + b.rows; ++r) {
      for (int64_t c = b.column; c < b.column + b.columns; ++c) {
        const auto e = static_cast<size_t>(r * width + c);
        const double l = std::fabs(static_cast<double>(x.low[e]));
        const double h = std::fabs(static_cast<double>(x.high[e]));
        const bool spans = x.low[e] <= 0 && x.high[e] >= 0;
        widen(amax.wanted, std::fabs(static_cast<double>(x.mid[e])));
        widen(amax.low, spans ? 0 : std::min(l, h));
        widen(amax.high, std::isnan(l) ? l : std::max(l, h));
      }
    }
  }

  std::vector<Block> blocks_of(const ir::Value& v, const StoredRef& ref,
                               const std::vector<RowGroup>& groups) const {
    const int64_t size = info(v.scaled->format).block;
    const bool f32_scales = info(v.scaled->format).scale == DType::f32;
    const int64_t width = size > 0 ? size : std::max<int64_t>(ref.columns, 1);
    const int64_t count = base::ceil_div(ref.columns, width);
    const bool columns = v.scaled->axis == Axes::col;
    const bool per_group = v.scaled->layout == ScaleLayout::per_group;
    std::vector<int64_t> bases;
    if (per_group) bases = per_group_bases(groups, ref.columns, size);
    std::vector<Block> all;
    for (const RowGroup& g : groups) {
      for (int64_t r = 0; columns && r < g.rows; r += size) {
        const int64_t block = per_group ? r / size : (g.begin + r) / size;
        const int64_t of = base::ceil_div(per_group ? g.rows : ref.rows, size);
        const int64_t base = per_group ? bases[static_cast<size_t>(g.group)] : 0;
        for (int64_t c = 0; c < ref.columns; ++c) {
          all.push_back({g.begin + r, c, std::min(size, g.rows - r), 1, &g,
                         base + numerics::tiled_offset(c, block, of), c, block});
        }
      }
      for (int64_t r = g.begin; !columns && r < g.begin + g.rows; ++r) {
        for (int64_t b = 0; b < count; ++b) {
          int64_t at =
              f32_scales ? r * count + b : row_scale_offset(v.scaled->layout, r, b, count, &g);
          if (v.scaled->format == Format::fp8_tensor) at = 0;
          all.push_back({r, b * width, 1, std::min(width, ref.columns - b * width), &g, at, r, b});
        }
      }
    }
    return all;
  }

  // A scale as its own quantiser makes it from one maximum.
  static double scale_of(const numerics::BlockSpec& spec, double amax) {
    const auto a = static_cast<float>(amax);
    uint8_t byte = 0;
    float number = 0;
    uint8_t code[2] = {};
    const numerics::Source x{&a, 1, 1, 1, 0, 1};
    if (spec.format == Format::fp8_tensor) {
      quantize_whole(spec, a, x, {code, 1, false, 0}, &number);
    } else {
      const bool f32_scales = info(spec.format).scale == DType::f32;
      quantize_rows(spec, x, {code, 1, false, 0}, {&byte, f32_scales ? &number : nullptr, 1});
    }
    return decoded_scale(spec, byte, number);
  }
  static double decoded_scale(const numerics::BlockSpec& spec, uint8_t byte, float number) {
    const DType type = info(spec.format).scale;
    if (type == DType::f32) return static_cast<double>(number);
    return static_cast<double>(type == DType::e8m0 ? numerics::decode_e8m0(byte)
                                                   : numerics::decode(numerics::kE4m3, byte));
  }
  double stored_scale(const numerics::BlockSpec& spec, const StoredRef& ref, const Block& b) const {
    const bool f32_scales = info(spec.format).scale == DType::f32;
    return decoded_scale(spec, f32_scales ? 0 : static_cast<const uint8_t*>(ref.scale)[b.scale],
                         f32_scales ? static_cast<const float*>(ref.scale)[b.scale] : 0);
  }

  void scale(const numerics::BlockSpec& spec, const Allowed& amax, const StoredRef& ref,
             const Block& b) {
    Allowed a{scale_of(spec, amax.wanted), scale_of(spec, amax.low), scale_of(spec, amax.high)};
    if (info(spec.format).scale == DType::f32) {  // three roundings of an f32 factor
      a.low *= 1 - 0x1p-21;
      a.high *= 1 + 0x1p-21;
    }
    element(a, stored_scale(spec, ref, b), b.scale_row, b.scale_column);
  }

  void codes(const ir::Output& o, const numerics::BlockSpec& spec, const Interval& x,
             const StoredRef& ref, const Block& b) {
    const double s = stored_scale(spec, ref, b);
    const StoredRef placed = ref.in_group(*b.group);
    const float factor = numerics::element_factor(spec, static_cast<float>(s));
    // An approximate reciprocal errs by a unit in its last place (PTX ISA, rcp.approx).
    const double slack = spec.reciprocal == Reciprocal::approx ? 0x1p-22 : 0;
    float got = 0;
    for (int64_t r = b.row; r < b.row + b.rows; ++r) {
      for (int64_t c = b.column; c < b.column + b.columns; ++c) {
        const auto e = static_cast<size_t>(r * ref.columns + c);
        placed.read_codes(r, c, 1, &got);
        const double ends[2] = {static_cast<double>(x.low[e] * factor),
                                static_cast<double>(x.high[e] * factor)};
        Allowed a{coded(o, spec, static_cast<double>(x.mid[e] * factor), 0),
                  coded(o, spec, ends[0] - std::fabs(ends[0]) * slack, -1),
                  coded(o, spec, ends[1] + std::fabs(ends[1]) * slack, 1)};
        // NaN has no code in e2m1: any is right.
        if (o.dtype == DType::e2m1 && (std::isnan(s) || std::isnan(ends[0]))) a = {0, -6, 6};
        element(a, static_cast<double>(got), r, c);
      }
    }
  }

  // The value of the code of y; stochastic rounding may go either way.
  static double coded(const ir::Output& o, const numerics::BlockSpec& spec, double y, int side) {
    const numerics::Spec& f = *numerics::find_spec(o.dtype);
    if (spec.rounding == Rounding::nearest_even || side == 0) {
      return static_cast<double>(numerics::decode(f, numerics::encode(f, y)));
    }
    const double up = static_cast<double>(
        numerics::decode(f, numerics::encode(f, side * y, numerics::Round::up)));
    return side * up;
  }

  const Memory& m_;
  const ir::Graph& g_;
  const std::vector<Interval>& values_;
  detail::ComparisonRep& rep_;
  std::vector<float> row_;
};

std::string line(const TensorComparison& t) {
  char text[400];
  int n =
      std::snprintf(text, sizeof text, ": %lld of %lld wrong, largest error %.3g bounds",
                    static_cast<long long>(t.wrong), static_cast<long long>(t.elements), t.largest);
  if (t.wrong > 0) {
    n += std::snprintf(text + n, sizeof text - static_cast<size_t>(n),
                       "; first at [%lld, %lld]: wanted %.9g, got %.9g, allowed error %.3g",
                       static_cast<long long>(t.index[0]), static_cast<long long>(t.index[1]),
                       t.wanted, t.got, t.bound);
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
  return base::guarded("comparing with the reference", [&]() -> Result<Comparison> {
    const ir::Graph& g = *detail::Access::graph(graph);
    std::vector<NamedTensor> tensors(inputs.begin(), inputs.end());
    tensors.insert(tensors.end(), got.begin(), got.end());
    const Plan plan = detail::PlanAccess::plan(plan::cached_plan(g, 0, {.engine = "reference"}));
    const std::unique_ptr<plan::ExecutionData> bound(
        plan::bind(detail::PlanAccess::data(plan), g, sizes, tensors));
    const Schedule schedule(g);
    const engine::Launch launch{bound->bound.views, bound->bound.sizes, nullptr, {}, {}};
    const Memory memory(g, schedule, launch);
    const std::vector<Interval> values = intervals(memory);
    auto rep = std::make_unique<detail::ComparisonRep>();
    Checker checker(memory, values, *rep);
    for (size_t o = 0; o < g.outputs.size(); ++o) checker.output(o);
    for (size_t i = 0; i < rep->tensors.size(); ++i) {
      rep->tensors[i].tensor = rep->names[i];
      rep->text += line(rep->tensors[i]);
    }
    return detail::ComparisonAccess::make(rep.release());
  });
}

}  // namespace cohort
