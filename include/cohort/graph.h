// The fluent graph API: role-typed handles, one `add` for roots, one `then` for epilogues.
#pragma once

#include <cstdint>
#include <new>
#include <string_view>
#include <type_traits>

#include <cohort/status.h>
#include <cohort/types.h>

namespace cohort {

namespace ir {
class Graph;
struct OpRecord;
}  // namespace ir

namespace detail {
class State;
class Recorder;
template <class>
inline constexpr bool kNever = false;
}  // namespace detail

/// The part that a value plays in a graph; each has a handle class of the same name.
enum class Role : uint8_t {
  tensor,           ///< A stored plain tensor (rows, features).
  scaled_tensor,    ///< Quantised elements and their scales.
  value,            ///< A computed f32 matrix (or one rounded by Cast), never stored by itself.
  row_vec,          ///< One number a row (T).
  col_vec,          ///< One number a feature (N).
  group_vec,        ///< One number a group or expert (E).
  group_mat,        ///< One row of features a group or expert (E, N).
  scalar,           ///< One number (1).
  groups,           ///< Which rows belong to which group.
  index,            ///< Row numbers, for gather and the like.
  weights,          ///< One dense (E, N, K) tensor, plain or quantised.
  weight_pointers,  ///< E pointers to (N, K) matrices, plain or quantised.
  weight_grad,      ///< A computed matrix an expert (E, I, J).
};
/// The word for a role in JSON and messages ("row_vec").
[[nodiscard]] COHORT_API std::string_view name(Role value) noexcept;

/// A value of a graph under construction. Keeps the builder's state alive; cheap to copy.
class COHORT_API Handle {
 public:
  Handle(const Handle& other) noexcept;             ///< Another handle of the same value.
  Handle& operator=(const Handle& other) noexcept;  ///< As above.
  ~Handle();

 protected:
  /// Made by the library only.
  Handle(detail::State* state, int32_t id) noexcept;

 private:
  friend struct detail::Access;
  detail::State* state_;
  int32_t id_;
};

/// Handles that may stand as an operand of a pointwise op: what broadcasts to a matrix.
class Broadcastable : public Handle {
 protected:
  using Handle::Handle;
};

/// A field that may be left out.
template <class T>
class Maybe {
 public:
  Maybe() noexcept : has_(false), none_(0) {}
  /// A field that is given.
  Maybe(T value) noexcept : has_(true), value_(value) {}  // NOLINT: a value stands for itself
  /// A handle of a role that may stand here.
  template <class U>
  requires(std::is_base_of_v<Handle, T> && !std::is_same_v<U, T> &&
           std::is_convertible_v<const U&, T>) Maybe(const U& value)
  noexcept : has_(true), value_(value) {}  // NOLINT: stands for itself
  /// Copies what is given.
  Maybe(const Maybe& other) noexcept : has_(other.has_), none_(0) {
    if (has_) new (&value_) T(other.value_);
  }
  /// Copies what is given.
  Maybe& operator=(const Maybe& other) noexcept {
    if (this == &other) return *this;
    this->~Maybe();
    return *new (this) Maybe(other);
  }
  ~Maybe() {
    if constexpr (!std::is_trivially_destructible_v<T>) {
      if (has_) value_.~T();
    }
  }
  explicit operator bool() const noexcept { return has_; }  ///< True when it was given.
  const T& operator*() const noexcept { return value_; }    ///< The value; only when it was given.

 private:
  bool has_;
  union {
    T value_;
    char none_;
  };
};

/// An attribute without a sensible default: leaving it out does not compile.
template <class T>
class Required {
 public:
  /// The given value.
  constexpr Required(T value) noexcept : value_(value) {}    // NOLINT: a value stands for itself
  constexpr T operator*() const noexcept { return value_; }  ///< The value.

