#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "json/tree.h"

namespace cohort::json {

namespace {

using Json = nlohmann::json;
constexpr size_t kMaxMembers = 64;
constexpr uint8_t kMaxEntries = 64;
constexpr std::string_view kLists[] = {"dims", "inputs", "nodes", "outputs"};

// Follows the events through the five levels of the format: document, list, item, list or object
// of an item, its scalars. Stops at the first thing that stands where nothing may. It has the
// members of nlohmann's json_sax without deriving from it, so the parser calls them directly.
class Handler {
 public:
  Handler(const JsonLimits& limits, Document& document, base::Diagnostics& findings, ItemSink* sink)
      : limits_(limits), d_(document), findings_(findings), sink_(sink) {}

  bool is_syntax_error = false;
  bool is_limit = false;
  bool is_no_document = false;  ///< Its outermost value is no object: another kind of file.

  bool null() { return scalar({}); }
  bool boolean(bool v) {
    Value x;
    x.kind = Value::Kind::flag;
    x.integer = v ? 1 : 0;
    return scalar(x);
  }
  bool number_integer(Json::number_integer_t v) { return integer(v); }
  bool number_unsigned(Json::number_unsigned_t v) {
    if (v > static_cast<uint64_t>(INT64_MAX)) {
      return fail("E-JSON", "an integer of 63 bits", std::to_string(v));
    }
    return integer(static_cast<int64_t>(v));
  }
  bool number_float(Json::number_float_t v, const Json::string_t& text) {
    if (text.find_first_of(".eE") == std::string::npos) {
      return fail("E-JSON", "an integer of 63 bits", text.substr(0, 64));
    }
    Value x;
    x.kind = Value::Kind::real;
    x.real = v;
    x.real32 = std::strtof(text.c_str(), nullptr);
    x.text = d_.keep(std::string_view(text).substr(0, 64));
    return scalar(x);
  }
  bool string(Json::string_t& v) {
    Value x;
    x.kind = Value::Kind::string;
    x.text = d_.keep(v);
    return scalar(x);
  }
  bool binary(Json::binary_t&) { return false; }

  bool start_object(std::size_t) {
    if (!enter()) return false;
    if (depth_ == 1) return true;
    if (depth_ == 3 && list_ != nullptr) {
      if (items_ >= limits_.max_nodes) {
        return fail("E-LIMIT", "at most " + std::to_string(limits_.max_nodes) + " items", "more");
      }
      ++items_;
      if (sink_ != nullptr) list_->clear();
      list_->push_back({d_.members.size(), 0});
      seen_ = 0;
      same_ = 0;
      return true;
    }
    if (depth_ == 4 && list_ != nullptr) return open(Value::Kind::object);
    return fail("E-JSON", "no object here", "an object");
  }
  bool start_array(std::size_t) {
    if (!enter()) return false;
    if (depth_ == 2 && list_ != nullptr) return true;
    if (depth_ == 4 && list_ != nullptr) return open(Value::Kind::list);
    is_no_document = depth_ == 1;
    return fail("E-JSON", depth_ == 1 ? "an object" : "no list here", "a list");
  }
  bool end_object() { return leave(); }
  bool end_array() { return leave(); }

  bool key(Json::string_t& k) {
    if (depth_ == 1) return top_key(k);
    if (depth_ == 3) {
      Item& item = list_->back();
      if (is_as_before(item, k)) return add_member(item);
      // The known keys are few, so an item with more is refused and a search among them is short.
      member_ = d_.keep(k);
      if (may_be_twice(k) && d_.find(item, k) != nullptr)
        return fail("E-KEY", "one '" + clipped(k) + "'", "two");
      if (item.count >= kMaxMembers) {
        return fail("E-LIMIT", "at most " + std::to_string(kMaxMembers) + " keys", "more");
      }
      return add_member(item);
    }
    if (depth_ == 4 && nested_ != nullptr && nested_->text.empty() && !k.empty()) {
      nested_->text = d_.keep(k);
      return true;
    }
    return fail("E-KEY", "one member", "'" + clipped(k) + "'");
  }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception& e) {
    if (e.id == 406) return fail("E-JSON", "a number that fits in f64", "more");
    is_syntax_error = true;
    const std::string what = e.what();
    const size_t cut = what.find("syntax error");
    findings_.add({.code = "E-JSON",
                   .op = "text",
                   .got = "byte " + std::to_string(position),
                   .message = "no JSON at byte " + std::to_string(position) + ": " +
                              (cut == std::string::npos ? what : what.substr(cut)).substr(0, 200)});
    return false;
  }

