// Values and extents in words, for findings and pictures.
#include <cstdint>
#include <string>
#include <string_view>

#include "ir/op_record.h"
#include "ir/recording.h"

namespace cohort::ir {

std::string extent_text(const Graph& graph, const Extent& extent) {
  if (extent.symbol == kNone) return std::to_string(extent.bound);
  return graph.symbols[static_cast<size_t>(extent.symbol)].name;
}

std::string extents_text(const Graph& graph, const Extents& extents) {
  std::string s = "[";
  for (int i = 0; i < extents.rank; ++i) {
    if (i > 0) s += ", ";
    s += extent_text(graph, extents[i]);
  }
  return s + "]";
}

std::string reference_text(const Graph& graph, const Value& value) {
  if (value.node == kNone) return graph.inputs[static_cast<size_t>(value.input)].name;
  std::string s = "%" + std::to_string(value.node);
  const OpRecord& op = *graph.nodes[static_cast<size_t>(value.node)].op;
  const std::string_view port = op.results[static_cast<size_t>(value.port)].name;
  if (!port.empty()) s.append(".").append(port);
  return s;
}

std::string value_text(const Graph& graph, const Value& value) {
  std::string s = reference_text(graph, value);
  if (value.node == kNone) {
    s = "'" + s + "'";
  } else {  // who builds a graph in C++ sees no numbers
    s.append(" of ").append(graph.nodes[static_cast<size_t>(value.node)].op->name);
  }
  s.append(" (").append(name(value.role)).append(" ");
  s.append(value.scaled ? name(value.scaled->format) : name(value.dtype));
  return s + " " + extents_text(graph, value.shape) + ")";
}

}  // namespace cohort::ir
