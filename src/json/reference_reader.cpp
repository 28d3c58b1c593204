#include "json/reference_reader.h"

#include <algorithm>
#include <charconv>
#include <string>

namespace cohort::json {

using ir::kNone;
using Kind = Value::Kind;

int32_t ReferenceReader::reference(std::string_view text, std::string_view key, ir::RoleSet roles) {
  if (!text.empty() && text[0] == '%') return result(text, key, roles);
  const auto it = names_.find(text);
  if (it != names_.end()) return it->second;
  std::vector<std::string_view> all;
  if (g_.inputs.size() <= 1000) {
    for (const ir::Input& i : g_.inputs) all.push_back(i.name);
  }
  fail(key, "E-REFERENCE", "the name of an input or %node", "\"" + clipped(text) + "\"",
       did_you_mean(text, all));
  miss(roles, text, false);
  return kNone;
}

void ReferenceReader::miss(ir::RoleSet roles, std::string_view name, bool looks_like_node,
                           int64_t node) {
  r_.miss({.roles = roles,
           .name = std::string(name.substr(0, ir::kMaxName)),
           .may_be_input = roles != kAnyResult,
           .looks_like_node = looks_like_node,
           .node = node});
}

int32_t ReferenceReader::result(std::string_view text, std::string_view key, ir::RoleSet roles) {
  const size_t dot = text.find('.');
  const std::string_view digits = text.substr(1, dot == std::string::npos ? dot : dot - 1);
  const std::string_view port = dot == std::string::npos ? "" : text.substr(dot + 1);
  int64_t number = -1;
  const auto end = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  const bool zero = digits.size() > 1 && digits[0] == '0';
  const bool plain = end.ec == std::errc() && end.ptr == digits.end() && digits[0] != '-' && !zero;
  if (!plain || number < 0 || number >= static_cast<int64_t>(g_.nodes.size())) {
    const bool forward = plain && number < static_cast<int64_t>(d_.nodes.size());
    fail(key, "E-REFERENCE",
         g_.nodes.empty() ? "an input" : "%0 .. %" + std::to_string(g_.nodes.size() - 1),
         "\"" + clipped(text) + "\"", forward ? "a node may only use earlier ones" : "");
    miss(roles, {}, true);
    return kNone;
  }
  const ir::Node& n = g_.nodes[static_cast<size_t>(number)];
  // Which results an unknown op has is not known: any will do.
  if (!unknown_.empty() && unknown_.contains(number)) return n.first_result;
  for (size_t p = 0; p < n.op->results.size(); ++p) {
    if (n.op->results[p].name == port) return n.first_result + static_cast<int32_t>(p);
  }
  std::string wanted;
  for (const ir::ResultRecord& r : n.op->results) {
    wanted += (wanted.empty() ? "" : ", ") + std::string(text.substr(0, dot)) +
              (r.name[0] != 0 ? "." + std::string(r.name) : "");
  }
  fail(key, "E-REFERENCE", wanted, "\"" + clipped(text) + "\"");
  miss(roles, {}, true, number);
  return kNone;
}

void ReferenceReader::use_all(const Item& item, const std::vector<std::string_view>& known) {
  for (const auto& [key, v] : d_.of(item)) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    const bool is_object = v.kind == Kind::object && v.count == 1;
    const Value& text = is_object ? d_.of(v)[0] : v;
    if (text.kind != Kind::string || text.text.empty()) continue;
    int32_t value = kNone;
    if (const auto it = names_.find(text.text); it != names_.end()) value = it->second;
    if (text.text[0] == '%') value = node_result(text.text);
    if (value != kNone) ++g_.values[static_cast<size_t>(value)].uses;
  }
}

int32_t ReferenceReader::node_result(std::string_view text) const {
  int64_t number = -1;
  const auto end = std::from_chars(text.data() + 1, text.data() + text.size(), number);
  const bool good =
      end.ec == std::errc() && number >= 0 && number < static_cast<int64_t>(g_.nodes.size());
  return good ? g_.nodes[static_cast<size_t>(number)].first_result : kNone;
}

}  // namespace cohort::json