 private:
  T value_;
};

/// One named member of an op; `fields` of an op lists them in declaration order.
template <class C, class M>
struct Field {
  const char* name;  ///< As in JSON and docs.
  M C::*member;      ///< Where it stands in the op.
};
/// Makes a Field.
template <class C, class M>
constexpr Field<C, M> field(const char* name, M C::*member) {
  return {name, member};
}

/// One named result of an op that has several; `results` of its result type lists them.
template <class H>
struct ResultField {
  const char* name;  ///< As in JSON ("%3.row") and docs.
};

/// An aggregate that names an op, its result type and its fields.
template <class T>
concept Op = requires {
  typename T::Out;
  T::name;
};
/// An op that begins a chain: give it to Builder::add.
template <class T>
concept RootOp = Op<T> && requires {
  requires T::is_root;
};
/// An op that continues a chain: give it to Value::then.
template <class T>
concept EpilogueOp = Op<T> && !RootOp<T>;

#define COHORT_HANDLE(Name, Base, kRoleName)                        \
  class Name : public Base {                                        \
   public:                                                          \
    static constexpr Role role = Role::kRoleName; /**< Its role. */ \
    Name() = delete;                                                \
                                                                    \
   private:                                                         \
    friend struct detail::Access;                                   \
    using Base::Base;                                               \
  }
/// A stored plain tensor.
COHORT_HANDLE(Tensor, Broadcastable, tensor);
/// One number a row.
COHORT_HANDLE(RowVec, Broadcastable, row_vec);
/// One number a feature.
COHORT_HANDLE(ColVec, Broadcastable, col_vec);
/// One number a group or expert.
COHORT_HANDLE(GroupVec, Broadcastable, group_vec);
/// One row of features a group or expert.
COHORT_HANDLE(GroupMat, Broadcastable, group_mat);
/// One number.
COHORT_HANDLE(Scalar, Broadcastable, scalar);
/// Which rows belong to which group.
COHORT_HANDLE(Groups, Handle, groups);
/// Row numbers.
COHORT_HANDLE(Index, Handle, index);
/// Dense weights.
COHORT_HANDLE(Weights, Handle, weights);
/// Discrete weights.
COHORT_HANDLE(WeightPointers, Handle, weight_pointers);
#undef COHORT_HANDLE

/// Quantised elements and their scales. Takes no epilogue.
class ScaledTensor : public Handle {
 public:
  static constexpr Role role = Role::scaled_tensor;  ///< Its role.
  ScaledTensor() = delete;
  /// Does not compile: a quantised tensor takes no epilogue.
  template <class O>
  ScaledTensor then(const O&) const {
    static_assert(detail::kNever<O>, "ScaledTensor takes no epilogue: Quantize ends a chain");
    return *this;
  }

 private:
  friend struct detail::Access;
  using Handle::Handle;
};

/// Gradients of weights, one matrix an expert. Takes no epilogue: alpha and accumulation are fields
/// of its op.
class WeightGrad : public Handle {
 public:
  static constexpr Role role = Role::weight_grad;  ///< Its role.
  WeightGrad() = delete;
  /// Does not compile: gradients of weights take no epilogue.
  template <class O>
  WeightGrad then(const O&) const {
    static_assert(detail::kNever<O>, "WeightGrad takes no epilogue: its op has alpha, accumulate");
    return *this;
  }

 private:
  friend struct detail::Access;
  using Handle::Handle;
};

/// A computed matrix. `then` goes on from it; it may have any number of consumers.
class Value : public Broadcastable {
 public:
  static constexpr Role role = Role::value;  ///< Its role.
  Value() = delete;
  /// Appends an epilogue op. Mistakes are found now and reported by Builder::finish.
  template <EpilogueOp O>
  [[nodiscard]] typename O::Out then(const O& op, Where where = Where::here()) const;
  /// Does not compile: `then` takes an epilogue op.
  template <class O>
  requires(!EpilogueOp<O>) Value then(const O&)
  const {
    static_assert(!RootOp<O>, "Value::then takes no root op: give it to Builder::add");
    static_assert(Op<O>, "Value::then takes an op: RowGate{.by = prob}");
    return *this;
  }

