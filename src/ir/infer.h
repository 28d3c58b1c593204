// What a shape rule sees: the operands of one node, and a place for findings and results.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "ir/graph.h"
#include "ir/op_record.h"

namespace cohort::ir {

class Recording;

/// Handed to OpRecord::infer once all handles are known to be alive and of an allowed role.
class Infer {
 public:
  Infer(Recording& recording, const Node& node) : recording_(recording), node_(node) {}

  [[nodiscard]] const Graph& graph() const;
  /// The piped value of an epilogue.
  [[nodiscard]] const Value& in() const;
  /// The operand in a field, or null when it is absent (or a by-value number).
  [[nodiscard]] const Value* operand(std::string_view field) const;
  [[nodiscard]] const FieldValue& field(std::string_view field) const;
  /// A choice attribute; the field must be present.
  template <class E>
  [[nodiscard]] E choice(std::string_view field_name) const {
    return static_cast<E>(field(field_name).integer);
  }
  /// A choice attribute, or `otherwise` when it is absent.
  template <class E>
  [[nodiscard]] E choice_or(std::string_view field_name, E otherwise) const {
    const FieldValue& f = field(field_name);
    return f.kind == FieldValue::Kind::none ? otherwise : static_cast<E>(f.integer);
  }

  [[nodiscard]] const Node& node() const { return node_; }

  /// Adds a finding about this node. `dimension` -1: not about one.
  void fail(std::string_view code, std::string_view field, int dimension, std::string wanted,
            std::string got, std::string message, std::string hint = {});
  /// E-SHAPE unless the operand's extent in `dimension` is `wanted`. `what`: "K", "rows", ...
  void want_extent(std::string_view field, int dimension, const Extent& wanted,
                   std::string_view what, std::string_view wanted_of);
  /// E-RANK unless the operand has that rank. Returns whether it has.
  bool want_rank(std::string_view field, int rank, std::string_view form);
  /// E-DTYPE unless the operand's type is in the list.
  void want_dtype(std::string_view field, std::initializer_list<DType> allowed);
  /// E-SHAPE unless extent 0 of the operand counts experts or groups of the piped value.
  void want_experts(std::string_view field);
  [[nodiscard]] bool failed() const { return failed_; }

  /// Sets the type of result `port`. Role and producer are kept.
  void result(int port, const Value& type);
  /// Marks result `port` as one that the attributes did not ask for.
  void absent(int port);
  /// An extent as text: "T" or "4096".
  [[nodiscard]] std::string text(const Extent& extent) const;
  /// A value as text: "'x' (bf16, [T, 4096])".
  [[nodiscard]] std::string describe(const Value& value) const;

 private:
  Recording& recording_;
  const Node& node_;
  bool failed_ = false;
};

}  // namespace cohort::ir
