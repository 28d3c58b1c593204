// Which ops run together. A region is a set of ops over the same rows that is walked panel by
// panel; what one region needs of another stands in the workspace.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/reference/places.h"
#include "engine/reference/rows.h"
#include "ir/graph.h"
#include "ir/op_record.h"
#include "ir/parts.h"

namespace cohort::engine::reference {

/// Calls f(value) for each value that a node consumes.
template <class F>
void each_operand(const ir::Graph& graph, const ir::Node& node, F&& f) {
  if (node.in != ir::kNone) f(node.in);
  for (size_t i = 0; i < node.op->fields.size(); ++i) {
    const ir::FieldValue& field = graph.fields[static_cast<size_t>(node.first_field) + i];
    if (field.kind == ir::FieldValue::Kind::value) f(field.value);
  }
}

struct Region {
  int32_t stage = 0;
  std::vector<int32_t> nodes;  ///< In graph order.
  ir::Extent rows;
  int32_t groups = ir::kNone;  ///< The groups input that divides the rows.
};

class Schedule {
 public:
  explicit Schedule(const ir::Graph& graph);

  std::vector<Region> regions;     ///< In the order in which they run.
  std::vector<int32_t> region_of;  ///< By node.
  std::vector<bool> kept;          ///< By value: another region reads it.
  std::vector<GroupNeeds> needs;   ///< By value; of groups inputs only.
  Places places;                   ///< Of the graph.

  /// Bytes that a kept value takes, scales included; 0 for the others. 256-byte multiples.
  [[nodiscard]] int64_t kept_bytes(const ir::Graph& graph, int32_t value,
                                   ir::SymbolSizes sizes) const;
  /// Bytes of elements alone, where the scales of a kept quantised value begin.
  [[nodiscard]] static int64_t element_bytes(const ir::Value& value, ir::SymbolSizes sizes);
  [[nodiscard]] std::string explain(const ir::Graph& graph) const;

 private:
  void assign_stages(const ir::Graph& graph);
  void make_regions(const ir::Graph& graph);
  void find_kept(const ir::Graph& graph);
  void find_needs(const ir::Graph& graph);
  std::vector<int32_t> stage_;
};

}  // namespace cohort::engine::reference
