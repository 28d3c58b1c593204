#include "emu/mma/element.h"

namespace cohort::emu {

namespace {

// What the largest exponent means.
enum class Top : uint8_t {
  ieee,     ///< infinity and NaN
  one_nan,  ///< numbers, but for all ones
  numbers,
};

struct Layout {
  uint8_t exponent_bits;
  uint8_t fraction_bits;
  uint8_t unused_bits;  ///< below the fraction
  Top top;
};

// In the order of Element. OCP 8-bit Floating Point and Microscaling Formats, IEEE 754, PTX ISA.
constexpr Layout kLayouts[] = {
    {5, 10, 0, Top::ieee},   {8, 7, 0, Top::ieee},    {8, 10, 13, Top::ieee},
    {8, 23, 0, Top::ieee},   {4, 3, 0, Top::one_nan}, {5, 2, 0, Top::ieee},
    {2, 3, 0, Top::numbers}, {3, 2, 0, Top::numbers}, {2, 1, 0, Top::numbers},
};

}  // namespace

Exact decode(Element element, uint32_t code) {
  const Layout& l = kLayouts[static_cast<int>(element)];
  code >>= l.unused_bits;
  const uint32_t fraction = code & ((1U << l.fraction_bits) - 1);
  const uint32_t top = (1U << l.exponent_bits) - 1;
  const uint32_t exponent = (code >> l.fraction_bits) & top;
  const int bias = (1 << (l.exponent_bits - 1)) - 1;
  Exact x;
  x.negative = ((code >> (l.fraction_bits + l.exponent_bits)) & 1) != 0;
  x.fraction_bits = l.fraction_bits;
  x.significand = exponent == 0 ? fraction : fraction | 1U << l.fraction_bits;
  x.exponent = static_cast<int16_t>((exponent == 0 ? 1 : static_cast<int>(exponent)) - bias);
  if (exponent == top && l.top == Top::ieee) {
    x.kind = fraction == 0 ? Exact::Kind::infinity : Exact::Kind::not_a_number;
  }
  if (exponent == top && l.top == Top::one_nan && fraction + 1 == 1U << l.fraction_bits) {
    x.kind = Exact::Kind::not_a_number;
  }
  return x;
}

int bits_of(Element element) {
  const Layout& l = kLayouts[static_cast<int>(element)];
  return 1 + l.exponent_bits + l.fraction_bits + l.unused_bits;
}

}  // namespace cohort::emu
