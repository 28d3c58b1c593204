// 64-bit arithmetic on sizes that says when it overflows.
#pragma once

#include <cstdint>
#include <optional>

namespace cohort::base {

/// a * b, or nothing when it does not fit in 63 bits.
[[nodiscard]] inline std::optional<int64_t> checked_mul(int64_t a, int64_t b) {
  int64_t r = 0;
  if (__builtin_mul_overflow(a, b, &r)) return std::nullopt;
  return r;
}

/// a + b, or nothing when it does not fit in 63 bits.
[[nodiscard]] inline std::optional<int64_t> checked_add(int64_t a, int64_t b) {
  int64_t r = 0;
  if (__builtin_add_overflow(a, b, &r)) return std::nullopt;
  return r;
}

/// ceil(a / b) for a >= 0, b > 0.
[[nodiscard]] constexpr int64_t ceil_div(int64_t a, int64_t b) { return a / b + (a % b != 0); }

/// The smallest multiple of b that is at least a, or nothing when it does not fit.
[[nodiscard]] inline std::optional<int64_t> round_up(int64_t a, int64_t b) {
  return checked_mul(ceil_div(a, b), b);
}

}  // namespace cohort::base
