// Codes of the narrow number formats, bit by bit. Sources: IEEE 754, OCP OFP8 v1.0, OCP MX v1.0,
// PTX ISA cvt (NaN and saturation rules).
#pragma once

#include <bit>
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

/// 2^power for -1022 <= power <= 1023.
constexpr double power_of_two(int power) {
  return std::bit_cast<double>(static_cast<uint64_t>(power + 1023) << 52);
}

/// The value of a code; every value of these formats is an f32.
constexpr float decode(const Spec& s, uint32_t code) {
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
  return sign * static_cast<float>(significand * power_of_two(power));
}

/// How a value between two codes is rounded.
enum class Round : uint8_t { nearest_even, zero, up, random };
/// What happens above the largest finite value.
enum class Overflow : uint8_t {
  saturate,  ///< Largest finite code, infinities too (PTX .satfinite).
  ieee,      ///< Infinity; NaN where the format has only that; else largest finite code.
};

/// Whether the part of a significand below bit `shift` rounds its magnitude up.
constexpr bool rounds_up(uint64_t significand, int shift, uint64_t whole, Round round,
                         bool negative, uint32_t random) {
  // Shifts beyond 63 drop the whole significand: less than half of the last place.
  const uint64_t rest = shift > 63 ? significand : significand & ((uint64_t{1} << shift) - 1);
  const uint64_t half = shift > 63 ? 0 : uint64_t{1} << (shift - 1);
  switch (round) {
    case Round::nearest_even:
      return half != 0 && (rest > half || (rest == half && (whole & 1) != 0));
    case Round::zero:
      return false;
    case Round::up:
      return rest != 0 && !negative;
    case Round::random: {
      const uint64_t part = shift - 32 > 63 ? 0 : rest >> (shift - 32);
      return part + random > 0xFFFFFFFF;
    }
  }
  return false;
}

/// The code of a value. `random`: 32 bits r; the magnitude is rounded up when the part cut off,
/// in units of the last place, is at least 1 - r / 2^32.
constexpr uint32_t encode(const Spec& s, double x, Round round = Round::nearest_even,
                          Overflow overflow = Overflow::saturate, uint32_t random = 0) {
  const auto b = std::bit_cast<uint64_t>(x);
  const bool negative = b >> 63 != 0;
  const uint64_t magnitude = b & 0x7FFFFFFFFFFFFFFF;
  constexpr uint64_t kInf = uint64_t{0x7FF} << 52;
  if (magnitude > kInf) return s.nan_code >= 0 ? static_cast<uint32_t>(s.nan_code) : s.max_code;
  const uint32_t sign = negative ? uint32_t{1} << (s.exponent_bits + s.mantissa_bits) : 0;
  const int32_t special = s.inf_code >= 0 ? s.inf_code : s.nan_code;
  const bool can_overflow = overflow == Overflow::ieee && special >= 0;
  const uint32_t beyond = can_overflow ? static_cast<uint32_t>(special) : s.max_code;
  if (magnitude == kInf) return sign | beyond;
  const bool away = round != Round::zero && !(round == Round::up && negative);
  const int field = static_cast<int>(magnitude >> 52);
  const int own_exponent = (field == 0 ? 1 : field) - 1023;
  const int exponent = own_exponent < 1 - s.bias ? 1 - s.bias : own_exponent;
  if (exponent > s.bias + 2) return sign | (away ? beyond : s.max_code);
  const uint64_t significand = (magnitude & 0xFFFFFFFFFFFFF) | (field == 0 ? 0 : uint64_t{1} << 52);
  const int shift = 52 - s.mantissa_bits + exponent - own_exponent;
  const uint64_t whole = shift > 63 ? 0 : significand >> shift;
  const bool up = rounds_up(significand, shift, whole, round, negative, random);
  // The implicit one of a normal significand adds 1 to the exponent field; so does a carry.
  const uint32_t code = (static_cast<uint32_t>(exponent + s.bias - 1) << s.mantissa_bits) +
                        static_cast<uint32_t>(whole) + (up ? 1 : 0);
  if (code <= s.max_code) return sign | code;
  return sign | (away ? beyond : s.max_code);
}

/// 2^(code - 127); 0xFF is NaN. Exact: 2^-127 is a subnormal f32.
constexpr float decode_e8m0(uint8_t code) {
  if (code == 0xFF) return std::numeric_limits<float>::quiet_NaN();
  return std::bit_cast<float>(code == 0 ? 0x00400000u : static_cast<uint32_t>(code) << 23);
}

/// UE8M0 code of |x|: the power of two above (`up`), below (`zero`) or nearest, a tie going to the
/// larger one. Saturates at 2^-127 and 2^127, infinity too; NaN gives 0xFF.
constexpr uint8_t encode_e8m0(float x, Round round = Round::nearest_even) {
  const uint32_t b = std::bit_cast<uint32_t>(x) & 0x7FFFFFFF;
  if (b > 0x7F800000) return 0xFF;
  // In units of 2^-127, so that the exponent of a subnormal is not 0 either.
  const uint32_t exponent = b >> 23;
  const bool above_tiny = exponent > 0 || b > 0x400000;
  if (!above_tiny) return 0;
  const uint32_t mantissa = exponent > 0 ? b & 0x7FFFFF : (b << 1) & 0x7FFFFF;
  const bool up =
      round == Round::up ? mantissa != 0 : round == Round::nearest_even && mantissa >= 0x400000;
  const uint32_t code = exponent + (up ? 1 : 0);
  return static_cast<uint8_t>(code > 254 ? 254 : code);
}

/// bf16 bits of an f32, nearest even, overflow to infinity.
constexpr uint16_t encode_bf16(float x) {
  const auto b = std::bit_cast<uint32_t>(x);
  if ((b & 0x7FFFFFFF) > 0x7F800000) return 0x7FFF;
  return static_cast<uint16_t>((b + 0x7FFF + ((b >> 16) & 1)) >> 16);
}
constexpr float decode_bf16(uint16_t code) {
  return std::bit_cast<float>(static_cast<uint32_t>(code) << 16);
}

/// The value of an f16 code, in a few instructions that vectorise.
constexpr float decode_f16(uint16_t code) {
  const uint32_t magnitude = code & 0x7FFFu;
  const uint32_t sign = (code & 0x8000u) << 16;
  // A multiplication by 2^112 moves the exponent and normalises subnormals at once.
  const float value = std::bit_cast<float>(magnitude << 13) * 0x1p112f;
  const uint32_t special = 0x7F800000u | (magnitude & 0x3FF) << 13;
  const uint32_t bits = magnitude >= 0x7C00 ? special : std::bit_cast<uint32_t>(value);
  return std::bit_cast<float>(sign | bits);
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
/// Encodes `count` elements to element `first` of `data`, nearest even; fp8 and narrower saturate,
/// f16 and bf16 overflow to infinity, e8m0 takes the nearest power of two, integers saturate (NaN
/// gives 0). Bits of the neighbours in shared bytes stay.
void encode_row(DType type, const float* x, int64_t first, int64_t count, void* data);

/// The code of element i of packed codes of at most 8 bits, fp6 across byte borders too.
[[nodiscard]] uint32_t get_code(DType type, const uint8_t* data, int64_t i);
/// Puts a code there; its neighbours stay.
void put_code(DType type, uint8_t* data, int64_t i, uint32_t code);

}  // namespace cohort::numerics
