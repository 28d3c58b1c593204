// A small JSON text as a tree: for files of descriptions, not of data.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostics.h"

namespace cohort::io {

/// A value. Members of an object and entries of a list are chained.
struct JsonValue {
  enum class Kind : uint8_t { null, flag, integer, real, string, list, object };
  Kind kind = Kind::null;
  bool is_negative = false;  ///< integer
  uint64_t magnitude = 0;    ///< integer; flag: 1 for true
  double real = 0;           ///< real and integer, rounded
  std::string text;          ///< string
  std::string key;           ///< in an object
  int32_t first = -1;        ///< JsonTree::values
  int32_t next = -1;
  int32_t count = 0;
};

struct JsonTreeLimits {
  size_t bytes = size_t{16} << 20;
  int32_t values = 1000000;
  int32_t depth = 12;
};

/// The root is value 0.
struct JsonTree {
  std::vector<JsonValue> values;
  /// The member of that name, or -1.
  [[nodiscard]] int32_t find(int32_t object, std::string_view key) const;
};

/// Reads a text. False, with one finding and its kind, when it is no JSON, has a key twice, or
/// passes a limit.
[[nodiscard]] bool read_tree(std::string_view text, const JsonTreeLimits& limits, JsonTree& tree,
                             base::Diagnostics& found, ErrorKind& kind);

}  // namespace cohort::io
