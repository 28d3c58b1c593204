// Codes of the narrow number formats, bit by bit. Sources: IEEE 754, OCP OFP8 v1.0, OCP MX v1.0,
// PTX ISA cvt (NaN and saturation rules).
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include <cohort/types.h>

namespace cohort::numerics {

/// A binary format of at most 16 bits with a sign.
struct Spec {
  int exponent_bits;
  int mantissa_bits;
  int bias;
  uint32_t max_code;  ///< Largest finite code without sign.
  int32_t inf_code;   ///< -1: none.
  int32_t nan_code;   ///< -1: none; NaN then encodes as max_code, as PTX cvt does.
};

inline constexpr Spec kF16{5, 10, 15, 0x7BFF, 0x7C00, 0x7FFF};
inline constexpr Spec kBf16{8, 7, 127, 0x7F7F, 0x7F80, 0x7FFF};
inline constexpr Spec kE4m3{4, 3, 7, 0x7E, -1, 0x7F};
inline constexpr Spec kE5m2{5, 2, 15, 0x7B, 0x7C, 0x7F};
inline constexpr Spec kE3m2{3, 2, 3, 0x1F, -1, -1};
inline constexpr Spec kE2m3{2, 3, 1, 0x1F, -1, -1};
inline constexpr Spec kE2m1{2, 1, 1, 0x7, -1, -1};

/// The spec of a type that has one; e8m0, f32 and integers have none.
constexpr const Spec* find_spec(DType type) {
  switch (type) {
    case DType::f16:
      return &kF16;
    case DType::bf16:
      return &kBf16;
    case DType::e4m3:
      return &kE4m3;
    case DType::e5m2:
      return &kE5m2;
    case DType::e3m2:
      return &kE3m2;
    case DType::e2m3:
      return &kE2m3;
    case DType::e2m1:
      return &kE2m1;
    default:
      return nullptr;
  }
}

/// The value of a code; every value of these formats is an f32.
inline float decode(const Spec& s, uint32_t code) {
  const uint32_t sign_bit = uint32_t{1} << (s.exponent_bits + s.mantissa_bits);
  const uint32_t magnitude = code & (sign_bit - 1);
  const float sign = (code & sign_bit) != 0 ? -1.0f : 1.0f;
  if (magnitude > s.max_code) {
    const bool inf = s.inf_code >= 0 && magnitude == static_cast<uint32_t>(s.inf_code);
    return inf ? sign * std::numeric_limits<float>::infinity()
               : std::numeric_limits<float>::quiet_NaN();
  }
  const int exponent = static_cast<int>(magnitude >> s.mantissa_bits);
  const auto fraction = static_cast<int>(magnitude & ((1u << s.mantissa_bits) - 1));
  const int significand = exponent == 0 ? fraction : fraction + (1 << s.mantissa_bits);
  const int power = (exponent == 0 ? 1 : exponent) - s.bias - s.mantissa_bits;
  return sign * std::ldexp(static_cast<float>(significand), power);
}

/// How a value between two codes is rounded.
enum class Round : uint8_t { nearest_even, zero, up, random };
/// What happens above the largest finite value.
enum class Overflow : uint8_t {
  saturate,  ///< Largest finite code, infinities too (PTX .satfinite).
  ieee,      ///< Infinity where the format has one, else saturate.
};

/// The code of a value. `random`: 32 bits r; the magnitude is rounded up when the part cut off,
/// in units of the last place, is at least 1 - r / 2^32.
inline uint32_t encode(const Spec& s, double x, Round round = Round::nearest_even,
                       Overflow overflow = Overflow::saturate, uint32_t random = 0) {
  const uint32_t sign = std::signbit(x) ? uint32_t{1} << (s.exponent_bits + s.mantissa_bits) : 0;
  if (std::isnan(x)) {
    return s.nan_code >= 0 ? static_cast<uint32_t>(s.nan_code) : s.max_code;
  }
  const bool can_overflow = overflow == Overflow::ieee && s.inf_code >= 0;
  const uint32_t beyond = can_overflow ? static_cast<uint32_t>(s.inf_code) : s.max_code;
  const double v = std::fabs(x);
  if (std::isinf(v)) return sign | beyond;
  if (v == 0) return sign;
  int exponent = std::ilogb(v);
  if (exponent < 1 - s.bias) exponent = 1 - s.bias;
  const bool away = round != Round::zero && !(round == Round::up && sign != 0);
  if (exponent > s.bias + 2) return sign | (away ? beyond : s.max_code);
  const double scaled = std::ldexp(v, s.mantissa_bits - exponent);
  const double whole = std::floor(scaled);
  const double rest = scaled - whole;
  auto m = static_cast<uint32_t>(whole);
  bool up = false;
  switch (round) {
    case Round::nearest_even:
      up = rest > 0.5 || (rest == 0.5 && (m & 1) != 0);
      break;
    case Round::zero:
      break;
    case Round::up:
      up = rest > 0 && sign == 0;
      break;
    case Round::random:
      up = rest * 4294967296.0 + random >= 4294967296.0;
      break;
  }
  if (up) ++m;
  // The implicit one of a normal significand adds 1 to the exponent field; so does a carry.
  const uint32_t code = (static_cast<uint32_t>(exponent + s.bias - 1) << s.mantissa_bits) + m;
  if (code <= s.max_code) return sign | code;
  return sign | (away ? beyond : s.max_code);
}

/// 2^(code - 127); 0xFF is NaN. Exact: 2^-127 is a subnormal f32.
inline float decode_e8m0(uint8_t code) {
  if (code == 0xFF) return std::numeric_limits<float>::quiet_NaN();
  return std::bit_cast<float>(code == 0 ? 0x00400000u : static_cast<uint32_t>(code) << 23);
}

/// bf16 bits of an f32, nearest even, overflow to infinity.
inline uint16_t encode_bf16(float x) {
  const auto b = std::bit_cast<uint32_t>(x);
  if ((b & 0x7FFFFFFF) > 0x7F800000) return 0x7FFF;
  return static_cast<uint16_t>((b + 0x7FFF + ((b >> 16) & 1)) >> 16);
}
inline float decode_bf16(uint16_t code) {
  return std::bit_cast<float>(static_cast<uint32_t>(code) << 16);
}

/// x rounded to a type and read back: fp8 saturates, f16 and bf16 overflow to infinity.
inline float round_to(DType type, float x) {
  if (type == DType::f32) return x;
  if (type == DType::bf16) return decode_bf16(encode_bf16(x));
  const Spec* s = find_spec(type);
  const Overflow o = type == DType::f16 ? Overflow::ieee : Overflow::saturate;
  return decode(*s, encode(*s, x, Round::nearest_even, o));
}

/// Decodes `count` elements that begin at element `first` of `data`; e2m1 in pairs, fp6 packed
/// little-endian. Integers and e8m0 too.
void decode_row(DType type, const void* data, int64_t first, int64_t count, float* out);
/// Encodes `count` elements to element `first` of `data`; fp8 and narrower saturate, f16 and bf16
/// overflow to infinity. `first` and `count` of e2m1 must be even, unless the row ends there.
void encode_row(DType type, const float* x, int64_t first, int64_t count, void* data);

}  // namespace cohort::numerics
