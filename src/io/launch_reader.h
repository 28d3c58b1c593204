// Checked access to the tree of a launch file: each thing that is not as it should be is a finding.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <cohort/plan.h>

#include "base/diagnostics.h"
#include "io/json_tree.h"

namespace cohort::io {

/// A value with the path that leads to it.
struct JsonNode {
  int32_t at = -1;
  std::string path;
  [[nodiscard]] bool is_there() const { return at >= 0; }
};

class TreeReader {
 public:
  TreeReader(const JsonTree& tree, base::Diagnostics& found) : tree_(tree), found_(found) {}

  [[nodiscard]] const JsonValue& value(const JsonNode& n) const {
    return tree_.values[static_cast<size_t>(n.at)];
  }
  /// Keeps what is wrong at a node; `op` names the thing that it belongs to.
  void fail(const JsonNode& n, std::string_view code, std::string_view op, std::string wanted,
            std::string got, std::string hint = {});
  /// It is an object with no other keys than these.
  bool object(const JsonNode& n, std::string_view op, ListView<std::string_view> keys);
  /// A member, or a node that is not there.
  [[nodiscard]] JsonNode member(const JsonNode& object, std::string_view key) const;
  /// As above; one that is missing is a finding.
  JsonNode required(const JsonNode& object, std::string_view op, std::string_view key);
  /// The only one of these members that is there. Not exactly one is a finding, unless `may_miss`.
  JsonNode one_of(const JsonNode& object, std::string_view op, ListView<std::string_view> keys,
                  std::string_view& key, bool may_miss = false);
  /// Entries of a list; not a list is a finding.
  std::vector<JsonNode> list(const JsonNode& n, std::string_view op);

  bool text(const JsonNode& n, std::string_view op, std::string& to);
  bool flag(const JsonNode& n, std::string_view op, bool& to);
  /// An integer within [least, most].
  bool integer(const JsonNode& n, std::string_view op, int64_t least, int64_t most, int64_t& to);
  /// A number, or "nan", "inf", "-inf".
  bool real(const JsonNode& n, std::string_view op, double& to);
  /// The index of one of the words.
  bool word(const JsonNode& n, std::string_view op, const std::vector<std::string_view>& words,
            int& to);
  /// "a string", "3".
  [[nodiscard]] std::string describe(const JsonNode& n) const;

 private:
  const JsonTree& tree_;
  base::Diagnostics& found_;
};

}  // namespace cohort::io
