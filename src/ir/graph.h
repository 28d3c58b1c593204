// The frozen graph: values, nodes, outputs. Data only; no policy.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <cohort/graph.h>
#include <cohort/types.h>

namespace cohort::ir {

struct OpRecord;

/// Largest extent of a dimension, 2^48.
inline constexpr int64_t kMaxExtent = int64_t{1} << 48;
/// Longest name, in bytes of UTF-8.
inline constexpr size_t kMaxName = 256;
/// Most fields of an op.
inline constexpr int kMaxFields = 24;
/// No value, no node.
inline constexpr int32_t kNone = -1;

/// An extent: a number, or the symbol of a named bound. Equal when symbol or number is.
struct Extent {
  int64_t bound = 0;
  int32_t symbol = kNone;
  friend bool operator==(const Extent& a, const Extent& b) {
    return a.symbol == b.symbol && (a.symbol != kNone || a.bound == b.bound);
  }
};

/// Extents of a tensor, outermost first.
struct Extents {
  int32_t rank = 0;
  std::array<Extent, kMaxRank> dims{};
  Extents() = default;
  Extents(std::initializer_list<Extent> list) {
    for (const Extent& e : list) dims[static_cast<size_t>(rank++)] = e;
  }
  const Extent& operator[](int i) const { return dims[static_cast<size_t>(i)]; }
  Extent& operator[](int i) { return dims[static_cast<size_t>(i)]; }
  friend bool operator==(const Extents& a, const Extents& b) {
    if (a.rank != b.rank) return false;
    for (int i = 0; i < a.rank; ++i) {
      if (!(a[i] == b[i])) return false;
    }
    return true;
  }
};

/// A named extent of the graph.
struct Symbol {
  std::string name;
  int64_t bound = 0;
  Where where{nullptr, 0};
  bool faulty = false;  ///< It has a finding: none is added about its use.
};

/// How elements and scales of a quantised tensor stand in memory.
struct ScaledType {
  Format format = Format::mxfp8_e4m3;
  ScaleLayout layout = ScaleLayout::tiled_128x4;
  Axes axis = Axes::row;
  ColStorage storage = ColStorage::as_rows;
};

/// One value: an input or a result of a node. Which members mean something follows from `role`.
struct Value {
  Role role = Role::value;
  DType dtype = DType::f32;          ///< Element type; of a computed value: rounded to.
  Extents shape;                     ///< Logical: (T, N), (E, N, K), (E), ...
  std::optional<ScaledType> scaled;  ///< Quantised tensors and weights.
  Major major = Major::k;            ///< Weights.
  GroupForm form = GroupForm::ends;  ///< Groups.
  int64_t row_alignment = 1;         ///< Groups.
  Strides strides;                   ///< Stored tensors; rank 0: packed.
  int64_t alignment = 16;            ///< Stored tensors, in bytes.
  int32_t groups = kNone;            ///< Computed values: the groups input of its rows.
  int64_t experts = 0;               ///< Computed values: experts of the product; 0: none.
  bool accumulator = false;          ///< A product, or one times alpha and row_scale.
  int32_t node = kNone;              ///< Producer; kNone for inputs.
  int32_t port = 0;                  ///< Which result of the producer.
  int32_t input = kNone;             ///< Position among the inputs.
  bool faulty = false;               ///< Its op has a finding: no op adds one because of it.
  bool rows_known = false;           ///< Faulty, but shape[0] and groups are what they would be.
  bool absent = false;               ///< A result that the attributes did not ask for.
  int32_t uses = 0;                  ///< Consumers: nodes and outputs.
};

/// True for a groups input of form whole: one group that has all rows, and no tensor.
[[nodiscard]] inline bool is_whole(const Value& v) {
  return v.role == Role::groups && v.form == GroupForm::whole;
}

/// The value of one field of a node.
struct FieldValue {
  enum class Kind : uint8_t { none, value, number, integer, real, flag, choice };
  Kind kind = Kind::none;
  int32_t value = kNone;  ///< Kind value: the value's number.
  union {
    double number;    ///< Kind number (a by-value scalar).
    float real;       ///< Kind real (a float attribute).
    int64_t integer;  ///< Kinds integer, flag, choice.
  };
  FieldValue() : integer(0) {}
};
[[nodiscard]] bool operator==(const FieldValue& a, const FieldValue& b);

/// Where something was stated: a line of C++, or (file null) nothing but its JSON path.
struct Node {
  const OpRecord* op = nullptr;
  int32_t in = kNone;            ///< The piped value of an epilogue.
  int32_t first_field = 0;       ///< Into Graph::fields, op->fields.size() of them.
  int32_t first_result = kNone;  ///< Into Graph::values, op->results.size() of them.
  uint32_t usual = 0;            ///< Bit i: field i says what it would without having been given.
  Where where{nullptr, 0};
};

struct Input {
  std::string name;
  int32_t value = kNone;
  Where where{nullptr, 0};
};

/// What of an output was given and could not be read: there is a finding about each.
struct BrokenParts {
  bool scatter = false;
  bool slot = false;
  bool rows = false;
};

struct Output {
  std::string name;
  int32_t value = kNone;
  DType dtype = DType::f32;
  Tail tail = Tail::leave;
  Strides strides;
  int64_t alignment = 16;
  bool discrete = false;    ///< E pointers to packed matrices.
  int32_t scatter = kNone;  ///< The index that says where rows go.
  int32_t slot = kNone;
  int64_t top_k = 1;
  std::optional<Extent> rows;  ///< Of a scattered output.
  bool has_dtype = false;      ///< The type was given.
  BrokenParts broken;
  Where where{nullptr, 0};
};

/// What of an output the caller says, beside its name and value.
struct OutputFields {
  Maybe<DType> dtype;
  Tail tail = Tail::leave;
  Strides strides;
  int64_t alignment = 16;
  bool discrete = false;
  int32_t scatter = kNone;
  int32_t slot = kNone;
  int64_t top_k = 1;
  std::optional<Extent> rows{};
  BrokenParts broken{};
};

/// One tensor that a run binds: an input or output, or a part of one.
struct TensorPart {
  enum class Kind : uint8_t { data, scale, begin, used };
  std::string name;
  bool is_output = false;
  int32_t index = 0;  ///< Into inputs or outputs.
  Kind kind = Kind::data;
  /// Kind scale: groups that divide the rows. Those of the value's producer, or of the first node
  /// with groups that consumes the input; 1 without any.
  int64_t groups = 1;
};

/// The graph. Mutable while a Recorder fills it, shared and constant afterwards.
class Graph {
 public:
  std::string name;
  std::vector<Symbol> symbols;
  std::vector<Value> values;
  std::vector<FieldValue> fields;
  std::vector<Node> nodes;
  std::vector<Input> inputs;
  std::vector<Output> outputs;
  std::vector<TensorPart> tensors;  ///< Filled by freeze().

