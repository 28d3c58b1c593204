// How an op becomes a node of a graph: its fields are put down one by one. Not for users.
#pragma once

#include <cstdint>
#include <type_traits>

#include <cohort/graph.h>

namespace cohort {

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
  template <class T, FieldName Name>
  void put(const Required<T, Name>& value) noexcept {
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
  constexpr bool is_op = Op<O>;  // a concept in a static_assert adds six lines to its message
  static_assert(!is_op, "Builder::add takes no epilogue op: give it to Value::then");
  static_assert(is_op, "Builder::add takes an op: Load{.x = x}");
  return detail::Access::make<Value>(nullptr, -1);
}

template <RootOp O>
typename O::Out Builder::add(const O& op, Where where) noexcept {
  return detail::Access::record(state_, nullptr, op, where);
}

}  // namespace cohort
