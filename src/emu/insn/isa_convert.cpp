// cvt between single values: integers of 8 to 64 bits, f16, bf16, f32, f64.
//
// The common forms are vectorised. All others go lane by lane through an f64 that holds the source
// exactly, or rounded to odd when it is an integer of more than 53 bits: rounding that once more to
// a format of at most 51 bits is right.
// Insn: mode: a Rounding::Mode; count: Ty of the source; target: Ty of the result; bytes: of the
// result's register; scope: of the source's; flags below.
#include <cmath>

#include "emu/insn/float.h"
#include "emu/insn/half.h"
#include "emu/insn/lanes.h"

namespace cohort::emu::COHORT_ISA {

namespace convert_family {
namespace {

constexpr uint8_t kFtz = 1;
constexpr uint8_t kSat = 2;
constexpr uint8_t kToInteger = 4;  // f32.f32 and the like with .rni: stays a float
constexpr uint8_t kRelu = 8;

bool is_float(Ty t) { return t == Ty::f16 || t == Ty::bf16 || t == Ty::f32 || t == Ty::f64; }
bool is_signed(Ty t) { return t == Ty::s8 || t == Ty::s16 || t == Ty::s32 || t == Ty::s64; }

uint64_t raw(const Warp& w, uint32_t o, uint32_t bytes, int l) {
  return bytes == 8 ? get<uint64_t>(w.word(o), l) : w.word(o)[l];
}

// The integer of that type in the low bits.
__int128 integer_of(Ty t, uint64_t bits) {
  const uint32_t n = 8 * bytes_of(t);
  const uint64_t low = n == 64 ? bits : bits & ((uint64_t{1} << n) - 1);
  if (!is_signed(t)) return low;
  return static_cast<int64_t>(low << (64 - n)) >> (64 - n);
}

// Exact up to 53 bits, rounded to odd beyond.
double odd_double(__int128 v) {
  const bool negative = v < 0;
  auto m = static_cast<uint64_t>(negative ? -v : v);
  int shift = 0;
  while (m >> 53 != 0) {
    m = (m >> 1) | (m & 1);
    ++shift;
  }
  const double r = std::ldexp(static_cast<double>(m), shift);
  return negative ? -r : r;
}

double float_of(Ty t, uint64_t bits, bool ftz) {
  switch (t) {
    case Ty::f16:
      return half_value(static_cast<uint16_t>(bits));
    case Ty::bf16:
      return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
    case Ty::f32: {
      const auto f = std::bit_cast<float>(static_cast<uint32_t>(bits));
      return ftz ? flush(f) : f;
    }
    default:
      return std::bit_cast<double>(bits);
  }
}

double to_integral(double x, uint8_t mode) {
  switch (mode) {
    case Rounding::down:
      return std::floor(x);
    case Rounding::up:
      return std::ceil(x);
    case Rounding::zero:
      return std::trunc(x);
    default:
      return std::nearbyint(x);
  }
}

uint64_t integer_bits(double x, Ty from, Ty to, uint8_t mode) {
  const uint32_t n = 8 * bytes_of(to);
  if (x != x) {
    // PTX ISA, cvt: zero, unless one of the two has 64 bits.
    return from != Ty::f64 && n != 64 ? 0 : uint64_t{1} << (n - 1);
  }
  const double r = to_integral(x, mode);
  if (is_signed(to)) {
    const double most = std::ldexp(1.0, static_cast<int>(n) - 1);
    if (r >= most) return static_cast<uint64_t>((__int128{1} << (n - 1)) - 1);
    if (r < -most) return static_cast<uint64_t>(-(__int128{1} << (n - 1)));
    return static_cast<uint64_t>(static_cast<int64_t>(r));
  }
  if (r >= std::ldexp(1.0, static_cast<int>(n)))
    return n == 64 ? ~uint64_t{0} : (uint64_t{1} << n) - 1;
  return r <= 0 ? 0 : static_cast<uint64_t>(r);
}

uint32_t narrow_bits(const numerics::Spec& spec, double x, uint8_t mode) {
  using numerics::Overflow;
  using numerics::Round;
  const uint32_t sign = uint32_t{1} << (spec.exponent_bits + spec.mantissa_bits);
  switch (mode) {
    case Rounding::down:
      // Towards minus infinity is towards plus infinity of the negative.
      return x != x ? numerics::encode(spec, x)
                    : numerics::encode(spec, -x, Round::up, Overflow::ieee) ^ sign;
    case Rounding::up:
      return numerics::encode(spec, x, Round::up, Overflow::ieee);
    case Rounding::zero:
      return numerics::encode(spec, x, Round::zero, Overflow::ieee);
    default:
      return numerics::encode(spec, x, Round::nearest_even, Overflow::ieee);
  }
}

uint64_t float_bits_of(double x, const Insn& i, Ty to) {
  if ((i.flags & kToInteger) != 0) x = to_integral(x, i.mode);
  if ((i.flags & kSat) != 0) x = x > 0 ? (x < 1 ? x : 1.0) : 0.0;
  if ((i.flags & kRelu) != 0) x = x < 0 ? 0.0 : x + 0.0;
  switch (to) {
    case Ty::f16:
      return narrow_bits(numerics::kF16, x, i.mode);
    case Ty::bf16:
      return narrow_bits(numerics::kBf16, x, i.mode);
    case Ty::f32: {
      const Rounding rounding((i.flags & kToInteger) != 0 ? 0 : i.mode);
      const float f = opaque(static_cast<float>(opaque(x)));
      return std::bit_cast<uint32_t>(canonical((i.flags & kFtz) != 0 ? flush(f) : f));
    }
    default:
      return std::bit_cast<uint64_t>(x);
  }
}

// An integer of 64 bits to f64, with the rounding of the instruction.
uint64_t double_of_integer(__int128 v, uint8_t mode) {
  const Rounding rounding(mode);
  if (v <= INT64_MAX)
    return std::bit_cast<uint64_t>(opaque(static_cast<double>(static_cast<int64_t>(v))));
  const auto u = static_cast<uint64_t>(v);
  const auto half = static_cast<int64_t>((u >> 1) | (u & 1));
  return std::bit_cast<uint64_t>(opaque(static_cast<double>(half)) * 2.0);
}

uint64_t converted(const Insn& i, uint64_t bits) {
  const auto from = static_cast<Ty>(i.count);
  const auto to = static_cast<Ty>(i.target);
  if (is_float(from)) {
    const double x = float_of(from, bits, (i.flags & kFtz) != 0);
    return is_float(to) ? float_bits_of(x, i, to) : integer_bits(x, from, to, i.mode);
  }
  const __int128 v = integer_of(from, bits);
  if (to == Ty::f64) return double_of_integer(v, i.mode);
  return float_bits_of(odd_double(v), i, to);
}

Next general(Warp& w, const Insn& i, uint32_t lanes) {
  const auto to = static_cast<Ty>(i.target);
  for (uint32_t left = lanes; left != 0; left &= left - 1) {
    const int l = std::countr_zero(left);
    uint64_t r = converted(i, raw(w, i.a, i.scope, l));
    if (!is_float(to)) r = static_cast<uint64_t>(integer_of(to, r));
    if (i.bytes == 8) {
      put<uint64_t>(w.word(i.d), l, r);
    } else {
      w.word(i.d)[l] = static_cast<uint32_t>(r);
    }
  }
  return Next::go;
}

// Integers that are clamped to the range of the result's type.
Next clamped(Warp& w, const Insn& i, uint32_t lanes) {
  const auto to = static_cast<Ty>(i.target);
  const uint32_t n = 8 * bytes_of(to);
  const __int128 most = (__int128{1} << (is_signed(to) ? n - 1 : n)) - 1;
  const __int128 least = is_signed(to) ? -most - 1 : 0;
  for (uint32_t left = lanes; left != 0; left &= left - 1) {
    const int l = std::countr_zero(left);
    const __int128 v = integer_of(static_cast<Ty>(i.count), raw(w, i.a, i.scope, l));
    const auto r = static_cast<uint64_t>(v > most ? most : v < least ? least : v);
    if (i.bytes == 8) {
      put<uint64_t>(w.word(i.d), l, r);
    } else {
      w.word(i.d)[l] = static_cast<uint32_t>(r);
    }
  }
  return Next::go;
}

// What both registers and types are; operands 0 and 1.
void take(Build& b) {
  const Ty to = b.type(1);
  const Ty from = b.type(0);
  const uint32_t have = b.part_width(0, 0);
  const uint32_t given = b.part_width(1, 0);
  if (have != 0 && have < bytes_of(to)) b.refuse("a register that cannot hold the result");
  if (given != 0 && given < bytes_of(from)) b.refuse("a register that cannot hold the source");
  b.insn.bytes = have == 8 ? 8 : 4;
  b.insn.scope = given == 0 ? (bytes_of(from) == 8 ? 8 : 4) : given == 8 ? 8 : 4;
  b.insn.d = b.dst(0, b.insn.bytes);
  b.insn.a = given == 0 ? b.src(1, from) : b.src(1, b.insn.scope == 8 ? Ty::b64 : Ty::b32);
  b.insn.count = static_cast<uint16_t>(from);
  b.insn.target = static_cast<uint32_t>(to);
}

// The source is read as R and becomes a register of W bits.
template <class R>
void extended(Build& b) {
  const bool wide = b.insn.bytes == 8;
  if (b.insn.scope == 8) {
    if (wide) return lanewise<uint64_t, uint64_t>(b, [](uint64_t x) { return uint64_t(R(x)); });
    return lanewise<uint32_t, uint64_t>(b, [](uint64_t x) { return uint32_t(R(x)); });
  }
  if (wide) return lanewise<uint64_t, uint32_t>(b, [](uint32_t x) { return uint64_t(R(x)); });
  lanewise<uint32_t, uint32_t>(b, [](uint32_t x) { return uint32_t(R(x)); });
}

void integer_to_integer(Build& b) {
  take(b);
  const Ty to = b.type(1);
  const Ty from = b.type(0);
  if (b.has("sat")) return b.set(clamped);
  switch (bytes_of(to) < bytes_of(from) ? to : from) {
    case Ty::u8:
      return extended<uint8_t>(b);
    case Ty::s8:
      return extended<int8_t>(b);
    case Ty::u16:
      return extended<uint16_t>(b);
    case Ty::s16:
      return extended<int16_t>(b);
    case Ty::u32:
      return extended<uint32_t>(b);
    case Ty::s32:
      return extended<int32_t>(b);
    default:
      return extended<uint64_t>(b);
  }
}

uint8_t rounding_of(const Build& b) {
  if (b.has("rz") || b.has("rzi")) return Rounding::zero;
  if (b.has("rm") || b.has("rmi")) return Rounding::down;
  if (b.has("rp") || b.has("rpi")) return Rounding::up;
  return Rounding::nearest;
}

void with_floats(Build& b) {
  take(b);
  b.insn.mode = rounding_of(b);
  const bool integral = b.has("rni") || b.has("rzi") || b.has("rmi") || b.has("rpi");
  const bool stays = is_float(b.type(0)) && is_float(b.type(1)) && integral;
  b.insn.flags = static_cast<uint8_t>((b.has("ftz") ? kFtz : 0) | (b.has("sat") ? kSat : 0) |
                                      (stays ? kToInteger : 0) | (b.has("relu") ? kRelu : 0));
  b.set(general);
  const bool plain = b.insn.mode == Rounding::nearest && b.insn.flags == 0;
  if (!plain || b.insn.bytes != 4 || b.insn.scope != 4) return;
  if (b.type(1) == Ty::f32 && b.type(0) == Ty::s32) {
    lanewise<float, int32_t>(b, [](int32_t x) { return static_cast<float>(x); });
  } else if (b.type(1) == Ty::f32 && b.type(0) == Ty::u32) {
    lanewise<float, uint32_t>(b, [](uint32_t x) { return static_cast<float>(x); });
  } else if (b.type(1) == Ty::f32 && b.type(0) == Ty::f16) {
    lanewise<float, uint16_t>(b, [](uint16_t x) { return canonical(half_value(x)); });
  } else if (b.type(1) == Ty::f32 && b.type(0) == Ty::bf16) {
    lanewise<float, uint32_t>(b,
                              [](uint32_t x) { return canonical(std::bit_cast<float>(x << 16)); });
  }
}

#define INTEGER_TYPES ".{u8,u16,u32,u64,s8,s16,s32,s64}"
#define ROUND ".{rn,rz,rm,rp}"
#define ROUND_INTEGER ".{rni,rzi,rmi,rpi}"

constexpr Record kRecords[] = {
    {"cvt[.sat]" INTEGER_TYPES INTEGER_TYPES, "d, a", integer_to_integer},
    {"cvt" ROUND "[.ftz][.sat].{f16,bf16,f32,f64}" INTEGER_TYPES, "d, a", with_floats},
    {"cvt" ROUND_INTEGER "[.ftz][.sat]" INTEGER_TYPES ".{f16,bf16,f32,f64}", "d, a", with_floats},
    {"cvt" ROUND_INTEGER "[.ftz][.sat].{f16,f32,f64}.{f16,f32,f64}", "d, a", with_floats},
    {"cvt[.ftz][.sat].f32.{f16,bf16,f32}", "d, a", with_floats},
    {"cvt[.ftz][.sat].f64.{f16,f32,f64}", "d, a", with_floats},
    {"cvt[.sat].f16.f16", "d, a", with_floats},
    {"cvt" ROUND "[.ftz][.sat].{f16,f32}.f64", "d, a", with_floats},
    {"cvt" ROUND "[.ftz][.sat].f16.f32", "d, a", with_floats},
    {"cvt" ROUND ".relu.f16.f32", "d, a", with_floats},
    {"cvt" ROUND "[.relu].bf16.f32", "d, a", with_floats},
    {"cvt" ROUND ".bf16.{f16,f64}", "d, a", with_floats},
    {"cvt" ROUND ".f16.bf16", "d, a", with_floats},
};

}  // namespace
}  // namespace convert_family

extern const Family kConvert;
const Family kConvert = {"Conversions", convert_family::kRecords,
                         static_cast<int>(std::size(convert_family::kRecords))};

}  // namespace cohort::emu::COHORT_ISA
