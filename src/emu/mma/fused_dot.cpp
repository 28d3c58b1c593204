#include "emu/mma/fused_dot.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "emu/mma/cut_sum.h"
#include "numerics/codec.h"

namespace cohort::emu {

namespace {

int product_exponent(const Exact& a, const Exact& b) { return a.exponent + b.exponent; }

}  // namespace

Exact decode_accumulator(Accumulator type, uint32_t bits, int scale) {
  Exact x = decode(type == Accumulator::f16 ? Element::f16 : Element::f32, bits);
  x.exponent = static_cast<int16_t>(x.exponent - scale);
  return x;
}

uint32_t fused_dot(std::span<const Exact> a, std::span<const Exact> b, const Exact& c,
                   const DotRule& rule, BlockScale scale, int nudge) {
  Special special;
  special.add(c);
  special.nan = special.nan || scale.not_a_number;
  int largest = c.significand != 0 ? c.exponent : kNothing;
  for (size_t k = 0; k < a.size(); ++k) {
    special.add(a[k], b[k]);
    if (a[k].significand == 0 || b[k].significand == 0) continue;
    largest = std::max(largest, product_exponent(a[k], b[k]) + scale.exponent);
  }
  if (special.any()) return special.bits(rule.accumulator);
  if (largest == kNothing) return 0;

  CutSum sum(largest, rule);
  sum.add(c.negative, c.significand, c.exponent - c.fraction_bits);
  for (size_t k = 0; k < a.size(); ++k) {
    const uint64_t product = uint64_t{a[k].significand} * b[k].significand;
    sum.add(
        a[k].negative != b[k].negative, product,
        product_exponent(a[k], b[k]) + scale.exponent - a[k].fraction_bits - b[k].fraction_bits);
  }
  sum.nudge(nudge);
  return sum.bits();
}

uint32_t fused_dot(std::span<const Exact> a, std::span<const Exact> b, uint32_t c,
                   const DotRule& rule, BlockScale scale) {
  return fused_dot(a, b, decode_accumulator(rule.accumulator, c), rule, scale);
}

namespace {

// An f16 has a leading one where an fp8 of the same value is subnormal.
Exact as_f16(Exact x) {
  if (x.kind != Exact::Kind::number || x.significand == 0) return x;
  while (x.significand >> x.fraction_bits == 0 && x.exponent > -14) {
    x.significand <<= 1;
    --x.exponent;
  }
  return x;
}

uint32_t plain_sum(uint32_t x, uint32_t y, Accumulator type) {
  if (type == Accumulator::f32) {
    const float sum = std::bit_cast<float>(x) + std::bit_cast<float>(y);
    return std::isnan(sum) ? 0x7FFFFFFF : std::bit_cast<uint32_t>(sum);
  }
  const double sum = double{numerics::decode_f16(static_cast<uint16_t>(x))} +
                     double{numerics::decode_f16(static_cast<uint16_t>(y))};
  return numerics::encode(numerics::kF16, sum, numerics::Round::nearest_even,
                          numerics::Overflow::ieee);
}

}  // namespace

uint32_t hopper_fp8_mma(std::span<const Exact, 32> a, std::span<const Exact, 32> b, uint32_t c,
                        Accumulator accumulator) {
  const DotRule& rule = accumulator == Accumulator::f16 ? kDotF16 : kDotF32;
  uint32_t sum = 0;
  for (size_t half = 0; half < 2; ++half) {
    std::array<Exact, 16> x;
    std::array<Exact, 16> y;
    size_t n = 0;
    for (size_t k = 0; k < a.size(); ++k) {
      if ((k % 4) / 2 != half) continue;
      x[n] = as_f16(a[k]);
      y[n++] = as_f16(b[k]);
    }
    sum = fused_dot(x, y, sum, rule);
  }
  return plain_sum(c, sum, accumulator);
}

}  // namespace cohort::emu
