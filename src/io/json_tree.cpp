#include "io/json_tree.h"

#include <nlohmann/json.hpp>

namespace cohort::io {

int32_t JsonTree::find(int32_t object, std::string_view key) const {
  int32_t at = values[static_cast<size_t>(object)].first;
  while (at >= 0 && values[static_cast<size_t>(at)].key != key) {
    at = values[static_cast<size_t>(at)].next;
  }
  return at;
}

namespace {

using TreeSax = nlohmann::json_sax<nlohmann::json>;
// More members than any object of a description has; so that a search for a key twice is short.
constexpr int32_t kMostMembers = 64;

class TreeHandler : public TreeSax {
 public:
  TreeHandler(const JsonTreeLimits& limits, JsonTree& tree, base::Diagnostics& found,
              ErrorKind& kind)
      : limits_(limits), tree_(tree), found_(found), kind_(kind) {}

  bool null() override { return add({}); }
  bool boolean(bool v) override {
    JsonValue x;
    x.kind = JsonValue::Kind::flag;
    x.magnitude = v ? 1 : 0;
    return add(std::move(x));
  }
  bool number_integer(number_integer_t v) override {
    return integer(v < 0, v < 0 ? 0 - static_cast<uint64_t>(v) : static_cast<uint64_t>(v));
  }
  bool number_unsigned(number_unsigned_t v) override { return integer(false, v); }
  bool number_float(number_float_t v, const string_t&) override {
    JsonValue x;
    x.kind = JsonValue::Kind::real;
    x.real = v;
    return add(std::move(x));
  }
  bool string(string_t& v) override {
    JsonValue x;
    x.kind = JsonValue::Kind::string;
    x.text = std::move(v);
    return add(std::move(x));
  }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(JsonValue::Kind::object); }
  bool start_array(std::size_t) override { return open(JsonValue::Kind::list); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& v) override {
    const JsonValue& object = tree_.values[static_cast<size_t>(open_.back().value)];
    if (object.count >= kMostMembers) {
      return limit("at most " + std::to_string(kMostMembers) + " members of an object");
    }
    if (tree_.find(open_.back().value, v) >= 0) {
      found_.add(
          {.code = "E-KEY", .op = "text", .wanted = "one '" + v.substr(0, 64) + "'", .got = "two"});
      kind_ = ErrorKind::mismatch;
      return false;
    }
    key_ = std::move(v);
    return true;
  }
  bool parse_error(std::size_t at, const std::string&,
                   const nlohmann::detail::exception& e) override {
    const std::string what = e.what();
    const size_t cut = what.find("syntax error");
    found_.add({.code = "E-JSON",
                .op = "text",
                .got = "byte " + std::to_string(at),
                .message = "no JSON at byte " + std::to_string(at) + ": " +
                           (cut == std::string::npos ? what : what.substr(cut)).substr(0, 200)});
    kind_ = ErrorKind::file;
    return false;
  }

 private:
  struct Open {
    int32_t value;
    int32_t last;
  };

  bool limit(std::string wanted) {
    found_.add({.code = "E-LIMIT", .op = "text", .wanted = std::move(wanted), .got = "more"});
    kind_ = ErrorKind::limit;
    return false;
  }
  bool integer(bool is_negative, uint64_t magnitude) {
    JsonValue x;
    x.kind = JsonValue::Kind::integer;
    x.is_negative = is_negative;
    x.magnitude = magnitude;
    x.real = (is_negative ? -1.0 : 1.0) * static_cast<double>(magnitude);
    return add(std::move(x));
  }
  bool add(JsonValue x) {
    const auto at = static_cast<int32_t>(tree_.values.size());
    if (at >= limits_.values) {
      return limit("at most " + std::to_string(limits_.values) + " values");
    }
    x.key = std::move(key_);
    key_.clear();
    tree_.values.push_back(std::move(x));
    if (open_.empty()) return true;
    Open& o = open_.back();
    JsonValue& parent = tree_.values[static_cast<size_t>(o.value)];
    if (parent.count++ == 0) {
      parent.first = at;
    } else {
      tree_.values[static_cast<size_t>(o.last)].next = at;
    }
    o.last = at;
    return true;
  }
  bool open(JsonValue::Kind kind) {
    if (static_cast<int32_t>(open_.size()) >= limits_.depth) {
      return limit("a depth of at most " + std::to_string(limits_.depth));
    }
    JsonValue x;
    x.kind = kind;
    if (!add(std::move(x))) return false;
    open_.push_back({static_cast<int32_t>(tree_.values.size()) - 1, -1});
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  const JsonTreeLimits& limits_;
  JsonTree& tree_;
  base::Diagnostics& found_;
  ErrorKind& kind_;
  std::vector<Open> open_;
  std::string key_;
};

}  // namespace

bool read_tree(std::string_view text, const JsonTreeLimits& limits, JsonTree& tree,
               base::Diagnostics& found, ErrorKind& kind) {
  if (text.size() > limits.bytes) {
    found.add({.code = "E-LIMIT",
               .op = "text",
               .wanted = "at most " + std::to_string(limits.bytes) + " bytes",
               .got = std::to_string(text.size())});
    kind = ErrorKind::limit;
    return false;
  }
  TreeHandler handler(limits, tree, found, kind);
  return nlohmann::json::sax_parse(text.begin(), text.end(), &handler);
}

}  // namespace cohort::io
