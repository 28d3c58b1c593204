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
  if (value.node == kNone) s = "'" + s + "'";
  s.append(" (").append(name(value.role)).append(" ");
  s.append(value.scaled ? name(value.scaled->format) : name(value.dtype));
  return s + " " + extents_text(graph, value.shape) + ")";
}

namespace {

// Length of the well-formed UTF-8 sequence at the front of s (Unicode 15, table 3-7), or 0.
size_t sequence_length(std::string_view s) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(s[i]); };
  const auto between = [&](size_t i, int low, int high) {
    return i < s.size() && byte(i) >= low && byte(i) <= high;
  };
  const uint8_t a = byte(0);
  if (a < 0x80) return 1;
  if (a < 0xC2 || a > 0xF4) return 0;
  if (a < 0xE0) return between(1, 0x80, 0xBF) ? 2 : 0;
  if (a < 0xF0) {
    const int low = a == 0xE0 ? 0xA0 : 0x80;
    const int high = a == 0xED ? 0x9F : 0xBF;
    return between(1, low, high) && between(2, 0x80, 0xBF) ? 3 : 0;
  }
  const int low = a == 0xF0 ? 0x90 : 0x80;
  const int high = a == 0xF4 ? 0x8F : 0xBF;
  return between(1, low, high) && between(2, 0x80, 0xBF) && between(3, 0x80, 0xBF) ? 4 : 0;
}

}  // namespace

bool is_clean_utf8(std::string_view text) {
  while (!text.empty()) {
    if (static_cast<uint8_t>(text[0]) < 0x20 || text[0] == 0x7F) return false;
    const size_t length = sequence_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

}  // namespace cohort::ir
