// Makes an op record out of an aggregate of include/cohort/ops: `fields` lists names and members,
// the given instance holds the defaults.
#pragma once

#include <string_view>
#include <type_traits>

#include <cohort/ops.h>

#include "ir/op_record.h"

namespace cohort::ir {

/// A handle to stand in a required field of the instance given to describe().
template <class H>
H any() {
  return detail::Access::make<H>(nullptr, kNone);
}

/// What broadcasts to a matrix.
inline constexpr RoleSet kBroadcastRoles = role_bit(Role::tensor) | role_bit(Role::value) |
                                           role_bit(Role::row_vec) | role_bit(Role::col_vec) |
                                           role_bit(Role::group_vec) | role_bit(Role::group_mat) |
                                           role_bit(Role::scalar);

template <class M>
struct MemberTraits;

template <class H>
requires requires { H::role; }
struct MemberTraits<H> {
  static void fill(FieldRecord& f, const H&) {
    f.kind = FieldValue::Kind::value;
    f.roles = role_bit(H::role);
  }
};
template <>
struct MemberTraits<Operand> {
  static void fill(FieldRecord& f, const Operand&) {
    f.kind = FieldValue::Kind::value;
    f.roles = role_bit(Role::tensor) | role_bit(Role::scaled_tensor) | role_bit(Role::value);
  }
};
template <>
struct MemberTraits<StoredOperand> {
  static void fill(FieldRecord& f, const StoredOperand&) {
    f.kind = FieldValue::Kind::value;
    f.roles = role_bit(Role::tensor) | role_bit(Role::scaled_tensor);
  }
};
template <>
struct MemberTraits<WeightOperand> {
  static void fill(FieldRecord& f, const WeightOperand&) {
    f.kind = FieldValue::Kind::value;
    f.roles = role_bit(Role::weights) | role_bit(Role::weight_pointers);
  }
};
template <>
struct MemberTraits<RowTerm> {
  static void fill(FieldRecord& f, const RowTerm&) {
    f.kind = FieldValue::Kind::value;
    f.roles = role_bit(Role::row_vec) | role_bit(Role::value);
  }
};
template <>
struct MemberTraits<ScalarArg> {
  static void fill(FieldRecord& f, const ScalarArg& a) {
    f.kind = FieldValue::Kind::number;
    f.roles = role_bit(Role::scalar);
    f.must_give = false;
    f.initial.kind = FieldValue::Kind::number;
    f.initial.number = detail::Access::value(a);
  }
};
template <>
struct MemberTraits<Arg> {
  static void fill(FieldRecord& f, const Arg&) {
    f.kind = FieldValue::Kind::number;
    f.roles = kBroadcastRoles;
  }
};
template <>
struct MemberTraits<MatrixArg> {
  static void fill(FieldRecord& f, const MatrixArg&) {
    f.kind = FieldValue::Kind::value;
    f.roles = role_bit(Role::tensor) | role_bit(Role::value);
  }
};
template <>
struct MemberTraits<bool> {
  static void fill(FieldRecord& f, bool v) {
    f.kind = f.initial.kind = FieldValue::Kind::flag;
    f.initial.integer = v ? 1 : 0;
    f.must_give = false;
  }
};
template <class I>
requires(std::is_integral_v<I> && !std::is_same_v<I, bool>) struct MemberTraits<I> {
  static void fill(FieldRecord& f, I v) {
    f.kind = f.initial.kind = FieldValue::Kind::integer;
    f.initial.integer = v;
    f.must_give = false;
  }
};
template <>
struct MemberTraits<float> {
  static void fill(FieldRecord& f, float v) {
    f.kind = f.initial.kind = FieldValue::Kind::real;
    f.initial.real = v;
    f.must_give = false;
  }
};
template <class E>
requires std::is_enum_v<E>
struct MemberTraits<E> {
  static void fill(FieldRecord& f, E v) {
    f.kind = f.initial.kind = FieldValue::Kind::choice;
    f.initial.integer = static_cast<int>(v);
    f.word = [](int i) { return i < 0 || i > 255 ? std::string_view{} : name(static_cast<E>(i)); };
    f.must_give = false;
  }
};
template <class T, FieldName Name>
struct MemberTraits<Required<T, Name>> {
  static void fill(FieldRecord& f, const Required<T, Name>& v) {
    MemberTraits<T>::fill(f, *v);
    f.must_give = true;
  }
};

/// As any(), for a field that takes several roles too.
template <class T>
T any_field() {
  if constexpr (requires { T::role; }) {
    return any<T>();
  } else {
    if constexpr (std::is_constructible_v<T, cohort::Value>) {
      return T(any<cohort::Value>());
    } else {
      return T(any<Weights>());
    }
  }
}

template <class T>
struct MemberTraits<Maybe<T>> {
  static void fill(FieldRecord& f, const Maybe<T>&) {
    if constexpr (std::is_base_of_v<Handle, T>) {
      MemberTraits<T>::fill(f, any_field<T>());
    } else {
      MemberTraits<T>::fill(f, T{});
    }
    f.is_required = false;
    f.must_give = false;
    f.initial = FieldValue{};
  }
};

/// The record of op O: names, kinds and defaults from `defaults`, the rest left to the caller.
template <class O>
OpRecord describe(const O& defaults) {
  OpRecord record;
  record.name = O::name;
  record.is_root = RootOp<O>;
  O::fields([&]<class... M>(Field<O, M>... f) {
    const auto one = [&]<class T>(Field<O, T> g) {
      FieldRecord r;
      r.name = g.name;
      MemberTraits<T>::fill(r, defaults.*(g.member));
      record.fields.push_back(r);
    };
    (one(f), ...);
  });
  using Out = typename O::Out;
  if constexpr (requires { Out::result_count; }) {
    Out::results([&]<class... H>(ResultField<H>... f) {
      (record.results.push_back({.name = f.name, .role = H::role}), ...);
    });
  } else {
    record.results.push_back({.name = "", .role = Out::role});
  }
  return record;
}

}  // namespace cohort::ir