 private:
  friend struct detail::Access;
  using Broadcastable::Broadcastable;
};

/// What Quantize makes: `row` and `col`, of which `axes` asked for one or both.
struct Quantized {
  ScaledTensor row;  ///< Blocks along features.
  ScaledTensor col;  ///< Blocks along tokens, anew in each group.
  /// Does not compile: a quantised pair takes no epilogue.
  template <class O>
  Quantized then(const O&) const {
    static_assert(detail::kNever<O>, "Quantized takes no epilogue: Quantize ends a chain");
    return *this;
  }
  static constexpr int result_count = 2;  ///< Number of results.
  /// Names of the results, in order.
  template <class V>
  static constexpr auto results(V&& v) {
    return v(ResultField<ScaledTensor>{"row"}, ResultField<ScaledTensor>{"col"});
  }
};

/// A matrix operand of a product: stored, stored and quantised, or computed in this graph.
class Operand : public Handle {
 public:
  /// A stored tensor.
  Operand(const Tensor& h) : Handle(h) {}  // NOLINT: each role may stand here
  /// A quantised tensor.
  Operand(const ScaledTensor& h) : Handle(h) {}  // NOLINT
  /// A computed value.
  Operand(const Value& h) : Handle(h) {}  // NOLINT
};

/// A matrix in memory, plain or quantised; what Quantize makes is one too.
class StoredOperand : public Handle {
 public:
  /// A stored tensor.
  StoredOperand(const Tensor& h) : Handle(h) {}  // NOLINT: each role may stand here
  /// A quantised tensor.
  StoredOperand(const ScaledTensor& h) : Handle(h) {}  // NOLINT
};

/// Weights of a grouped product, dense or discrete.
class WeightOperand : public Handle {
 public:
  /// Dense weights.
  WeightOperand(const Weights& h) : Handle(h) {}  // NOLINT: each role may stand here
  /// Discrete weights.
  WeightOperand(const WeightPointers& h) : Handle(h) {}  // NOLINT
};

/// A scalar operand: by value, or a Scalar of the graph. NaN is allowed by value.
class ScalarArg {
 public:
  /// By value.
  ScalarArg(double value) noexcept : value_(value) {}  // NOLINT: a number stands here
  /// Of the graph.
  ScalarArg(const Scalar& handle) noexcept : handle_(handle) {}  // NOLINT

 private:
  friend struct detail::Access;
  Maybe<Scalar> handle_{};
  double value_ = 0;
};

/// An operand of an elementwise op: a number by value, or anything that broadcasts to (T, N): a
/// Scalar, RowVec (T), ColVec (N), GroupVec, GroupMat, a stored Tensor or a Value. NaN is allowed.
class Arg {
 public:
  /// By value.
  Arg(double value) noexcept : value_(value) {}  // NOLINT: a number stands here
  /// Of the graph.
  Arg(const Broadcastable& handle) noexcept : handle_(Handle(handle)) {}  // NOLINT

