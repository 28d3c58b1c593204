#include "engine/conformance.h"

#include <algorithm>
#include <bit>
#include <cstdio>

#include "ir/graph.h"

namespace cohort::test::conformance {

std::vector<Entry>& entries() {
  static std::vector<Entry> all;
  return all;
}

std::vector<RefusedWords>& refused_words() {
  static std::vector<RefusedWords> all;
  return all;
}

std::string_view name(Situation s) {
  switch (s) {
    case Situation::usual:
      return "usual";
    case Situation::no_rows:
      return "no rows";
    case Situation::one_group:
      return "one group has all";
    case Situation::empty_groups:
      return "all groups empty";
    case Situation::nan:
      return "NaN in data";
  }
  return {};
}

namespace {

uint32_t seed_of(std::string_view op, std::string_view name) {
  uint32_t h = 2166136261U;  // FNV-1a
  for (const std::string_view part : {op, name}) {
    for (const char c : part) h = (h ^ static_cast<unsigned char>(c)) * 16777619U;
  }
  return h;
}

}  // namespace

Case::Case(std::string_view op, std::string_view label, Situation situation)
    : builder_(std::string(op) + "." + std::string(label)),
      situation_(situation),
      random_(seed_of(op, label)) {}

Dim Case::T() {
  if (t_.empty()) t_.push_back(builder_.dynamic("T", 4096));
  return t_[0];
}

Groups Case::groups(const GroupsSpec& spec) {
  if (groups_.empty()) {
    group_spec_ = spec;
    if (whole_) group_spec_.form = GroupForm::whole;
    if (group_spec_.form == GroupForm::whole) {
      group_spec_.count = 1;
      group_spec_.dtype = DType::i32;
    }
    groups_.push_back(
        builder_.groups("groups", group_spec_.count, group_spec_.form,
                        {.dtype = group_spec_.dtype, .row_alignment = group_spec_.multiple}));
  }
  return groups_[0];
}

std::shared_ptr<Stored> Case::store(std::string_view name, DType dtype,
                                    std::vector<int64_t> extents) {
  auto s = std::make_shared<Stored>();
  s->name = name;
  s->dtype = dtype;
  s->rows_are_tokens = extents[0] < 0;
  s->holds_nan = dtype != DType::i32 && dtype != DType::i64;
  s->extents = std::move(extents);
  inputs_.push_back(s);
  return s;
}

std::shared_ptr<Stored> Case::store_scaled(std::string_view name, std::vector<int64_t> extents,
                                           Format format, const ScaledSpec& spec, bool weights) {
  const DType element = spec.element ? *spec.element : info(format).element;
  auto s = store(name, element, std::move(extents));
  const bool f32_scales = info(format).scale == DType::f32;
  ScaleLayout layout = f32_scales ? ScaleLayout::linear : ScaleLayout::tiled_128x4;
  if (spec.axis == Axes::col) layout = ScaleLayout::per_group;
  if (spec.layout) layout = *spec.layout;
  // Two e2m1 of a column block share a byte.
  const bool packed = spec.axis == Axes::col && element == DType::e2m1;
  s->scaled = std::make_shared<ScaleLocation>(ScaleLocation{
      format, element, layout, spec.axis,
      packed && spec.storage == ColStorage::as_rows ? ColStorage::transposed : spec.storage,
      weights});
  return s;
}

Data<Tensor> Case::matrix(std::string_view name, int64_t features, DType dtype,
                          const TensorOptions& options) {
  return {builder_.input(name, {T(), features}, dtype, options),
          store(name, dtype, {-1, features})};
}
Data<Tensor> Case::fixed(std::string_view name, int64_t rows, int64_t features, DType dtype,
                         const TensorOptions& options) {
  return {builder_.input(name, {rows, features}, dtype, options),
          store(name, dtype, {rows, features})};
}
Data<RowVec> Case::row(std::string_view name, DType dtype) {
  return {builder_.row_input(name, T(), dtype), store(name, dtype, {-1})};
}
Data<ColVec> Case::column(std::string_view name, int64_t features, DType dtype) {
  return {builder_.col_input(name, features, dtype), store(name, dtype, {features})};
}
Data<GroupVec> Case::group_vec(std::string_view name, int64_t count, DType dtype) {
  return {builder_.group_input(name, count, dtype), store(name, dtype, {count})};
}
Data<GroupMat> Case::group_mat(std::string_view name, int64_t count, int64_t features,
                               DType dtype) {
  return {builder_.group_matrix(name, {count, features}, dtype),
          store(name, dtype, {count, features})};
}
Data<Scalar> Case::scalar(std::string_view name, double value, DType dtype) {
  Data<Scalar> d{builder_.scalar(name, dtype), store(name, dtype, {1})};
  d.stored->holds_nan = false;
  d.stored->make = [value](const Position&) { return value; };
  return d;
}
Data<Index> Case::index(std::string_view name, int64_t limit, DType dtype) {
  Data<Index> d{builder_.index(name, T(), dtype), store(name, dtype, {-1})};
  d.stored->make = [this, limit](const Position&) {
    return static_cast<double>(static_cast<int64_t>(random_()) % limit);
  };
  return d;
}
Data<Index> Case::entries(std::string_view name, int64_t per_token, int64_t lowest, int64_t limit,
                          DType dtype) {
  Data<Index> d{builder_.index(name, Shape{T(), per_token}, dtype),
                store(name, dtype, {-1, per_token})};
  d.stored->make = [this, lowest, limit](const Position&) {
    return static_cast<double>(lowest + static_cast<int64_t>(random_()) % (limit - lowest));
  };
  return d;
}
Data<Tensor> Case::numbers(std::string_view name, DType dtype) {
  return {builder_.input(name, {T()}, dtype), store(name, dtype, {-1})};
}
Data<Index> Case::fixed_index(std::string_view name, int64_t count, int64_t lowest, int64_t limit,
                              DType dtype) {
  Data<Index> d{builder_.index(name, count, dtype), store(name, dtype, {count})};
  d.stored->make = [this, lowest, limit](const Position&) {
    return static_cast<double>(lowest + static_cast<int64_t>(random_()) % (limit - lowest));
  };
  return d;
}
Data<Weights> Case::weights(std::string_view name, int64_t experts, int64_t n, int64_t k,
                            DType dtype, const WeightOptions& options) {
  Data<Weights> d{builder_.weights(name, {experts, n, k}, dtype, options),
                  store(name, dtype, {experts, n, k})};
  d.stored->n_major = options.major == Major::n;
  return d;
}
Data<WeightPointers> Case::weight_pointers(std::string_view name, int64_t experts, int64_t n,
                                           int64_t k, DType dtype, const WeightOptions& options) {
  Data<WeightPointers> d{builder_.weight_pointers(name, {experts, n, k}, dtype, options),
                         store(name, dtype, {experts, n, k})};
  d.stored->n_major = options.major == Major::n;
  d.stored->is_pointers = true;
  return d;
}
Data<ScaledTensor> Case::scaled(std::string_view name, int64_t features, Format format,
                                const ScaledSpec& spec, int64_t rows) {
  const auto s = store_scaled(name, {rows, features}, format, spec, false);
  const ScaledOptions options{.element = spec.element,
                              .layout = spec.layout,
                              .axis = spec.axis,
                              .storage = s->scaled->storage};
  const Dim first = rows < 0 ? T() : Dim(rows);
  return {builder_.scaled_input(name, {first, features}, format, options), s};
}
Data<Weights> Case::scaled_weights(std::string_view name, int64_t experts, int64_t n, int64_t k,
                                   Format format, const WeightOptions& options) {
  Data<Weights> d{builder_.scaled_weights(name, {experts, n, k}, format, options),
                  store_scaled(name, {experts, n, k}, format,
                               {.element = options.element, .layout = options.layout}, true)};
  d.stored->n_major = options.major == Major::n;
  return d;
}
Data<WeightPointers> Case::scaled_weight_pointers(std::string_view name, int64_t experts, int64_t n,
                                                  int64_t k, Format format,
                                                  const WeightOptions& options) {
  Data<WeightPointers> d{
      builder_.weight_pointers(name, {experts, n, k}, format, options),
      store_scaled(name, {experts, n, k}, format,
                   {.element = options.element, .layout = options.layout}, true)};
  d.stored->n_major = options.major == Major::n;
  d.stored->is_pointers = true;
  return d;
}

void Case::quantised(std::string_view name, const Handle& value, const OutputOptions& options,
                     std::function<Bytes(const TensorInfo&)> codes,
                     std::function<Bytes(const TensorInfo&)> scales) {
  builder_.output(name, value, options);
  expected_.push_back({std::string(name), {}, std::move(codes)});
  expected_.push_back({std::string(name) + ".scale", {}, std::move(scales)});
}

// ---- checks

namespace {

double number_at(DType type, const std::byte* data, int64_t at) {
  if (type == DType::f32) {
    float f = 0;
    std::memcpy(&f, data + at * 4, 4);
    return static_cast<double>(f);
  }
  if (type == DType::i32) {
    int32_t i = 0;
    std::memcpy(&i, data + at * 4, 4);
    return i;
  }
  if (type == DType::i64) {
    int64_t i = 0;
    std::memcpy(&i, data + at * 8, 8);
    return static_cast<double>(i);
  }
  uint16_t code = 0;
  std::memcpy(&code, data + at * bits(type) / 8, static_cast<size_t>(bits(type) / 8));
  for (const SlowFormat& f : slow_formats()) {
    if (f.type != type) continue;
    const uint32_t sign = 1u << (f.exponent + f.mantissa);
    const auto magnitude = static_cast<int>(code & (sign - 1));
    double v = slow_value(f, static_cast<uint32_t>(magnitude));
    if (magnitude == f.inf) v = std::numeric_limits<double>::infinity();
    const bool is_nan = f.nan >= 0 && static_cast<uint32_t>(magnitude) > f.max_code;
    if (is_nan && magnitude != f.inf) v = std::numeric_limits<double>::quiet_NaN();
    return (code & sign) != 0 ? -v : v;
  }
  return 0;
}

bool right(DType type, const Near& want, double got) {
  if (std::isnan(want.v)) return std::isnan(got);
  return got >= round_to(type, want.v - want.e) && got <= round_to(type, want.v + want.e);
}

// What stands in an output: checks each element, and remembers whose bytes they are.
class OutputCheck {
 public:
  OutputCheck(const std::string& name, const TensorInfo& info, const std::byte* data)
      : name_(name), info_(info), data_(data), seen_(static_cast<size_t>(info.bytes), false) {}