  /// The field `name` of a node; the name must be one of its op's.
  [[nodiscard]] const FieldValue& field(const Node& node, std::string_view name) const;
  /// The number of a value operand, or kNone when the field is absent.
  [[nodiscard]] int32_t operand(const Node& node, std::string_view name) const;
  /// Fills what is derived: tensors.
  void freeze();

  /// Canonical JSON, made once. Throws bad_alloc.
  [[nodiscard]] const std::string& json() const;
  /// Canonical text without names, made once. Throws bad_alloc.
  [[nodiscard]] const std::string& canonical_text() const;
  /// 128-bit hash of canonical_text(), made once.
  [[nodiscard]] Key key() const;

  void retain() const { references_.fetch_add(1, std::memory_order_relaxed); }
  void release() const {
    if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

 private:
  mutable std::atomic<int64_t> references_{1};
  mutable std::once_flag json_once_;
  mutable std::once_flag text_once_;
  mutable std::once_flag key_once_;
  mutable std::atomic<bool> has_key_{false};
  mutable std::string json_;
  mutable std::string text_;
  mutable Key key_{0, 0};
};

/// Shared ownership of a frozen graph inside the library.
class GraphRef {
 public:
  explicit GraphRef(const Graph* graph) : graph_(graph) { graph_->retain(); }
  GraphRef(const GraphRef& other) : GraphRef(other.graph_) {}
  GraphRef& operator=(const GraphRef&) = delete;
  ~GraphRef() { graph_->release(); }
  const Graph& operator*() const { return *graph_; }
  const Graph* operator->() const { return graph_; }

 private:
  const Graph* graph_;
};

}  // namespace cohort::ir
