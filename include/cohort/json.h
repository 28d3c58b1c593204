// Graphs as JSON text: docs/json.md describes the format, docs/graph.schema.json checks it.
#pragma once

#include <cstdint>
#include <string_view>

#include <cohort/graph.h>
#include <cohort/status.h>

namespace cohort {

/// Bounds on what is read from a text. Passing one is E-LIMIT. Those of what a graph may say (rank,
/// extents, names) are fixed: docs/json.md lists them.
struct JsonLimits {
  int64_t max_bytes = int64_t{64} << 20;  ///< Bytes of text.
  int64_t max_nodes = 1000000;            ///< Inputs, nodes and outputs, each.
  int32_t max_depth = 32;                 ///< Nested arrays and objects.
};

/// Reads a graph and checks it as finish() does; `where` of each finding is a JSON path. A text
/// that is no JSON, or whose outermost value is no object, gives findings of kind `file`.
[[nodiscard]] COHORT_API Result<Graph> parse_json(std::string_view text,
                                                  const JsonLimits& limits = {}) noexcept;

/// The JSON Schema (draft 7) of the format, made from the op records. Owned by the library.
[[nodiscard]] COHORT_API std::string_view json_schema() noexcept;

}  // namespace cohort