 private:
  friend struct detail::Access;
  Maybe<Handle> handle_{};
  double value_ = 0;
};

/// A (T, N) operand: stored, or computed in this graph.
class MatrixArg : public Handle {
 public:
  /// A stored tensor.
  MatrixArg(const Tensor& h) noexcept : Handle(h) {}  // NOLINT: each role may stand here
  /// A computed value.
  MatrixArg(const Value& h) noexcept : Handle(h) {}  // NOLINT
};

/// How a stored tensor lies in memory.
struct TensorOptions {
  Strides strides{};       ///< Element strides; empty: packed row-major.
  int64_t alignment = 16;  ///< Byte alignment of the first element that the caller promises.
};

/// How a quantised tensor and its scales lie in memory.
struct ScaledOptions {
  Maybe<DType> element{};                    ///< e5m2 in place of e4m3, for the fp8_* formats.
  Maybe<ScaleLayout> layout{};               ///< Default: linear for f32 scales, else tiled_128x4.
  Axes axis = Axes::row;                     ///< Blocks along features (row) or along tokens (col).
  ColStorage storage = ColStorage::as_rows;  ///< Where elements of `col` blocks stand.
  Strides strides{};                         ///< Element strides; empty: packed.
  int64_t alignment = 16;                    ///< Byte alignment of elements and of scales.
};

/// How weights lie in memory.
struct WeightOptions {
  Major major = Major::k;       ///< k: (E, N, K); n: (E, K, N), for 8- and 16-bit types.
  Maybe<DType> element{};       ///< As in ScaledOptions.
  Maybe<ScaleLayout> layout{};  ///< As in ScaledOptions.
  Strides strides{};            ///< Of the stored order; empty: packed.
  int64_t alignment = 16;       ///< Byte alignment of every matrix.
};

/// What is known of a groups input.
struct GroupOptions {
  DType dtype = DType::i32;  ///< i32 or i64.
  int64_t row_alignment =
      1;  ///< Every group has a multiple of this many rows, the caller promises.
};

/// How an output is stored.
struct OutputOptions {
  Maybe<DType> dtype{};     ///< Rounded to once, here; default: the type of the value.
  Tail tail = Tail::leave;  ///< Rows (and scale bytes) that belong to no group.
  Strides strides{};        ///< Element strides; empty: packed row-major.
  int64_t alignment = 16;   ///< Byte alignment that the caller promises.
  bool discrete = false;    ///< Gradients of weights: E pointers to packed matrices are bound.
  Maybe<Index> scatter{};   ///< (T): row r goes to row scatter[r] * top_k + slot[r]; -1: nowhere.
  Maybe<Index> slot{};      ///< (T): 0 .. top_k - 1; with scatter only. Default: 0.
  int64_t top_k = 1;        ///< Rows of a scattered output that share an entry of `scatter`.
  Maybe<Dim> rows{};        ///< Rows of a scattered output; those that nobody writes follow `tail`.
};

/// 128 bits that name a graph up to the names in it.
struct Key {
  uint64_t high;  ///< Upper half.
  uint64_t low;   ///< Lower half.
  /// Equal in all 128 bits.
  friend constexpr bool operator==(const Key& a, const Key& b) {
    return a.high == b.high && a.low == b.low;
  }
};

/// What a node's result is, for pictures and reports. Views live as long as the graph.
struct ResultInfo {
  std::string_view op;                ///< Op of the node.
  std::string_view port;              ///< "" for the only result, otherwise "row", "col", ...
  Role role;                          ///< Its role.
  DType dtype;                        ///< Element type.
  int32_t rank;                       ///< Number of extents.
  int64_t bound[kMaxRank];            ///< Extents, at the bound of named ones.
  std::string_view symbol[kMaxRank];  ///< Names of named extents; empty for numbers.
};

/// A checked, frozen graph. Copies share it; any thread may read it.
class COHORT_API Graph {
 public:
  Graph(const Graph& other) noexcept;             ///< Shares the graph.
  Graph& operator=(const Graph& other) noexcept;  ///< As above.
  ~Graph();

  /// Name given to the Builder.
  [[nodiscard]] std::string_view name() const noexcept;
  /// Number of ops.
  [[nodiscard]] int64_t node_count() const noexcept;
  /// Number of results of node `node`; 0 when there is no such node.
  [[nodiscard]] int32_t result_count(int64_t node) const noexcept;
  /// Result `port` of node `node`; both must exist.
  [[nodiscard]] ResultInfo result(int64_t node, int32_t port) const noexcept;
  /// Number of tensors that running the graph binds: inputs, then outputs, each with its parts.
  [[nodiscard]] int32_t tensor_count() const noexcept;
  /// Name of the i-th tensor ("x", "x.scale"); empty when `i` is out of range.
  [[nodiscard]] std::string_view tensor_name(int32_t i) const noexcept;
  /// Index of the tensor of that name, or -1.
  [[nodiscard]] int32_t tensor_index(std::string_view name) const noexcept;
  /// Name of the extent that dimension `d` of the i-th tensor has in memory; empty when that is a
  /// number or follows from a layout, as scales do, and when there is no such dimension.
  [[nodiscard]] std::string_view tensor_symbol(int32_t i, int32_t d) const noexcept;
  /// Key of the canonical text without names; computed once.
  [[nodiscard]] Key key() const noexcept;
  /// The canonical JSON; made once, then owned by the graph. Empty only when memory ran out.
  [[nodiscard]] std::string_view json() const noexcept;

 private:
  friend struct detail::Access;
  explicit Graph(const ir::Graph* graph) noexcept;
  const ir::Graph* graph_;
};

/// Describes a graph. One thread at a time. Mistakes are collected and reported by finish().
class COHORT_API Builder {
 public:
  /// Begins a graph. `name`: at most 256 bytes of UTF-8.
  explicit Builder(std::string_view name) noexcept;
  Builder(const Builder&) = delete;
  Builder& operator=(const Builder&) = delete;
  ~Builder();

