#include "io/header.h"

#include <unordered_set>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/json_string.h"

namespace cohort::io {

namespace {

using Sax = nlohmann::json_sax<nlohmann::json>;

// Follows the events through {"name": {"dtype": .., "shape": [..], "data_offsets": [..]}}. Other
// keys of a tensor and everything in "__metadata__" are passed over.
class Handler : public Sax {
 public:
  Handler(std::vector<HeaderEntry>& entries, HeaderFault& fault)
      : entries_(entries), fault_(fault) {}

  bool null() override { return scalar("null"); }
  bool boolean(bool v) override { return scalar(v ? "true" : "false"); }
  bool number_integer(number_integer_t v) override { return number(v, v >= 0, std::to_string(v)); }
  bool number_unsigned(number_unsigned_t v) override {
    return number(static_cast<int64_t>(v), v <= static_cast<uint64_t>(INT64_MAX),
                  std::to_string(v));
  }
  bool number_float(number_float_t, const string_t& text) override {
    return number(0, false, text.substr(0, 64));
  }
  bool string(string_t& v) override {
    if (is_free() || depth_ != 2 || key_ != Key::dtype) return scalar("a string");
    entries_.back().dtype = v.substr(0, 64);
    seen_ |= bit(key_);
    return true;
  }
  bool binary(binary_t&) override { return false; }

  bool start_object(std::size_t) override {
    const bool fits = is_free() || depth_ <= 1;
    return enter() && (fits || wrong("dtype, shape and data_offsets", "an object"));
  }
  bool start_array(std::size_t) override {
    const bool is_skipped = is_free();
    const bool fits = depth_ == 2 && (key_ == Key::shape || key_ == Key::offsets);
    if (!is_skipped && !fits) return scalar("a list");
    if (fits && !is_skipped) seen_ |= bit(key_);
    count_ = 0;
    return enter();
  }
  bool end_object() override {
    const bool is_tensor = depth_-- == 2 && !metadata_;
    if (!is_tensor || seen_ == (bit(Key::dtype) | bit(Key::shape) | bit(Key::offsets))) return true;
    return wrong("dtype, shape and data_offsets", "something else");
  }
  bool end_array() override {
    const bool of_tensor = depth_-- == 3 && !metadata_;
    return !of_tensor || key_ != Key::offsets || count_ == 2 ||
           wrong("two data_offsets", std::to_string(count_));
  }

  bool key(string_t& k) override {
    if (depth_ == 1) return tensor(k);
    if (depth_ != 2 || metadata_) return true;
    key_ = k == "dtype"          ? Key::dtype
           : k == "shape"        ? Key::shape
           : k == "data_offsets" ? Key::offsets
                                 : Key::other;
    if (key_ != Key::other && (seen_ & bit(key_)) != 0) return wrong("one '" + k + "'", "two");
    return true;
  }

  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override {
    entries_.clear();
    return wrong("a JSON object as header", "something else");
  }

 private:
  enum class Key : uint8_t { other, dtype, shape, offsets };
  static constexpr unsigned bit(Key k) { return 1u << static_cast<unsigned>(k); }
  static constexpr int kMaxDepth = 8;

  // Whether the value that comes now is passed over.
  [[nodiscard]] bool is_free() const {
    return (depth_ >= 1 && metadata_) || (depth_ >= 2 && key_ == Key::other);
  }

  bool wrong(std::string wanted, std::string got) {
    fault_ = {entries_.empty() || metadata_ ? std::string() : entries_.back().name,
              std::move(wanted), std::move(got)};
    return false;
  }

  bool enter() {
    if (++depth_ <= kMaxDepth) return true;
    return wrong("a depth of at most " + std::to_string(kMaxDepth), "more");
  }

  bool tensor(const std::string& name) {
    metadata_ = name == "__metadata__";
    key_ = Key::other;
    seen_ = 0;
    if (!metadata_) entries_.push_back({});
    if (!metadata_) entries_.back().name = name;
    return names_.insert(name).second || wrong("one tensor of that name", "two");
  }

  bool scalar(std::string got) {
    if (is_free()) return true;
    return wrong(depth_ == 0 ? "a JSON object as header" : "dtype, shape and data_offsets",
                 std::move(got));
  }

  bool number(int64_t v, bool is_good, std::string text) {
    if (depth_ != 3 || is_free()) return scalar(std::move(text));
    const bool is_shape = key_ == Key::shape;
    if (!is_good) {
      return wrong(is_shape ? "an extent of 0 or more" : "an offset of 0 or more", std::move(text));
    }
    HeaderEntry& e = entries_.back();
    if (is_shape) {
      if (e.rank == kMaxRank) return wrong("at most 8 extents", "more");
      e.shape[e.rank++] = v;
      return true;
    }
    if (count_ == 2) return wrong("two data_offsets", "more");
    (count_++ == 0 ? e.begin : e.end) = v;
    return true;
  }

  std::vector<HeaderEntry>& entries_;
  HeaderFault& fault_;
  std::unordered_set<std::string> names_;
  int depth_ = 0;
  int count_ = 0;
  unsigned seen_ = 0;
  Key key_ = Key::other;
  bool metadata_ = false;
};

}  // namespace

bool read_header(std::string_view text, std::vector<HeaderEntry>& entries, HeaderFault& fault) {
  // The lexer would take a NUL for the end of the text.
  if (text.find('\0') != std::string_view::npos) {
    fault = {{}, "a JSON object as header", "a NUL in it"};
    return false;
  }
  Handler handler(entries, fault);
  return nlohmann::json::sax_parse(text.begin(), text.end(), &handler);
}

std::string write_header(const std::vector<HeaderEntry>& entries) {
  std::string text = "{";
  for (const HeaderEntry& e : entries) {
    if (text.size() > 1) text += ',';
    base::append_json_string(text, e.name);
    text.append(":{\"dtype\":\"").append(e.dtype).append("\",\"shape\":[");
    for (int32_t d = 0; d < e.rank; ++d) {
      text.append(d > 0 ? "," : "").append(std::to_string(e.shape[d]));
    }
    text.append("],\"data_offsets\":[").append(std::to_string(e.begin)).append(",");
    text.append(std::to_string(e.end)).append("]}");
  }
  text += '}';
  text.resize((text.size() + 7) / 8 * 8, ' ');
  return text;
}

}  // namespace cohort::io
