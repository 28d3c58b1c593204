// Handles: what a value of a graph is (its role), and where each may stand.
#pragma once

#include <cstdint>
#include <new>
#include <string_view>
#include <type_traits>

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

/// The name of a field as a compiler prints it where the field is left out.
template <decltype(sizeof(0)) N>
struct FieldName {
  char text[N];  ///< "Cast::to", with a null at the end.
  /// A literal.
  constexpr FieldName(const char (&literal)[N]) {  // NOLINT: a literal stands for itself
    for (decltype(sizeof(0)) i = 0; i < N; ++i) text[i] = literal[i];
  }
};

/// An attribute without a sensible default: leaving it out does not compile, and the message says
/// `Name`.
template <class T, FieldName Name>
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

}  // namespace cohort
