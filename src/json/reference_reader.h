// References of one item to inputs and nodes before it.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ir/op_record.h"
#include "json/item_reader.h"

namespace cohort::json {

/// What the value of an output may be: any result of a node.
inline constexpr ir::RoleSet kAnyResult = ~ir::RoleSet{0};

class ReferenceReader : protected ItemReader {
 protected:
  ReferenceReader(const Document& document, ir::Recording& recording)
      : ItemReader(document, recording), g_(recording.graph()) {}

  /// "x", "%3", "%3.row". kNone, with a finding, when there is no such value. `roles`: what may
  /// stand there.
  int32_t reference(std::string_view text, std::string_view key, ir::RoleSet roles);
  /// What keys that are none of `known` refer to is used: nobody knows as what.
  void use_all(const Item& item, const std::vector<std::string_view>& known);

  ir::Graph& g_;
  std::unordered_map<std::string_view, int32_t> names_;
  std::unordered_set<int64_t> unknown_;  ///< Nodes whose op is unknown.

 private:
  void miss(ir::RoleSet roles, std::string_view name, bool looks_like_node, int64_t node = -1);
  int32_t result(std::string_view text, std::string_view key, ir::RoleSet roles);
  /// A result of the node that a text like "%3" or "%3.row" is about; kNone when it is about none.
  [[nodiscard]] int32_t node_result(std::string_view text) const;
};

}  // namespace cohort::json
