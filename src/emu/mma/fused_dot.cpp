#include "emu/mma/fused_dot.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "numerics/codec.h"

namespace cohort::emu {

namespace {

using Wide = __int128;
constexpr int kNothing = std::numeric_limits<int>::min();

/// A special result, or that there is none.
struct Special {
  bool nan = false;
  bool plus = false;
  bool minus = false;

  void add(const Exact& x) {
    nan = nan || x.kind == Exact::Kind::not_a_number;
    if (x.kind == Exact::Kind::infinity) (x.negative ? minus : plus) = true;
  }
  void add(const Exact& a, const Exact& b) {
    const bool number_a = a.kind == Exact::Kind::number;
    const bool number_b = b.kind == Exact::Kind::number;
    if (number_a && number_b) return;
    if (a.kind == Exact::Kind::not_a_number || b.kind == Exact::Kind::not_a_number || a.is_zero() ||
        b.is_zero()) {
      nan = true;
    } else {
      (a.negative != b.negative ? minus : plus) = true;
    }
  }
  [[nodiscard]] bool any() const { return nan || plus || minus; }
  [[nodiscard]] uint32_t bits(Accumulator type) const {
    const bool half = type == Accumulator::f16;
    if (nan || (plus && minus)) return half ? 0x7FFF : 0x7FFFFFFF;
    const uint32_t infinity = half ? 0x7C00 : 0x7F800000;
    return minus ? infinity | (half ? 0x8000U : 0x80000000U) : infinity;
  }
};

// Adds +-significand * 2^exponent, in units of 2^unit, cut toward zero.
void add_cut(Wide& sum, bool negative, uint64_t significand, int exponent, int unit) {
  constexpr int kBits = 64;
  const int shift = exponent - unit;
  Wide x = 0;
  if (shift >= 0) {
    x = static_cast<Wide>(significand) << shift;
  } else if (shift > -kBits) {
    x = static_cast<Wide>(significand >> -shift);
  }
  sum += negative ? -x : x;
}

int leading_bit(Wide x) {
  const auto high = static_cast<uint64_t>(x >> 64);
  if (high != 0) return 127 - std::countl_zero(high);
  return 63 - std::countl_zero(static_cast<uint64_t>(x));
}

// magnitude * 2^unit as a float of `fraction` bits with exponents from `least` to `most`; toward
// zero, or to nearest even. Its encoding without the sign.
uint32_t encode(Wide magnitude, int unit, int fraction, int least, int most, bool nearest) {
  if (magnitude == 0) return 0;
  int exponent = std::max(leading_bit(magnitude) + unit, least);
  const int drop = exponent - fraction - unit;
  Wide kept = 0;
  if (drop <= 0) {
    kept = magnitude << -drop;
  } else if (drop < 127) {
    kept = magnitude >> drop;
    const Wide rest = magnitude - (kept << drop);
    const Wide half = static_cast<Wide>(1) << (drop - 1);
    if (nearest && (rest > half || (rest == half && (kept & 1) != 0))) ++kept;
  }
  if (kept >> (fraction + 1) != 0) {
    kept >>= 1;
    ++exponent;
  }
  const auto bits = static_cast<uint32_t>(kept);
  const int bias = 1 - least;
  // Past the largest exponent: infinity. The sums that tensor cores cut are far from it.
  if (exponent > most) return static_cast<uint32_t>(most + 1 + bias) << fraction;
  const bool normal = (kept >> fraction) != 0;
  return normal
             ? static_cast<uint32_t>(exponent + bias) << fraction | (bits & ((1U << fraction) - 1))
             : bits;
}

uint32_t round_sum(Wide sum, int unit, const DotRule& rule) {
  const bool negative = sum < 0;
  const Wide magnitude = negative ? -sum : sum;
  if (rule.accumulator == Accumulator::f16) {
    return encode(magnitude, unit, 10, -14, 15, true) | (negative ? 0x8000U : 0U);
  }
  uint32_t bits = encode(magnitude, unit, 23, -126, 127, false);
  bits &= ~((1U << (23 - rule.result_bits)) - 1);
  return bits | (negative ? 0x80000000U : 0U);
}

int product_exponent(const Exact& a, const Exact& b) { return a.exponent + b.exponent; }

}  // namespace

uint32_t fused_dot(std::span<const Exact> a, std::span<const Exact> b, uint32_t c,
                   const DotRule& rule, BlockScale scale) {
  const Exact old = decode(rule.accumulator == Accumulator::f16 ? Element::f16 : Element::f32, c);
  Special special;
  special.add(old);
  special.nan = special.nan || scale.not_a_number;
  int largest = old.significand != 0 ? old.exponent : kNothing;
  for (size_t k = 0; k < a.size(); ++k) {
    special.add(a[k], b[k]);
    if (a[k].significand == 0 || b[k].significand == 0) continue;
    largest = std::max(largest, product_exponent(a[k], b[k]) + scale.exponent);
  }
  if (special.any()) return special.bits(rule.accumulator);
  if (largest == kNothing) return 0;

  const int unit = largest - rule.kept_bits;
  Wide sum = 0;
  add_cut(sum, old.negative, old.significand, old.exponent - old.fraction_bits, unit);
  for (size_t k = 0; k < a.size(); ++k) {
    const uint64_t product = uint64_t{a[k].significand} * b[k].significand;
    add_cut(sum, a[k].negative != b[k].negative, product,
            product_exponent(a[k], b[k]) + scale.exponent - a[k].fraction_bits - b[k].fraction_bits,
            unit);
  }
  return round_sum(sum, unit, rule);
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
