// Literals: integers of four radixes, hexadecimal images of floats, decimal floats.
#include <charconv>
#include <cstddef>
#include <cstring>

#include "ptx/lexer.h"

namespace cohort::ptx {

namespace {

int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return 99;
}

// 0f and 0d are followed by exactly the digits of the type's bits.
void take_image(const char*& at, const char* end, Token& t) {
  const bool single = at[1] == 'f' || at[1] == 'F';
  const std::ptrdiff_t digits = single ? 8 : 16;
  const char* p = at + 2;
  uint64_t bits = 0;
  while (p < end && digit_of(*p) < 16) {
    bits = bits << 4 | static_cast<uint64_t>(digit_of(*p));
    ++p;
  }
  t.kind = single ? Token::Kind::f32 : Token::Kind::f64;
  t.value = bits;
  if (p - at - 2 != digits) {
    t.fault = single ? "0f without exactly 8 hexadecimal digits"
                     : "0d without exactly 16 hexadecimal digits";
    t.value = 0;
  }
  at = p;
}

void take_decimal_float(const char*& at, const char* end, Token& t) {
  double v = 0;
  const auto [p, error] = std::from_chars(at, end, v);
  t.kind = Token::Kind::f64;
  if (error != std::errc()) t.fault = "a number that no double holds";
  std::memcpy(&t.value, &v, sizeof v);
  at = p;
}

// A float has a point or an exponent after its decimal digits.
bool is_decimal_float(const char* at, const char* end) {
  while (at < end && *at >= '0' && *at <= '9') ++at;
  if (at == end) return false;
  if (*at == '.') return true;
  if (*at != 'e' && *at != 'E') return false;
  ++at;
  if (at < end && (*at == '+' || *at == '-')) ++at;
  return at < end && *at >= '0' && *at <= '9';
}

void take_integer(const char*& at, const char* end, Token& t) {
  int radix = 10;
  if (*at == '0' && at + 1 < end) {
    const char c = at[1];
    if (c == 'x' || c == 'X') {
      radix = 16;
      at += 2;
    } else if ((c == 'b' || c == 'B') && at + 2 < end && digit_of(at[2]) < 2) {
      radix = 2;
      at += 2;
    } else if (digit_of(c) < 10) {
      radix = 8;
    }
  }
  const char* begin = at;
  bool fits = true;
  uint64_t v = 0;
  for (; at < end && digit_of(*at) < radix; ++at) {
    uint64_t larger = 0;
    fits &= !__builtin_mul_overflow(v, static_cast<uint64_t>(radix), &larger) &&
            !__builtin_add_overflow(larger, static_cast<uint64_t>(digit_of(*at)), &v);
  }
  t.kind = Token::Kind::integer;
  t.value = fits ? v : 0;
  t.is_unsigned = v > INT64_MAX;
  if (at == begin) t.fault = "a number without digits";
  if (!fits) t.fault = "an integer of more than 64 bits";
  if (at < end && (*at == 'U' || *at == 'u')) {
    t.is_unsigned = true;
    ++at;
  }
}

}  // namespace

const char* take_number(const char* at, const char* end, Token& t) {
  const char* begin = at;
  const char second = at + 1 < end ? at[1] : '\0';
  if (*at == '0' && (second == 'f' || second == 'F' || second == 'd' || second == 'D')) {
    take_image(at, end, t);
  } else if (is_decimal_float(at, end)) {
    take_decimal_float(at, end, t);
  } else {
    take_integer(at, end, t);
  }
  if (at < end && is_name_char(*at)) {
    while (at < end && is_name_char(*at)) ++at;
    if (t.fault == nullptr) t.fault = "a number with letters at its end";
  }
  t.text = {begin, static_cast<size_t>(at - begin)};
  return at;
}

}  // namespace cohort::ptx
