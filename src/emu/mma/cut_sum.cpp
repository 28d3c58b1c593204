#include "emu/mma/cut_sum.h"

#include <algorithm>
#include <bit>

namespace cohort::emu {

namespace {

using Wide = __int128;

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

}  // namespace

void Special::add(const Exact& x) {
  nan = nan || x.kind == Exact::Kind::not_a_number;
  if (x.kind == Exact::Kind::infinity) (x.negative ? minus : plus) = true;
}

void Special::add(const Exact& a, const Exact& b) {
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

uint32_t Special::bits(Accumulator type) const {
  const bool half = type == Accumulator::f16;
  if (nan || (plus && minus)) return half ? 0x7FFF : 0x7FFFFFFF;
  const uint32_t infinity = half ? 0x7C00 : 0x7F800000;
  return minus ? infinity | (half ? 0x8000U : 0x80000000U) : infinity;
}

void CutSum::add(bool negative, uint64_t significand, int exponent) {
  // The exponent of a zero says nothing; that of any other is no larger than the largest.
  if (significand == 0) return;
  constexpr int kBits = 64;
  const int shift = exponent - unit_;
  Wide x = 0;
  if (shift >= 0) {
    x = static_cast<Wide>(significand) << shift;
  } else if (shift > -kBits) {
    x = static_cast<Wide>(significand >> -shift);
  }
  sum_ += negative ? -x : x;
}

uint32_t CutSum::bits() const {
  const bool negative = sum_ < 0;
  const Wide magnitude = negative ? -sum_ : sum_;
  if (rule_.accumulator == Accumulator::f16) {
    return encode(magnitude, unit_, 10, -14, 15, true) | (negative ? 0x8000U : 0U);
  }
  uint32_t bits = encode(magnitude, unit_, 23, -126, 127, false);
  bits &= ~((1U << (23 - rule_.result_bits)) - 1);
  return bits | (negative ? 0x80000000U : 0U);
}

}  // namespace cohort::emu
