// One item of a graph's text, as small as the format allows: scalars, lists of scalars, and
// {"value": ref}.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <cohort/json.h>

#include "base/diagnostics.h"

namespace cohort::json {

/// A JSON value that stands in an item. Its text and entries stand in the Document.
struct Value {
  enum class Kind : uint8_t { null, flag, integer, real, string, list, object };
  Kind kind = Kind::null;
  uint8_t count = 0;  ///< Kinds list and object: number of entries; an object has one.
  float real32 = 0;   ///< Kind real: the text read as f32.
  union {
    int64_t integer = 0;  ///< Kinds integer and flag.
    double real;          ///< Kind real.
    size_t first;         ///< Kinds list and object: into Document::entries.
  };
  std::string_view text;  ///< Kind string; kind real: as written; kind object: the member's key.
};

/// One key of an item.
struct Member {
  std::string_view key;
  Value value;
};

/// An object of a list: its members in the order of the text.
struct Item {
  size_t first = 0;  ///< Into Document::members.
  size_t count = 0;
};

/// A graph's text, taken apart but not understood. Members, entries and letters of all items stand
/// in three arrays, so an item costs no memory of its own.
class Document {
 public:
  Value version;
  Value name;
  bool has_version = false;
  bool has_name = false;
  std::vector<Item> dims;
  std::vector<Item> inputs;
  std::vector<Item> nodes;
  std::vector<Item> outputs;
  bool has_list[4] = {false, false, false, false};
  std::vector<Member> members;
  std::vector<Value> entries;

  [[nodiscard]] std::span<const Member> of(const Item& item) const {
    return {members.data() + item.first, item.count};
  }
  [[nodiscard]] std::span<const Value> of(const Value& v) const {
    return {entries.data() + v.first, v.count};
  }
  /// The value of a key, or null. `hint`: where it is looked for first.
  [[nodiscard]] const Value* find(const Item& item, std::string_view key, size_t hint = 0) const;

  /// Makes room for all letters of a text of `bytes`: without its quotes and escapes it is shorter.
  void reserve_letters(size_t bytes);
  /// A copy of a piece of the text that lives as long as the document, or until letters are
  /// dropped.
  std::string_view keep(std::string_view text);
  [[nodiscard]] size_t letters() const { return used_; }
  /// Drops members, entries, and all letters but the first `letters`.
  void drop_items(size_t letters);

 private:
  std::unique_ptr<char[]> letters_;
  size_t used_ = 0;
};

/// The lists of a graph, in the order in which they are written.
enum class List : uint8_t { dims, inputs, nodes, outputs };

/// Takes items as soon as they have been read.
class ItemSink {
 public:
  virtual ~ItemSink() = default;
  /// False: no more of them.
  virtual bool take(List list, const Item& item) = 0;
};

/// Takes a text apart. False, with findings of `kind`, when it is no JSON or not of this form.
/// With a `sink`, items are not kept but handed to it; then the text must be in the order in which
/// it is written, and it is false without a finding where it is not, or the sink wants no more.
[[nodiscard]] bool parse(std::string_view text, const JsonLimits& limits, Document& document,
                         base::Diagnostics& findings, ErrorKind& kind, ItemSink* sink = nullptr);

/// Equality of keys. Most that are compared differ in their ends, which is seen without a call.
[[nodiscard]] bool same(std::string_view a, std::string_view b);

/// Checks version, name and that every list is there. False, with findings, otherwise.
[[nodiscard]] bool check_top(const Document& d, base::Diagnostics& findings);

/// The first 64 bytes of a text at most, whole characters.
[[nodiscard]] std::string clipped(std::string_view text);
/// What a value is, for findings: "a string", "3".
[[nodiscard]] std::string describe(const Value& value);

}  // namespace cohort::json