 private:
  bool fail(std::string_view code, std::string wanted, std::string got) {
    is_limit = code == "E-LIMIT";
    std::string message = "wanted " + wanted + ", got " + got;
    findings_.add({.code = code,
                   .op = "text",
                   .wanted = std::move(wanted),
                   .got = std::move(got),
                   .message = std::move(message),
                   .where = path()});
    return false;
  }

  bool add_member(Item& item) {
    d_.members.push_back({member_, Value{}});
    ++item.count;
    return true;
  }

  // Whether all keys up to this one are those of the item before, which has none twice. Then it is
  // its letters that are kept: most items of a graph have the keys of their neighbours.
  bool is_as_before(const Item& item, std::string_view k) {
    if (item.count != same_ || same_ >= before_.size() || !same(before_[same_], k)) return false;
    member_ = before_[same_++];
    (void)may_be_twice(k);
    return true;
  }

  void remember_keys(const Item& item) {
    before_.clear();
    for (const Member& m : d_.of(item)) before_.push_back(m.key);
    if (sink_ == nullptr) return;
    // The item's letters are going to be dropped, and some of its keys are those of the item
    // before.
    spare_.clear();
    for (std::string_view k : before_) spare_.insert(spare_.end(), k.begin(), k.end());
    std::swap(spare_, key_letters_);
    size_t at = 0;
    for (std::string_view& k : before_) {
      k = {key_letters_.data() + at, k.size()};
      at += k.size();
    }
  }

  // The item is whole: its keys are those to compare with, and the sink takes it.
  bool end_item() {
    const Item& item = list_->back();
    if (item.count != same_) remember_keys(item);
    if (sink_ == nullptr) return true;
    const auto list = static_cast<List>(which_);
    if (!sink_->take(list, item)) return false;
    // Names of dims and inputs are looked up later.
    d_.drop_items(list == List::dims || list == List::inputs ? d_.letters() : letters_);
    return true;
  }

  // False when no key of this item so far has the length and the ends of `k`; remembers them.
  bool may_be_twice(std::string_view k) {
    const auto end = [](char c) { return size_t{static_cast<uint8_t>(c)}; };
    const size_t mix = k.empty() ? 0 : k.size() + 5 * end(k.front()) + 11 * end(k.back());
    const uint64_t bit = uint64_t{1} << (mix % 64);
    const bool found = (seen_ & bit) != 0;
    seen_ |= bit;
    return found;
  }

  std::string path() const {
    std::string p;
    if (!top_.empty()) p += "/" + top_;
    if (list_ != nullptr && depth_ >= 3 && !list_->empty()) {
      p += "/" + std::to_string(items_ - 1);
      if (!member_.empty()) p += "/" + clipped(member_);
    }
    return p.empty() ? "/" : p;
  }

  bool enter() {
    if (++depth_ <= limits_.max_depth) return true;
    return fail("E-LIMIT", "a depth of at most " + std::to_string(limits_.max_depth), "more");
  }

  bool leave() {
    if (depth_ == 4) nested_ = nullptr;
    if (depth_ == 3) member_ = {};
    return depth_-- != 3 || end_item();
  }

  bool top_key(const std::string& k) {
    top_ = clipped(k);
    member_ = {};
    list_ = nullptr;
    items_ = 0;
    before_.clear();
    bool* seen = nullptr;
    std::vector<Item>* lists[] = {&d_.dims, &d_.inputs, &d_.nodes, &d_.outputs};
    for (int i = 0; i < 4; ++i) {
      if (k != kLists[i]) continue;
      list_ = lists[i];
      which_ = i;
      letters_ = d_.letters();
      seen = &d_.has_list[i];
    }
    if (k == "cohort") seen = &d_.has_version;
    if (k == "name") seen = &d_.has_name;
    if (seen == nullptr) {
      return fail("E-KEY", "cohort, name, dims, inputs, nodes or outputs", "'" + top_ + "'");
    }
    if (*seen) return fail("E-KEY", "one '" + k + "'", "two");
    *seen = true;
    return sink_ == nullptr || list_ == nullptr || which_ == 0 || d_.has_list[which_ - 1];
  }

