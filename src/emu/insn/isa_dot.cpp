// Dot products of small integers: dp4a, dp2a.
#include "emu/insn/lanes.h"

namespace cohort::emu::COHORT_ISA {

namespace dot_family {
namespace {

// Four 8-bit products, or two of 16 by 8 bits.
template <class A, class B>
uint32_t dot4(uint32_t x, uint32_t y, uint32_t z) {
  for (int k = 0; k < 32; k += 8) {
    z += static_cast<uint32_t>(int32_t{static_cast<A>(x >> k)} * int32_t{static_cast<B>(y >> k)});
  }
  return z;
}
template <class A, class B, int kFirst>
uint32_t dot2(uint32_t x, uint32_t y, uint32_t z) {
  for (int k = 0; k < 2; ++k) {
    z += static_cast<uint32_t>(int32_t{static_cast<A>(x >> (16 * k))} *
                               int32_t{static_cast<B>(y >> (8 * (k + kFirst)))});
  }
  return z;
}
template <uint32_t (*kDot)(uint32_t, uint32_t, uint32_t)>
void dot_with(Build& b) {
  lanewise<uint32_t, uint32_t, uint32_t, uint32_t>(
      b, [](uint32_t x, uint32_t y, uint32_t z) { return kDot(x, y, z); });
}
template <class A, class B>
void dot2_with(Build& b) {
  return b.has("hi") ? dot_with<dot2<A, B, 2>>(b) : dot_with<dot2<A, B, 0>>(b);
}
void dot_operands(Build& b) {
  b.insn.d = b.dst(0, 4);
  sources(b, Ty::u32, 3);
}
void dp4a(Build& b) {
  dot_operands(b);
  const bool a = b.type(1) == Ty::s32;
  const bool c = b.type(0) == Ty::s32;
  if (a) return c ? dot_with<dot4<int8_t, int8_t>>(b) : dot_with<dot4<int8_t, uint8_t>>(b);
  return c ? dot_with<dot4<uint8_t, int8_t>>(b) : dot_with<dot4<uint8_t, uint8_t>>(b);
}
void dp2a(Build& b) {
  dot_operands(b);
  const bool a = b.type(1) == Ty::s32;
  const bool c = b.type(0) == Ty::s32;
  if (a) return c ? dot2_with<int16_t, int8_t>(b) : dot2_with<int16_t, uint8_t>(b);
  return c ? dot2_with<uint16_t, int8_t>(b) : dot2_with<uint16_t, uint8_t>(b);
}

constexpr Record kRecords[] = {
    {"dp4a.{u32,s32}.{u32,s32}", "d, a, b, c", dp4a},
    {"dp2a.{lo,hi}.{u32,s32}.{u32,s32}", "d, a, b, c", dp2a},
};

}  // namespace
}  // namespace dot_family

extern const Family kDot;
const Family kDot = {"Dot products of integers", dot_family::kRecords,
                     static_cast<int>(std::size(dot_family::kRecords))};

}  // namespace cohort::emu::COHORT_ISA
