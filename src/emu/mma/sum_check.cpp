#include "emu/mma/sum_check.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/splitmix64.h"
#include "emu/mma/cut_sum.h"

namespace cohort::emu {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double value_of(const Exact& x) {
  const double magnitude = std::ldexp(x.significand, x.exponent - x.fraction_bits);
  return x.negative ? -magnitude : magnitude;
}

}  // namespace

bool Shadow::allows(float got) const {
  if (!(error < kInfinity)) return true;
  return std::abs(static_cast<double>(got) - value) <= error;
}

void step(Shadow& shadow, std::span<const Exact> a, std::span<const Exact> b, uint32_t c,
          uint32_t d, const DotRule& rule, BlockScale scale, int scale_c) {
  const Exact before = decode_accumulator(Accumulator::f32, c, scale_c);
  shadow.value = std::ldexp(shadow.value, -scale_c);
  shadow.error = std::ldexp(shadow.error, -scale_c);
  const Exact after = decode(Element::f32, d);
  bool finite = before.kind == Exact::Kind::number && after.kind == Exact::Kind::number &&
                !scale.not_a_number;
  int largest = before.significand != 0 ? before.exponent : kNothing;
  double sum = shadow.value;
  double magnitude = std::abs(shadow.value);
  for (size_t k = 0; k < a.size(); ++k) {
    finite = finite && a[k].kind == Exact::Kind::number && b[k].kind == Exact::Kind::number;
    if (a[k].significand == 0 || b[k].significand == 0) continue;
    largest = std::max(largest, a[k].exponent + b[k].exponent + scale.exponent);
    const double product = std::ldexp(value_of(a[k]) * value_of(b[k]), scale.exponent);
    sum += product;
    magnitude += std::abs(product);
  }
  shadow.value = sum;
  if (!finite) {
    shadow.error = kInfinity;
    return;
  }
  if (largest == kNothing) return;
  const auto addends = static_cast<double>(a.size() + 1);
  shadow.error += addends * std::ldexp(1.0, largest - rule.kept_bits);
  shadow.error += std::ldexp(1.0, after.exponent - rule.result_bits);
  shadow.error += addends * magnitude * 0x1p-53;
}

int jitter(uint64_t seed, uint64_t instruction, uint32_t row, uint32_t column) {
  uint64_t x = seed;
  for (const uint64_t part : {instruction, uint64_t{row} << 32 | column}) {
    x = base::splitmix64(x + (part + 1) * base::kSplitmixStep);
  }
  return static_cast<int>(x % 3) - 1;
}

}  // namespace cohort::emu