  bool integer(int64_t v) {
    Value x;
    x.kind = Value::Kind::integer;
    x.integer = v;
    return scalar(x);
  }

  bool open(Value::Kind kind) {
    nested_ = &d_.members.back().value;
    nested_->kind = kind;
    nested_->first = d_.entries.size();
    return true;
  }

  bool scalar(const Value& v) {
    if (depth_ == 1 && list_ == nullptr) {
      (top_ == "cohort" ? d_.version : d_.name) = v;
      return true;
    }
    if (depth_ == 3) {
      d_.members.back().value = v;
      return true;
    }
    if (depth_ == 4 && nested_ != nullptr) {
      if (nested_->count >= kMaxEntries) return fail("E-LIMIT", "at most 64 entries", "more");
      d_.entries.push_back(v);
      ++nested_->count;
      return true;
    }
    is_no_document = depth_ == 0;
    return fail("E-JSON",
                depth_ == 0   ? "an object"
                : depth_ == 1 ? "a list"
                              : "an object",
                describe(v));
  }

  const JsonLimits& limits_;
  Document& d_;
  base::Diagnostics& findings_;
  ItemSink* sink_;
  int32_t depth_ = 0;
  int which_ = 0;                  ///< Of kLists, as is list_.
  int64_t items_ = 0;              ///< Of list_ so far.
  size_t letters_ = 0;             ///< Of the document when the list began.
  std::vector<char> key_letters_;  ///< With a sink: those of before_.
  std::vector<char> spare_;
  std::vector<std::string_view> before_;  ///< Keys of the item before in this list.
  std::string top_;
  std::string_view member_;
  size_t same_ = 0;    ///< Keys of the item that are those of the one before it.
  uint64_t seen_ = 0;  ///< A bit for each kind of key of the item, see may_be_twice.
  std::vector<Item>* list_ = nullptr;
  Value* nested_ = nullptr;  ///< Of d_.members, which does not grow while it is open.
};

}  // namespace

namespace {

// The lexer takes a NUL for the end of the text and passes over a byte order mark; JSON (RFC 8259)
// has neither, and within a string a NUL must be escaped.
bool check_bytes(std::string_view text, base::Diagnostics& findings) {
  const size_t nul = text.find('\0');
  const bool has_mark = text.starts_with("\xEF\xBB\xBF");
  if (nul == std::string_view::npos && !has_mark) return true;
  const std::string at = "byte " + std::to_string(has_mark ? 1 : nul + 1);
  findings.add({.code = "E-JSON",
                .op = "text",
                .got = at,
                .message = "no JSON at " + at + ": " + (has_mark ? "a byte order mark" : "a NUL")});
  return false;
}

}  // namespace

bool parse(std::string_view text, const JsonLimits& limits, Document& document,
           base::Diagnostics& findings, ErrorKind& kind, ItemSink* sink) {
  kind = ErrorKind::invalid_graph;
  if (static_cast<int64_t>(text.size()) > limits.max_bytes) {
    const std::string wanted = "at most " + std::to_string(limits.max_bytes) + " bytes";
    findings.add({.code = "E-LIMIT",
                  .op = "text",
                  .wanted = wanted,
                  .got = std::to_string(text.size()) + " bytes",
                  .message = "wanted " + wanted + ", got " + std::to_string(text.size()),
                  .where = "/"});
    kind = ErrorKind::limit;
    return false;
  }
  if (!check_bytes(text, findings)) {
    kind = ErrorKind::file;
    return false;
  }
  document.reserve_letters(text.size());
  // A member of a canonical text takes 17 bytes.
  document.members.reserve(sink == nullptr ? text.size() / 20 : kMaxMembers);
  Handler handler(limits, document, findings, sink);
  const bool good = nlohmann::json::sax_parse(text.begin(), text.end(), &handler);
  if (handler.is_syntax_error || handler.is_no_document) kind = ErrorKind::file;
  if (handler.is_limit) kind = ErrorKind::limit;
  return good && findings.empty();
}

}  // namespace cohort::json
