#include "io/launch_reader.h"

#include <algorithm>
#include <limits>

#include "base/nearest.h"

namespace cohort::io {

namespace {

std::string clipped(std::string_view text) {
  return text.size() <= 64 ? std::string(text) : std::string(text.substr(0, 64)) + "...";
}

std::string hint(std::string_view text, const std::vector<std::string_view>& words) {
  const std::string_view near = text.size() > 256 ? "" : base::nearest(text, words);
  return near.empty() ? "" : "did you mean '" + std::string(near) + "'?";
}

// The last part of a path: what a finding is about.
std::string field_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

void TreeReader::fail(const JsonNode& n, std::string_view code, std::string_view op,
                      std::string wanted, std::string got, std::string hint) {
  found_.add({.code = code,
              .op = clipped(op),
              .field = clipped(field_of(n.path)),
              .wanted = std::move(wanted),
              .got = std::move(got),
              .where = n.path,
              .hint = std::move(hint)});
}

std::string TreeReader::describe(const JsonNode& n) const {
  const JsonValue& v = value(n);
  switch (v.kind) {
    case JsonValue::Kind::null:
      return "null";
    case JsonValue::Kind::flag:
      return v.magnitude != 0 ? "true" : "false";
    case JsonValue::Kind::integer:
      return (v.is_negative ? "-" : "") + std::to_string(v.magnitude);
    case JsonValue::Kind::real:
      return "a number with a fraction";
    case JsonValue::Kind::string:
      return "'" + clipped(v.text) + "'";
    case JsonValue::Kind::list:
      return "a list of " + std::to_string(v.count);
    case JsonValue::Kind::object:
      break;
  }
  return "an object";
}

bool TreeReader::object(const JsonNode& n, std::string_view op, ListView<std::string_view> keys) {
  if (value(n).kind != JsonValue::Kind::object) {
    fail(n, "E-JSON", op, "an object", describe(n));
    return false;
  }
  bool is_good = true;
  for (int32_t at = value(n).first; at >= 0; at = tree_.values[static_cast<size_t>(at)].next) {
    const std::string& key = tree_.values[static_cast<size_t>(at)].key;
    if (std::find(keys.begin(), keys.end(), key) != keys.end()) continue;
    fail({at, n.path + "/" + clipped(key)}, "E-KEY", op, "a known key", "'" + clipped(key) + "'",
         hint(key, {keys.begin(), keys.end()}));
    is_good = false;
  }
  return is_good;
}

JsonNode TreeReader::member(const JsonNode& object, std::string_view key) const {
  return {tree_.find(object.at, key), object.path + "/" + std::string(key)};
}

JsonNode TreeReader::required(const JsonNode& object, std::string_view op, std::string_view key) {
  JsonNode n = member(object, key);
  if (!n.is_there()) fail(n, "E-KEY", op, "'" + std::string(key) + "'", "nothing");
  return n;
}

JsonNode TreeReader::one_of(const JsonNode& object, std::string_view op,
                            ListView<std::string_view> keys, std::string_view& key, bool may_miss) {
  JsonNode found;
  std::string all;
  int count = 0;
  for (const std::string_view k : keys) {
    all.append(all.empty() ? "" : ", ").append(k);
    const JsonNode n = member(object, k);
    if (!n.is_there()) continue;
    if (count++ == 0) found = n;
    if (count == 1) key = k;
  }
  if (count == 1 || (count == 0 && may_miss)) return found;
  fail(object, "E-KEY", op, "one of " + all,
       count == 0 ? "none" : std::to_string(count) + " of them");
  return {};
}

std::vector<JsonNode> TreeReader::list(const JsonNode& n, std::string_view op) {
  std::vector<JsonNode> all;
  if (value(n).kind != JsonValue::Kind::list) {
    fail(n, "E-JSON", op, "a list", describe(n));
    return all;
  }
  for (int32_t at = value(n).first; at >= 0; at = tree_.values[static_cast<size_t>(at)].next) {
    all.push_back({at, n.path + "/" + std::to_string(all.size())});
  }
  return all;
}

bool TreeReader::text(const JsonNode& n, std::string_view op, std::string& to) {
  if (value(n).kind != JsonValue::Kind::string) {
    fail(n, "E-JSON", op, "a string", describe(n));
    return false;
  }
  to = value(n).text;
  return true;
}

bool TreeReader::flag(const JsonNode& n, std::string_view op, bool& to) {
  if (value(n).kind != JsonValue::Kind::flag) {
    fail(n, "E-JSON", op, "true or false", describe(n));
    return false;
  }
  to = value(n).magnitude != 0;
  return true;
}

bool TreeReader::integer(const JsonNode& n, std::string_view op, int64_t least, int64_t most,
                         int64_t& to) {
  const JsonValue& v = value(n);
  if (v.kind != JsonValue::Kind::integer) {
    fail(n, "E-JSON", op, "an integer", describe(n));
    return false;
  }
  constexpr auto kMost = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  const bool fits = v.magnitude <= kMost;
  const int64_t x = fits ? static_cast<int64_t>(v.magnitude) * (v.is_negative ? -1 : 1) : 0;
  if (!fits || x < least || x > most) {
    fail(n, "E-LAUNCH", op, std::to_string(least) + " .. " + std::to_string(most), describe(n));
    return false;
  }
  to = x;
  return true;
}

bool TreeReader::real(const JsonNode& n, std::string_view op, double& to) {
  const JsonValue& v = value(n);
  if (v.kind == JsonValue::Kind::integer || v.kind == JsonValue::Kind::real) {
    to = v.real;
    return true;
  }
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  if (v.kind == JsonValue::Kind::string && v.text == "nan") {
    to = std::numeric_limits<double>::quiet_NaN();
  } else if (v.kind == JsonValue::Kind::string && v.text == "inf") {
    to = kInfinite;
  } else if (v.kind == JsonValue::Kind::string && v.text == "-inf") {
    to = -kInfinite;
  } else {
    fail(n, "E-JSON", op, "a number, 'nan', 'inf' or '-inf'", describe(n));
    return false;
  }
  return true;
}

bool TreeReader::word(const JsonNode& n, std::string_view op,
                      const std::vector<std::string_view>& words, int& to) {
  std::string given;
  if (!text(n, op, given)) return false;
  const auto at = std::find(words.begin(), words.end(), given);
  if (at == words.end()) {
    std::string all;
    for (const std::string_view w : words) all.append(all.empty() ? "" : ", ").append(w);
    fail(n, "E-LAUNCH", op, "one of " + all, describe(n), hint(given, words));
    return false;
  }
  to = static_cast<int>(at - words.begin());
  return true;
}

}  // namespace cohort::io
