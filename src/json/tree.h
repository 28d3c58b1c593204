// One item of a graph's text, as small as the format allows: scalars, lists of scalars, and
// {"value": ref}.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <cohort/json.h>

#include "base/diagnostics.h"

namespace cohort::json {

/// A JSON value that stands in an item.
struct Value {
  enum class Kind : uint8_t { null, flag, integer, real, string, list, object };
  Kind kind = Kind::null;
  int64_t integer = 0;       ///< Kinds integer and flag.
  double real = 0;           ///< Kind real; of an integer, the same number.
  float real32 = 0;          ///< Kind real: the text read as f32.
  std::string text;          ///< Kind string; kind real: as written.
  std::vector<Value> items;  ///< Kind list; kind object: the one member.
  std::string key;           ///< Kind object: the member's key.
};

/// An object of a list: its members in the order of the text.
struct Item {
  std::vector<std::pair<std::string, Value>> members;
  [[nodiscard]] const Value* find(std::string_view key) const;
};

/// A graph's text, taken apart but not understood.
struct Document {
  Value version;
  Value name;
  bool has_version = false;
  bool has_name = false;
  std::vector<Item> dims;
  std::vector<Item> inputs;
  std::vector<Item> nodes;
  std::vector<Item> outputs;
  bool has_list[4] = {false, false, false, false};
};

/// Takes a text apart. False, with findings of `kind`, when it is no JSON or not of this form.
[[nodiscard]] bool parse(std::string_view text, const JsonLimits& limits, Document& document,
                         base::Diagnostics& findings, ErrorKind& kind);

/// The first 64 bytes of a text at most, whole characters.
[[nodiscard]] std::string clipped(std::string_view text);
/// What a value is, for findings: "a string", "3".
[[nodiscard]] std::string describe(const Value& value);

}  // namespace cohort::json
