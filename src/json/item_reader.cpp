#include "json/item_reader.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <span>

#include "base/nearest.h"
#include "ir/op_record.h"

namespace cohort::json {

const ir::OpRecord* smallest_op() {
  const auto size = [](const ir::OpRecord* r) {
    return r->is_root ? SIZE_MAX : 8 * r->results.size() + r->fields.size();
  };
  const auto ops = ir::all_ops();
  return *std::min_element(ops.begin(), ops.end(),
                           [&](const auto* a, const auto* b) { return size(a) < size(b); });
}

using Kind = Value::Kind;

void ItemReader::fail(std::string_view key, std::string_view code, std::string wanted,
                      std::string got, std::string hint) {
  std::string message = "wanted " + wanted + ", got " + got;
  good_ = false;
  r_.fail(place_, key,
          {.code = code,
           .op = clipped(title_),
           .field = std::string(key),
           .wanted = std::move(wanted),
           .got = std::move(got),
           .message = std::move(message),
           .hint = std::move(hint)});
}

void ItemReader::begin(std::string_view list, int64_t index, std::string_view title) {
  place_ = {list, index, {nullptr, 0}};
  title_ = title;
  next_ = 0;
  good_ = true;
}

std::string ItemReader::did_you_mean(std::string_view text,
                                     const std::vector<std::string_view>& words) {
  if (r_.findings().total() >= base::kMaxFindings) return {};
  const std::string_view near = base::nearest(text, words);
  return near.empty() ? "" : "did you mean '" + std::string(near) + "'?";
}

void ItemReader::check_keys(const Item& item, const std::vector<std::string_view>& allowed) {
  size_t at = 0;
  for (const auto& [key, value] : d_.of(item)) {
    const bool in_order = at < allowed.size() && allowed[at] == key;
    ++at;
    if (in_order || std::find(allowed.begin(), allowed.end(), key) != allowed.end()) continue;
    const std::string shown = clipped(key);
    fail(shown, "E-KEY", "a known key", "'" + shown + "'", did_you_mean(key, allowed));
  }
}

const Value* ItemReader::find(const Item& item, std::string_view key) {
  const Value* v = d_.find(item, key, next_);
  ++next_;
  return v;
}

const Value* ItemReader::member(const Item& item, std::string_view key, Kind kind,
                                std::string_view wanted, bool may_miss) {
  const Value* v = find(item, key);
  if (v == nullptr || v->kind == Kind::null) {
    const bool nullable =
        key == "strides" || key == "format" || key == "scatter" || key == "slot" || key == "rows";
    if (!may_miss || (v != nullptr && !nullable)) {
      fail(key, v == nullptr ? "E-KEY" : "E-JSON", std::string(wanted),
           v == nullptr ? "no such key" : "null");
    }
    return nullptr;
  }
  if (v->kind == kind) return v;
  fail(key, "E-JSON", std::string(wanted), describe(*v));
  return nullptr;
}

std::string_view ItemReader::text(const Item& item, std::string_view key) {
  const Value* v = member(item, key, Kind::string, "a string");
  return v == nullptr ? std::string_view() : v->text;
}

int64_t ItemReader::integer(const Item& item, std::string_view key, int64_t otherwise,
                            bool may_miss) {
  const Value* v = member(item, key, Kind::integer, "an integer", may_miss);
  return v == nullptr ? otherwise : v->integer;
}

int ItemReader::word(const Item& item, std::string_view key, std::string_view (*name_of)(int),
                     bool may_miss) {
  const Value* v = member(item, key, Kind::string, "a word", may_miss);
  return v == nullptr ? -1 : word_of(*v, key, name_of);
}

int ItemReader::word_of(const Value& v, std::string_view key, std::string_view (*name_of)(int)) {
  constexpr int kMostWords = 64;
  for (int i = 0; i < kMostWords; ++i) {
    const std::string_view w = name_of(i);
    if (w.empty() && i > 0) break;
    if (!w.empty() && w == v.text) return i;
  }
  std::vector<std::string_view> words;
  std::string wanted;
  for (int i = 0; i < kMostWords; ++i) {
    const std::string_view w = name_of(i);
    if (w.empty() && i > 0) break;
    if (w.empty()) continue;
    words.push_back(w);
    wanted += (wanted.empty() ? "" : ", ") + std::string(w);
  }
  fail(key, "E-WORD", wanted, describe(v), did_you_mean(v.text, words));
  return -1;
}

Strides ItemReader::strides(const Item& item) {
  const Value* v = member(item, "strides", Kind::list, "a list of integers or null", true);
  std::array<int64_t, kMaxRank> s{};
  if (v == nullptr) return {};
  const std::span<const Value> items = d_.of(*v);
  if (items.size() > kMaxRank || items.empty()) {
    fail("strides", "E-STRIDE", "1 to 8 strides", std::to_string(items.size()));
    return {};
  }
  for (size_t i = 0; i < items.size(); ++i) {
    if (items[i].kind != Kind::integer) {
      fail("strides", "E-JSON", "a list of integers", describe(items[i]));
      return {};
    }
    s[i] = items[i].integer;
  }
  return Strides(s.data(), static_cast<int>(items.size()));
}

bool ItemReader::real(const Value& v, double& x, bool allow_nan) {
  if (v.kind == Kind::integer || v.kind == Kind::real) {
    x = v.kind == Kind::real ? v.real : static_cast<double>(v.integer);
    return true;
  }
  if (v.kind != Kind::string) return false;
  if (v.text == "inf" || v.text == "-inf") {
    x = std::numeric_limits<double>::infinity() * (v.text[0] == '-' ? -1 : 1);
    return true;
  }
  x = std::numeric_limits<double>::quiet_NaN();
  return allow_nan && v.text == "nan";
}

}  // namespace cohort::json
