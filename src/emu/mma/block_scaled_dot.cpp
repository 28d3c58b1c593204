#include "emu/mma/block_scaled_dot.h"

#include <algorithm>
#include <cstdlib>

#include "emu/mma/cut_sum.h"

namespace cohort::emu {

Exact decode_scale(ScaleFormat format, uint8_t code) {
  if (format == ScaleFormat::ue4m3) return decode(Element::e4m3, code & 0x7F);
  Exact x;
  x.significand = 1;
  x.exponent = static_cast<int16_t>(int{code} - 127);
  if (code == 0xFF) x.kind = Exact::Kind::not_a_number;
  return x;
}

uint32_t mxf8f6f4_dot(std::span<const Exact> a, std::span<const Exact> b, uint32_t c,
                      uint8_t scale_a, uint8_t scale_b) {
  const Exact x = decode_scale(ScaleFormat::ue8m0, scale_a);
  const Exact y = decode_scale(ScaleFormat::ue8m0, scale_b);
  const bool is_number = x.kind == Exact::Kind::number && y.kind == Exact::Kind::number;
  return fused_dot(a, b, c, kDotF32,
                   {.not_a_number = !is_number, .exponent = x.exponent + y.exponent});
}

namespace {

// The sum of one group, exactly, in units of 2^-2: both factors have one bit of fraction.
int64_t group_sum(std::span<const Exact> a, std::span<const Exact> b) {
  int64_t sum = 0;
  for (size_t k = 0; k < a.size(); ++k) {
    const int64_t product = static_cast<int64_t>(a[k].significand) * b[k].significand;
    const int64_t value = product << (a[k].exponent + b[k].exponent);
    sum += a[k].negative != b[k].negative ? -value : value;
  }
  return sum;
}

}  // namespace

uint32_t fp4_dot(std::span<const Exact, kFp4Length> a, std::span<const Exact, kFp4Length> b,
                 uint32_t c, ScaleFormat format, std::span<const uint8_t> scale_a,
                 std::span<const uint8_t> scale_b) {
  constexpr size_t kGroups = kFp4Length / kFp4Group;
  struct Group {
    int64_t sum = 0;
    int exponent = 0;
    uint64_t scale = 0;
    int fraction_bits = 0;
  };
  const Exact old = decode_accumulator(Accumulator::f32, c);
  Special special;
  special.add(old);
  Group groups[kGroups];
  int largest = old.significand != 0 ? old.exponent : kNothing;
  for (size_t g = 0; g < kGroups; ++g) {
    const size_t block = g * scale_a.size() / kGroups;
    const Exact x = decode_scale(format, scale_a[block]);
    const Exact y = decode_scale(format, scale_b[block]);
    special.add(x);
    special.add(y);
    const uint64_t scale = uint64_t{x.significand} * y.significand;
    groups[g] = {
        group_sum(a.subspan(g * kFp4Group, kFp4Group), b.subspan(g * kFp4Group, kFp4Group)),
        x.exponent + y.exponent, scale, x.fraction_bits + y.fraction_bits + 2};
    if (scale != 0) largest = std::max(largest, groups[g].exponent);
  }
  if (special.any()) return special.bits(Accumulator::f32);
  if (largest == kNothing) return 0;
  CutSum sum(largest, kDotGroups);
  sum.add(old.negative, old.significand, old.exponent - old.fraction_bits);
  for (const Group& g : groups) {
    sum.add(g.sum < 0, static_cast<uint64_t>(std::abs(g.sum)) * g.scale,
            g.exponent - g.fraction_bits);
  }
  return sum.bits();
}

}  // namespace cohort::emu