  /// A named extent: one plan serves every value of 0 .. bound.
  [[nodiscard]] Dim dynamic(std::string_view name, int64_t bound,
                            Where where = Where::here()) noexcept;
  /// A plain tensor (rows, features), or of any rank up to 8.
  [[nodiscard]] Tensor input(std::string_view name, Shape shape, DType dtype,
                             const TensorOptions& options = {},
                             Where where = Where::here()) noexcept;
  /// A quantised (rows, features) tensor; its scales are bound as "NAME.scale".
  [[nodiscard]] ScaledTensor scaled_input(std::string_view name, Shape shape, Format format,
                                          const ScaledOptions& options = {},
                                          Where where = Where::here()) noexcept;
  /// Dense weights, always given as {E, N, K}; `options.major` says how they are stored.
  [[nodiscard]] Weights weights(std::string_view name, Shape shape, DType dtype,
                                const WeightOptions& options = {},
                                Where where = Where::here()) noexcept;
  /// Dense quantised weights {E, N, K}; scales are bound as "NAME.scale", one layout an expert.
  [[nodiscard]] Weights scaled_weights(std::string_view name, Shape shape, Format format,
                                       const WeightOptions& options = {},
                                       Where where = Where::here()) noexcept;
  /// Discrete weights: a device array of E 64-bit pointers to (N, K) matrices.
  [[nodiscard]] WeightPointers weight_pointers(std::string_view name, Shape shape, DType dtype,
                                               const WeightOptions& options = {},
                                               Where where = Where::here()) noexcept;
  /// Discrete quantised weights: two arrays of E pointers, elements and "NAME.scale".
  [[nodiscard]] WeightPointers weight_pointers(std::string_view name, Shape shape, Format format,
                                               const WeightOptions& options = {},
                                               Where where = Where::here()) noexcept;
  /// Which rows belong to which of `count` groups. Form `slots` binds "NAME.begin", "NAME.used".
  /// A named `count` is for Combine::koff only.
  [[nodiscard]] Groups groups(std::string_view name, Dim count, GroupForm form,
                              const GroupOptions& options = {},
                              Where where = Where::here()) noexcept;
  /// One number a row: f32, f16 or bf16.
  [[nodiscard]] RowVec row_input(std::string_view name, Dim rows, DType dtype = DType::f32,
                                 Where where = Where::here()) noexcept;
  /// One number a feature: f32, f16 or bf16.
  [[nodiscard]] ColVec col_input(std::string_view name, Dim features, DType dtype = DType::f32,
                                 Where where = Where::here()) noexcept;
  /// One number a group or expert: f32, f16 or bf16.
  [[nodiscard]] GroupVec group_input(std::string_view name, int64_t count, DType dtype = DType::f32,
                                     Where where = Where::here()) noexcept;
  /// One row of features a group or expert {E, N}: f32, f16 or bf16.
  [[nodiscard]] GroupMat group_matrix(std::string_view name, Shape shape, DType dtype = DType::f32,
                                      Where where = Where::here()) noexcept;
  /// One number in memory: f32, bf16, i32 or i64.
  [[nodiscard]] Scalar scalar(std::string_view name, DType dtype = DType::f32,
                              Where where = Where::here()) noexcept;
  /// Row numbers: i32 or i64.
  [[nodiscard]] Index index(std::string_view name, Dim count, DType dtype = DType::i32,
                            Where where = Where::here()) noexcept;
  /// Row numbers (tokens, experts a token), for Combine.
  [[nodiscard]] Index index(std::string_view name, Shape shape, DType dtype = DType::i32,
                            Where where = Where::here()) noexcept;

  /// Appends a root op. Mistakes are found now and reported by finish().
  template <RootOp O>
  [[nodiscard]] typename O::Out add(const O& op, Where where = Where::here()) noexcept;
  /// Does not compile: `add` takes a root op.
  template <class O>
  requires(!RootOp<O>) Value add(const O& op)
  noexcept;

