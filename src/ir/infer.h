// What a shape rule sees: the operands of one node, and a place for findings and results.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>

#include "ir/graph.h"
#include "ir/op_record.h"

namespace cohort::ir {

class Recording;

/// Handed to OpRecord::infer for every node, also one with findings already: what is wrong with one
/// field hides nothing of another. A rule runs if all that it reads is sound, so one mistake has
/// one finding; knows() tells.
class Infer {
 public:
  /// `unsound`: bit i for field i, bit kMaxFields for the piped value.
  Infer(Recording& recording, const Node& node, uint32_t unsound)
      : recording_(recording), node_(node), unsound_(unsound), failed_(unsound != 0) {}

  [[nodiscard]] const Graph& graph() const;
  /// Whether there is no finding about what stands in a field, absent or not. "in": the piped
  /// value.
  [[nodiscard]] bool knows(std::string_view field) const;
  [[nodiscard]] bool knows(std::initializer_list<std::string_view> fields) const;
  /// Whether something stands in a field, sound or not.
  [[nodiscard]] bool has(std::string_view field) const;
  /// The piped value of an epilogue; only when knows("in").
  [[nodiscard]] const Value& in() const;
  /// The piped value if its rows are known, shape[0] and groups, though it may have findings; or
  /// null.
  [[nodiscard]] const Value* rows() const;
  /// The operand in a field, or null when it is absent (or a by-value number) or not sound.
  [[nodiscard]] const Value* operand(std::string_view field) const;
  [[nodiscard]] const FieldValue& field(std::string_view field) const;
  /// A choice attribute; the field must be present and sound.
  template <class E>
  [[nodiscard]] E choice(std::string_view field_name) const {
    return static_cast<E>(field(field_name).integer);
  }
  /// A choice attribute, or `otherwise` when it is absent; the field must be sound.
  template <class E>
  [[nodiscard]] E choice_or(std::string_view field_name, E otherwise) const {
    const FieldValue& f = field(field_name);
    return f.kind == FieldValue::Kind::none ? otherwise : static_cast<E>(f.integer);
  }

  [[nodiscard]] const Node& node() const { return node_; }

  /// Adds a finding about this node. `dimension` -1: not about one.
  void fail(std::string_view code, std::string_view field, int dimension, std::string wanted,
            std::string got, std::string message, std::string hint = {});
  // A want_* says nothing about an operand that is absent or not sound.

  /// E-SHAPE unless the operand's extent in `dimension` is `wanted`. `what`: "K", "rows", ...
  void want_extent(std::string_view field, int dimension, const Extent& wanted,
                   std::string_view what, std::string_view wanted_of);
  /// The same, where `wanted` is an extent of a value.
  void want_extent(std::string_view field, int dimension, const Extent& wanted,
                   std::string_view what, const Value& wanted_of);
  /// E-RANK unless the operand has that rank. False unless it has, or is absent.
  bool want_rank(std::string_view field, int rank, std::string_view form);
  /// E-DTYPE unless the operand's type is in the list.
  void want_dtype(std::string_view field, std::initializer_list<DType> allowed);
  /// E-SHAPE unless extent 0 of the operand counts experts or groups of `rows`.
  void want_experts(std::string_view field, const Value& rows);
  /// The same, of the piped value.
  void want_experts(std::string_view field) {
    if (knows("in")) want_experts(field, in());
  }
  /// True when the node has a finding or an operand that is not sound: it has no results.
  [[nodiscard]] bool failed() const { return failed_; }

  /// Sets the type of result `port`. Role and producer are kept.
  void result(int port, const Value& type);
  /// What is known of result `port` whatever is wrong with the node: its rows.
  void known_rows(int port, const Extent& rows, int32_t groups);
  /// Replaces what stands in a field by another spelling of the same meaning: texts and keys have
  /// that one. Only without findings.
  void keep(std::string_view field, const FieldValue& value);
  /// The same: nothing, if that stands for `usual`.
  void keep_nothing_for(std::string_view field, float usual);
  /// The same of a choice.
  template <class E>
  requires std::is_enum_v<E>
  void keep_nothing_for(std::string_view field_name, E usual) {
    if (has(field_name) && choice<E>(field_name) == usual) keep(field_name, {});
  }
  /// What stands in a field is what it would be, had it not been given.
  void is_usual(std::string_view field);
  /// Marks result `port` as one that the attributes did not ask for.
  void absent(int port);
  /// An extent as text: "T" or "4096".
  [[nodiscard]] std::string text(const Extent& extent) const;
  /// A value as text: "'x' (bf16, [T, 4096])".
  [[nodiscard]] std::string describe(const Value& value) const;

 private:
  Recording& recording_;
  const Node& node_;
  uint32_t unsound_;
  bool failed_;
};

}  // namespace cohort::ir