  void element(const Position& p, const Near& want) {
    int64_t at = 0;
    for (int d = 0; d < info_.rank; ++d) at += p[static_cast<size_t>(d)] * info_.strides[d];
    const int64_t size = bits(info_.dtype) / 8;
    if (want.untouched) return;  // looked at by gaps()
    for (int64_t b = 0; b < size; ++b) seen_[static_cast<size_t>(at * size + b)] = true;
    const double got = number_at(info_.dtype, data_, at);
    if (right(info_.dtype, want, got) || !failure_.empty()) return;
    char text[300];
    std::snprintf(text, sizeof text, "[%lld, %lld, %lld]: wanted %.9g within %.3g, got %.9g",
                  static_cast<long long>(p[0]), static_cast<long long>(p[1]),
                  static_cast<long long>(p[2]), want.v, want.e, got);
    failure_ = name_ + text;
  }
  void bytes(const Bytes& want) {
    if (static_cast<int64_t>(want.size()) != info_.bytes) {
      failure_ = name_ + ": the case expects " + std::to_string(want.size()) +
                 " bytes, there are " + std::to_string(info_.bytes);
      return;
    }
    for (size_t i = 0; i < want.size(); ++i) {
      if (want[i] == kUntouched) continue;
      seen_[i] = true;
      const int got = static_cast<int>(data_[i]);
      if (want[i] == kAny || want[i] == got || !failure_.empty()) continue;
      failure_ = name_ + " byte " + std::to_string(i) + ": wanted " + std::to_string(want[i]) +
                 ", got " + std::to_string(got);
    }
  }
  // Bytes that no expectation named are as they were.
  std::string finish() {
    for (size_t i = 0; i < seen_.size() && failure_.empty(); ++i) {
      if (seen_[i] || data_[i] == std::byte{kPoison}) continue;
      failure_ = name_ + " byte " + std::to_string(i) + " was written, and should not have been";
    }
    return failure_;
  }