  /// Makes a result an output of the graph.
  void output(std::string_view name, const Handle& value, const OutputOptions& options = {},
              Where where = Where::here()) noexcept;

  /// The frozen graph, or every finding: the first 100 and their number.
  [[nodiscard]] Result<Graph> finish(Where where = Where::here()) && noexcept;

 private:
  detail::State* state_;
};

namespace detail {

/// Takes an op apart, field by field in declaration order; not for users.
class COHORT_API Recorder {
 public:
  Recorder(State* state, const Handle* in, const char* op, Where where) noexcept;
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  void put(const Handle& handle) noexcept;
  void put(const ScalarArg& arg) noexcept;
  void put(const Arg& arg) noexcept;
  void put(bool flag) noexcept;
  void put(int64_t number) noexcept;
  void put(float number) noexcept;
  void put_choice(int word) noexcept;
  void put_none() noexcept;
  template <class E>
  requires std::is_enum_v<E>
  void put(E value) noexcept { put_choice(static_cast<int>(value)); }
  template <class T>
  void put(const Required<T>& value) noexcept {
    put(*value);
  }
  template <class T>
  void put(const Maybe<T>& value) noexcept {
    if (value) {
      put(*value);
    } else {
      put_none();
    }
  }
  void commit() noexcept;
  [[nodiscard]] State* state() const noexcept { return state_; }
  [[nodiscard]] int32_t result(int port) const noexcept;

 private:
  State* state_;
  int32_t first_result_ = -1;
  bool failed_ = false;
};

/// The only maker and opener of handles; not for users.
struct Access {
  template <class H>
  static H make(State* state, int32_t id) noexcept {
    return H(state, id);
  }
  static State* state(const Handle& h) noexcept { return h.state_; }
  static int32_t id(const Handle& h) noexcept { return h.id_; }
  static const Maybe<Scalar>& handle(const ScalarArg& a) noexcept { return a.handle_; }
  static double value(const ScalarArg& a) noexcept { return a.value_; }
  static const Maybe<Handle>& handle(const Arg& a) noexcept { return a.handle_; }
  static double value(const Arg& a) noexcept { return a.value_; }
  static Dim dim(int64_t bound, int32_t symbol, uint32_t owner, Where made) noexcept {
    return Dim(bound, symbol, owner, made);
  }
  static int32_t symbol(const Dim& d) noexcept { return d.symbol_; }
  static uint32_t owner(const Dim& d) noexcept { return d.owner_; }
  static Where made(const Dim& d) noexcept { return d.made_; }
  static Graph graph(const ir::Graph* g) noexcept { return Graph(g); }
  static const ir::Graph* graph(const Graph& g) noexcept { return g.graph_; }

  template <class H>
  static H next(const Recorder& r, ResultField<H>, int& port) noexcept {
    return make<H>(r.state(), r.result(port++));
  }
  template <class Out>
  static Out results(const Recorder& r) noexcept {
    if constexpr (requires { Out::result_count; }) {
      int port = 0;
      return Out::results([&](auto... f) { return Out{next(r, f, port)...}; });
    } else {
      return make<Out>(r.state(), r.result(0));
    }
  }
  template <class O>
  static typename O::Out record(State* state, const Handle* in, const O& op, Where where) noexcept {
    Recorder r(state, in, O::name, where);
    O::fields([&](auto... f) { (r.put(op.*(f.member)), ...); });
    r.commit();
    return results<typename O::Out>(r);
  }
};

}  // namespace detail

template <EpilogueOp O>
typename O::Out Value::then(const O& op, Where where) const {
  return detail::Access::record(detail::Access::state(*this), this, op, where);
}

template <class O>
requires(!RootOp<O>) Value Builder::add(const O&)
noexcept {
  static_assert(!Op<O>, "Builder::add takes no epilogue op: give it to Value::then");
  static_assert(Op<O>, "Builder::add takes an op: Load{.x = x}");
  return detail::Access::make<Value>(nullptr, -1);
}

template <RootOp O>
typename O::Out Builder::add(const O& op, Where where) noexcept {
  return detail::Access::record(state_, nullptr, op, where);
}

}  // namespace cohort
