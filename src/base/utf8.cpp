#include "base/utf8.h"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace cohort::base {

namespace {

// Length of the well-formed UTF-8 sequence at the front of s (Unicode 15, table 3-7), or 0.
size_t sequence_length(std::string_view s) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(s[i]); };
  const auto between = [&](size_t i, int low, int high) {
    return i < s.size() && byte(i) >= low && byte(i) <= high;
  };
  const uint8_t a = byte(0);
  if (a < 0x80) return 1;
  if (a < 0xC2 || a > 0xF4) return 0;
  if (a < 0xE0) return between(1, 0x80, 0xBF) ? 2 : 0;
  if (a < 0xF0) {
    const int low = a == 0xE0 ? 0xA0 : 0x80;
    const int high = a == 0xED ? 0x9F : 0xBF;
    return between(1, low, high) && between(2, 0x80, 0xBF) ? 3 : 0;
  }
  const int low = a == 0xF0 ? 0x90 : 0x80;
  const int high = a == 0xF4 ? 0x8F : 0xBF;
  return between(1, low, high) && between(2, 0x80, 0xBF) && between(3, 0x80, 0xBF) ? 4 : 0;
}

// Bytes of the character at the front of s that a terminal only shows, or 0.
size_t printable_length(std::string_view s) {
  const bool acts = static_cast<uint8_t>(s[0]) < 0x20 || s[0] == 0x7F;
  return acts ? 0 : sequence_length(s);
}

}  // namespace

bool is_clean_utf8(std::string_view text) {
  while (!text.empty()) {
    const size_t length = printable_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

void make_printable(std::string& text) {
  if (is_clean_utf8(text)) return;
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string shown;
  for (size_t i = 0; i < text.size();) {
    const size_t n = text[i] == '\n' ? 1 : printable_length(std::string_view(text).substr(i));
    if (n > 0) {
      shown.append(text, i, n);
    } else {
      const auto byte = static_cast<uint8_t>(text[i]);
      shown.append("\\x").append(1, kDigits[byte >> 4]).append(1, kDigits[byte & 15]);
    }
    i += std::max<size_t>(n, 1);
  }
  text = std::move(shown);
}

}  // namespace cohort::base
