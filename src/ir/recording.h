// A graph under construction. The C++ builder and the JSON reader both fill it through the same
// calls, so both meet the same checks.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostics.h"
#include "ir/graph.h"
#include "ir/op_record.h"

namespace cohort::ir {

/// A handle that died, and why: used after finish(), or made by another builder.
struct DeadHandle {
  std::string reason;
  Where where{nullptr, 0};
};

/// Where something stands in a text: "/nodes", its number, and a key or nothing.
struct Place {
  std::string_view list;  ///< "inputs", "nodes", "outputs" or "dims".
  int64_t index = 0;
  Where where{nullptr, 0};  ///< The C++ line; file null when read from JSON.
};

/// A reference to nothing, or to what may not stand there.
struct Missed {
  RoleSet roles = 0;             ///< What it may have meant.
  std::string name;              ///< As it was read; empty when no name was.
  bool may_be_input = true;      ///< False for the value of an output.
  bool looks_like_node = false;  ///< "%3": an input is meant only if no node could be.
  int64_t node = -1;             ///< A node that was named, with a result that it has not.
};

class Recording {
 public:
  explicit Recording(std::string_view name);

  /// An input. Checks name, extents, type and layout; returns its value number.
  int32_t add_input(std::string_view name, Value type, Where where);
  /// A named extent; returns its symbol number, or kNone with a finding.
  int32_t add_symbol(std::string_view name, int64_t bound, Where where);
  /// A node. `fields` as many as the op has. Returns the number of its first result. Its findings
  /// are recorded and its results marked faulty.
  int32_t add_node(const OpRecord& op, int32_t in, std::span<const FieldValue> fields, Where where);
  void add_output(std::string_view name, int32_t value, const OutputFields& fields, Where where);

  /// Reports a handle that cannot be used here. `foreign`: it lives in another builder.
  void report_dead(std::string_view op, std::string_view field, const DeadHandle& dead, Where where,
                   const Place& place);

  /// Remembers a reference that could not be resolved: something may be unused because of it.
  void miss(Missed missed);
  /// The first kMaxFindings of them.
  [[nodiscard]] const std::vector<Missed>& missed() const { return missed_; }

  Graph& graph() { return *graph_; }
  base::Diagnostics& findings() { return findings_; }
  /// "file.cpp:12", or "/nodes/3/by" when the graph is read from a text.
  [[nodiscard]] std::string where_text(const Place& place, std::string_view key) const;
  /// Adds a finding about a place.
  void fail(const Place& place, std::string_view key, base::FindingText finding);

  /// Hands the graph over.
  std::unique_ptr<Graph> take() { return std::move(graph_); }

 private:
  bool check_name(const Place& place, std::string_view what, std::string_view name);
  bool check_field(const Place& place, const OpRecord& op, const FieldRecord& record,
                   const FieldValue& value);
  bool check_operand(const Place& place, const OpRecord& op, const FieldRecord& record,
                     int32_t number);
  // Adds a finding about a field; false.
  bool refuse(const Place& place, const OpRecord& op, const FieldRecord& record,
              std::string_view code, std::string wanted, std::string got);

  std::vector<Missed> missed_;
  std::unique_ptr<Graph> graph_;
  base::Diagnostics findings_;
};

/// An extent as text: the symbol's name or the number.
[[nodiscard]] std::string extent_text(const Graph& graph, const Extent& extent);
/// Extents as text: "[T, 4096]".
[[nodiscard]] std::string extents_text(const Graph& graph, const Extents& extents);
/// A value as text: "'x' (tensor bf16 [T, 4096])", "%3 (value f32 [T, 2048])".
[[nodiscard]] std::string value_text(const Graph& graph, const Value& value);
/// A reference to a value: "x", "%3", "%3.row".
[[nodiscard]] std::string reference_text(const Graph& graph, const Value& value);

}  // namespace cohort::ir
