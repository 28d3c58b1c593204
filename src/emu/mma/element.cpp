#include "emu/mma/element.h"

#include "numerics/codec.h"

namespace cohort::emu {

namespace {

using numerics::Spec;

// The upper 19 bits of an f32.
constexpr Spec kTf32{8, 10, 127, 0x3FBFF, 0x3FC00, 0x3FFFF};
constexpr Spec kF32{8, 23, 127, 0x7F7FFFFF, 0x7F800000, 0x7FFFFFFF};

struct Layout {
  const Spec* spec;
  uint8_t unused_bits = 0;  ///< Below the fraction.
};

// In the order of Element.
constexpr Layout kLayouts[] = {
    {&numerics::kF16},  {&numerics::kBf16}, {&kTf32, 13},       {&kF32},
    {&numerics::kE4m3}, {&numerics::kE5m2}, {&numerics::kE2m3}, {&numerics::kE3m2},
    {&numerics::kE2m1}};

}  // namespace

Exact decode(Element element, uint32_t code) {
  const Layout& l = kLayouts[static_cast<int>(element)];
  const Spec& s = *l.spec;
  code >>= l.unused_bits;
  const uint32_t sign = 1U << (s.exponent_bits + s.mantissa_bits);
  const uint32_t magnitude = code & (sign - 1);
  const uint32_t fraction = magnitude & ((1U << s.mantissa_bits) - 1);
  const uint32_t exponent = magnitude >> s.mantissa_bits;
  Exact x;
  x.negative = (code & sign) != 0;
  x.fraction_bits = static_cast<uint8_t>(s.mantissa_bits);
  x.significand = exponent == 0 ? fraction : fraction | 1U << s.mantissa_bits;
  x.exponent = static_cast<int16_t>((exponent == 0 ? 1 : static_cast<int>(exponent)) - s.bias);
  if (magnitude <= s.max_code) return x;
  const bool is_infinity = s.inf_code >= 0 && magnitude == static_cast<uint32_t>(s.inf_code);
  x.kind = is_infinity ? Exact::Kind::infinity : Exact::Kind::not_a_number;
  return x;
}

int bits_of(Element element) {
  const Layout& l = kLayouts[static_cast<int>(element)];
  return 1 + l.spec->exponent_bits + l.spec->mantissa_bits + l.unused_bits;
}

}  // namespace cohort::emu