 private:
  const std::string& name_;
  const TensorInfo& info_;
  const std::byte* data_;
  std::vector<bool> seen_;
  std::string failure_;
};

bool next(Position& p, const TensorInfo& info) {
  for (int d = info.rank - 1; d >= 0; --d) {
    if (++p[static_cast<size_t>(d)] < info.shape[d]) return true;
    p[static_cast<size_t>(d)] = 0;
  }
  return false;
}

const ir::Output& output_of(const ir::Graph& g, const std::string& name) {
  return *std::find_if(g.outputs.begin(), g.outputs.end(),
                       [&](const ir::Output& o) { return o.name == name; });
}

// Discrete gradients: a packed matrix behind each pointer, and nothing else written there.
std::string check_pointed(const Case::Expected& e, const ir::Graph& g, const int64_t* pointers,
                          const std::vector<std::vector<uint8_t>>& memory) {
  const ir::Output& o = output_of(g, e.name);
  const ir::Value& v = g.values[static_cast<size_t>(o.value)];
  TensorInfo info{};
  info.dtype = o.dtype;
  info.rank = 2;
  info.shape[0] = v.shape[1].bound;
  info.shape[1] = info.strides[0] = v.shape[2].bound;
  info.strides[1] = 1;
  for (int64_t expert = 0; expert < v.shape[0].bound; ++expert) {
    const auto at = std::find_if(memory.begin(), memory.end(), [&](const auto& m) {
      return std::bit_cast<int64_t>(m.data()) == pointers[expert];
    });
    if (at == memory.end()) return e.name + ": a pointer was changed";
    info.bytes = static_cast<int64_t>(at->size());
    OutputCheck check(e.name, info, reinterpret_cast<const std::byte*>(at->data()));
    Position p{};
    do {
      check.element(p, e.element({expert, p[0], p[1], 0}));
    } while (next(p, info));
    if (std::string failure = check.finish(); !failure.empty()) return failure;
  }
  return {};
}

}  // namespace

std::string Case::check(Tensors& tensors, const Graph& graph) const {
  const ir::Graph& g = *detail::Access::graph(graph);
  for (const Expected& e : expected_) {
    const TensorInfo& info = tensors.infos()[static_cast<size_t>(tensors.index(e.name))];
    if (info.dtype == DType::i64) {
      const std::string failure = check_pointed(e, g, tensors.data<int64_t>(e.name), pointed_);
      if (!failure.empty()) return failure;
      continue;
    }
    OutputCheck check(e.name, info, tensors.data<std::byte>(e.name));
    if (e.bytes) {
      check.bytes(e.bytes(info));
    } else {
      const ir::Output& o = output_of(g, e.name);
      const ir::Value& v = g.values[static_cast<size_t>(o.value)];
      // A scattered output has other rows: the case says which of them nobody writes.
      const bool is_scattered = o.scatter != ir::kNone;
      const bool by_row = !is_scattered && v.groups != ir::kNone && v.shape[0].symbol != ir::kNone;
      const bool zero = o.tail == Tail::zero;
      bool empty = false;
      for (int d = 0; d < info.rank; ++d) empty = empty || info.shape[d] == 0;
      Position p{};
      for (bool more = !empty; more; more = next(p, info)) {
        const bool outside = by_row && tokens_->group(p[0]) < 0;
        check.element(p, !outside ? e.element(p) : zero ? Near(0.0) : untouched());
      }
    }
    if (std::string failure = check.finish(); !failure.empty()) return failure;
  }
  return {};
}

}  // namespace cohort::test::conformance
