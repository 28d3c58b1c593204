// One op is one record: its fields (from the aggregate in include/cohort/ops), results, shape rule,
// reference and documentation. Everything else in the library reads the record.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "ir/graph.h"
#include "ir/reference.h"

namespace cohort::ir {

class Infer;

/// A set of roles, one bit each.
using RoleSet = uint32_t;
constexpr RoleSet role_bit(Role role) { return RoleSet{1} << static_cast<unsigned>(role); }

/// One field of an op, as `fields` lists it.
struct FieldRecord {
  const char* name = "";
  FieldValue::Kind kind = FieldValue::Kind::none;  ///< What it holds when it is present.
  RoleSet roles = 0;                               ///< Kind value or number: what may stand there.
  bool is_required = true;                         ///< False for Maybe fields.
  std::string_view (*word)(int) = nullptr;         ///< Kind choice: the words; empty ends the list.
  FieldValue initial{};                            ///< The default; meaningful unless must_give.
  bool must_give = true;                           ///< No default: handles, Required, first of all.
  double minimum = 0;                              ///< Kinds real, integer: range, when ranged.
  double maximum = 0;
  bool ranged = false;
  const char* doc = "";  ///< One line for the op's page and the schema.
};

/// One result of an op.
struct ResultRecord {
  const char* name = "";  ///< "" for the only one: "%3"; otherwise "%3.row".
  Role role = Role::value;
  /// The field of an input that it is added to, if it may stand where that stands: every engine
  /// reads an element of it before it writes that element. "": it may not.
  const char* added_to = "";
  std::vector<std::string_view> unread{};  ///< Fields that it does not depend on; others do.
};

/// Everything the library knows of an op.
struct OpRecord {
  const char* name = "";
  bool is_root = false;
  std::vector<FieldRecord> fields;
  std::vector<ResultRecord> results;
  void (*infer)(Infer&) = nullptr;  ///< Shape rule: checks operands, sets the results' types.
  Reference reference;              ///< How the reference engine evaluates it.
  const char* device_functor = "";  ///< Name in the device text; "" where there is none.
  const char* formula = "";         ///< One line, for pictures and docs.

  /// Position of a field, or -1.
  [[nodiscard]] int field_index(std::string_view field) const;
};

/// The record of an op, or null. Defined in ops/registry.cpp.
[[nodiscard]] const OpRecord* find_op(std::string_view name);
/// All records, in the order of op_list.def.
[[nodiscard]] std::span<const OpRecord* const> all_ops();

}  // namespace cohort::ir
