#include "json/tree.h"

#include <algorithm>
#include <array>

#include "ir/canonical.h"

namespace cohort::json {

bool same(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  return a.empty() || (a.front() == b.front() && a.back() == b.back() && a == b);
}

const Value* Document::find(const Item& item, std::string_view key, size_t hint) const {
  const std::span<const Member> all = of(item);
  if (hint < all.size() && all[hint].key == key) return &all[hint].value;
  for (const Member& m : all) {
    if (same(m.key, key)) return &m.value;
  }
  return nullptr;
}

void Document::reserve_letters(size_t bytes) {
  letters_ = std::make_unique_for_overwrite<char[]>(bytes);
}

std::string_view Document::keep(std::string_view text) {
  char* const to = letters_.get() + used_;
  std::copy(text.begin(), text.end(), to);
  used_ += text.size();
  return {to, text.size()};
}

void Document::drop_items(size_t letters) {
  members.clear();
  entries.clear();
  used_ = letters;
}

std::string clipped(std::string_view text) {
  constexpr size_t kMost = 64;
  size_t n = text.size();
  if (n > kMost) {
    n = kMost;
    while (n > 0 && (static_cast<uint8_t>(text[n]) & 0xC0) == 0x80) --n;
  }
  return std::string(text.substr(0, n));
}

std::string describe(const Value& v) {
  switch (v.kind) {
    case Value::Kind::null:
      return "null";
    case Value::Kind::flag:
      return v.integer != 0 ? "true" : "false";
    case Value::Kind::integer:
      return std::to_string(v.integer);
    case Value::Kind::real:
      return std::string(v.text);
    case Value::Kind::string:
      return "\"" + clipped(v.text) + "\"";
    case Value::Kind::list:
      return "a list";
    case Value::Kind::object:
      return "an object";
  }
  return {};
}

bool check_top(const Document& d, base::Diagnostics& findings) {
  const auto fail = [&](std::string_view code, const std::string& key, std::string wanted,
                        std::string got) {
    std::string message = "wanted " + wanted + ", got " + got;
    findings.add({.code = code,
                  .op = "text",
                  .field = key,
                  .wanted = std::move(wanted),
                  .got = std::move(got),
                  .message = std::move(message),
                  .where = "/" + key});
  };
  const std::string version = std::to_string(ir::kJsonVersion);
  if (!d.has_version) {
    fail("E-VERSION", "cohort", version, "no such key");
  } else if (d.version.kind != Value::Kind::integer || d.version.integer != ir::kJsonVersion) {
    fail("E-VERSION", "cohort", version, describe(d.version));
  }
  if (!d.has_name || d.name.kind != Value::Kind::string) {
    fail(d.has_name ? "E-JSON" : "E-KEY", "name", "a string",
         d.has_name ? describe(d.name) : "no such key");
  }
  constexpr std::array kNames{"dims", "inputs", "nodes", "outputs"};
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (!d.has_list[i]) fail("E-KEY", kNames[i], "a list", "no such key");
  }
  return findings.empty();
}

}  // namespace cohort::json
