// Elements of the operands of a tensor core, exactly.
#pragma once

#include <cstdint>

namespace cohort::emu {

/// Formats of operands. A tf32 is the upper 19 bits of the 32 that hold it.
enum class Element : uint8_t { f16, bf16, tf32, f32, e4m3, e5m2, e2m3, e3m2, e2m1 };

/// A value as sign, significand and exponent: (-1)^negative * significand * 2^(exponent -
/// fraction_bits). The exponent is the one that is stored, of a subnormal the least, so a
/// significand may lack its leading one.
struct Exact {
  enum class Kind : uint8_t { number, infinity, not_a_number };
  Kind kind = Kind::number;
  bool negative = false;
  uint8_t fraction_bits = 0;
  int16_t exponent = 0;
  uint32_t significand = 0;

  [[nodiscard]] bool is_zero() const { return kind == Kind::number && significand == 0; }
};

/// The value of a code, in its low bits. e4m3 has a NaN and no infinity; the formats of six and
/// four bits have neither.
[[nodiscard]] Exact decode(Element element, uint32_t code);
/// Bits of a code: 32 for tf32.
[[nodiscard]] int bits_of(Element element);

}  // namespace cohort::emu
