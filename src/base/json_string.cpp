#include "base/json_string.h"

namespace cohort::base {

void append_json_string(std::string& out, std::string_view text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  out += '"';
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20) {
      out.append("\\u00").append(1, kDigits[byte >> 4]).append(1, kDigits[byte & 15]);
      continue;
    }
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  out += '"';
}

std::string json_string(std::string_view text) {
  std::string s;
  append_json_string(s, text);
  return s;
}

}  // namespace cohort::base
