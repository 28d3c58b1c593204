// cvt to and from packed narrow formats: f16x2, bf16x2, e4m3x2, e5m2x2, e2m3x2, e3m2x2, e2m1x2,
// ue8m0x2, the x4 forms with random rounding, and tf32.
//
// Of two sources the first goes to the upper half. Insn: count: Ty of the source; target: Ty of the
// result; mode, flags below; c: random bits.
#include "emu/insn/float.h"
#include "emu/insn/half.h"
#include "emu/insn/lanes.h"

namespace cohort::emu::COHORT_ISA {

namespace pack_family {
namespace {

using numerics::Overflow;
using numerics::Round;
using numerics::Spec;

constexpr uint8_t kRelu = 1;
constexpr uint8_t kFinite = 2;
constexpr uint8_t kAway = 4;  // .rna: ties away from zero

const Spec* spec_of(Ty t) {
  switch (t) {
    case Ty::f16x2:
      return &numerics::kF16;
    case Ty::bf16x2:
      return &numerics::kBf16;
    case Ty::e4m3x2:
    case Ty::e4m3x4:
      return &numerics::kE4m3;
    case Ty::e5m2x2:
    case Ty::e5m2x4:
      return &numerics::kE5m2;
    case Ty::e2m3x2:
    case Ty::e2m3x4:
      return &numerics::kE2m3;
    case Ty::e3m2x2:
    case Ty::e3m2x4:
      return &numerics::kE3m2;
    case Ty::e2m1x2:
    case Ty::e2m1x4:
      return &numerics::kE2m1;
    default:
      return nullptr;
  }
}

// Bits of one element as it stands in the packed word: fp6 in a byte of its own, fp4 in a nibble.
int slot_bits(Ty t) {
  if (t == Ty::f16x2 || t == Ty::bf16x2) return 16;
  return t == Ty::e2m1x2 || t == Ty::e2m1x4 ? 4 : 8;
}

float relu(float x) { return x < 0 ? 0.0f : x; }

uint32_t encoded(const Insn& i, Ty to, float x, uint32_t random) {
  if ((i.flags & kRelu) != 0) x = std::bit_cast<uint32_t>(x) == 0x80000000 ? 0.0f : relu(x);
  if (to == Ty::ue8m0x2) {
    return numerics::encode_e8m0(x, static_cast<Round>(i.mode));
  }
  const bool finite = (i.flags & kFinite) != 0;
  return numerics::encode(*spec_of(to), x, static_cast<Round>(i.mode),
                          finite ? Overflow::saturate : Overflow::ieee, random);
}

// One of the two elements of a packed word.
float element(Ty from, uint32_t word, int k) {
  const uint32_t bits = word >> (slot_bits(from) * k);
  if (from == Ty::ue8m0x2) return numerics::decode_e8m0(static_cast<uint8_t>(bits));
  const Spec& s = *spec_of(from);
  const uint32_t mask = (uint32_t{1} << (1 + s.exponent_bits + s.mantissa_bits)) - 1;
  return numerics::decode(s, bits & mask);
}

// d, a, b: two f32.
Next pack_two(Warp& w, const Insn& i, uint32_t lanes) {
  const auto to = static_cast<Ty>(i.target);
  for (uint32_t left = lanes; left != 0; left &= left - 1) {
    const int l = std::countr_zero(left);
    const uint32_t random = i.c == kNoOperand ? 0 : w.word(i.c)[l];
    const uint32_t high = encoded(i, to, get<float>(w.word(i.a), l), random & 0xFFFF0000);
    const uint32_t low = encoded(i, to, get<float>(w.word(i.b), l), random << 16);
    w.word(i.d)[l] = high << slot_bits(to) | low;
  }
  return Next::go;
}

// d, a: a packed pair to another.
Next repack(Warp& w, const Insn& i, uint32_t lanes) {
  const auto from = static_cast<Ty>(i.count);
  const auto to = static_cast<Ty>(i.target);
  for (uint32_t left = lanes; left != 0; left &= left - 1) {
    const int l = std::countr_zero(left);
    const uint32_t a = w.word(i.a)[l];
    const uint32_t high = encoded(i, to, element(from, a, 1), 0);
    const uint32_t low = encoded(i, to, element(from, a, 0), 0);
    w.word(i.d)[l] = high << slot_bits(to) | low;
  }
  return Next::go;
}

// d, {a, b, e, f}, random bits: a is the uppermost.
Next pack_four(Warp& w, const Insn& i, uint32_t lanes) {
  const auto to = static_cast<Ty>(i.target);
  const uint32_t* from = w.kernel->extra.data() + i.list;
  for (uint32_t left = lanes; left != 0; left &= left - 1) {
    const int l = std::countr_zero(left);
    const uint32_t random = w.word(i.c)[l];
    uint32_t r = 0;
    for (int k = 0; k < 4; ++k) {
      // Each element takes a byte of the random bits, the uppermost element the uppermost byte.
      const uint32_t part = (random >> (8 * (3 - k)) & 0xFF) << 24;
      r = r << slot_bits(to) | encoded(i, to, get<float>(w.word(from[k]), l), part);
    }
    w.word(i.d)[l] = r;
  }
  return Next::go;
}

// tf32 is an f32 whose low 13 bits are zero.
uint32_t tf32(float x, uint8_t mode, uint8_t flags) {
  auto u = std::bit_cast<uint32_t>(x);
  const uint32_t magnitude = u & 0x7FFFFFFF;
  if (magnitude > 0x7F800000) return kNan;
  if ((flags & kRelu) != 0 && u >> 31 != 0) return 0;
  if (magnitude != 0x7F800000) {
    if ((flags & kAway) != 0) {
      u += 0x1000;
    } else if (static_cast<Round>(mode) == Round::nearest_even) {
      u += 0xFFF + (u >> 13 & 1);
    }
  }
  u &= ~0x1FFFu;
  if ((flags & kFinite) != 0 && (u & 0x7FFFFFFF) >= 0x7F800000) {
    u = (u & 0x80000000) | 0x7F7FE000;
  }
  return u;
}
Next to_tf32(Warp& w, const Insn& i, uint32_t lanes) {
  for (uint32_t left = lanes; left != 0; left &= left - 1) {
    const int l = std::countr_zero(left);
    w.word(i.d)[l] = tf32(get<float>(w.word(i.a), l), i.mode, i.flags);
  }
  return Next::go;
}

void take_modes(Build& b) {
  const Round round = b.has("rz")   ? Round::zero
                      : b.has("rp") ? Round::up
                      : b.has("rs") ? Round::random
                                    : Round::nearest_even;
  b.insn.mode = static_cast<uint8_t>(round);
  b.insn.flags =
      static_cast<uint8_t>((b.has("relu") ? kRelu : 0) | (b.has("satfinite") ? kFinite : 0) |
                           (b.has("rna") ? kAway : 0));
  b.insn.target = static_cast<uint32_t>(b.type(1));
  b.insn.count = static_cast<uint16_t>(b.type(0));
}

// The common forms, in a few instructions that vectorise.
uint32_t bf16_bits(float x) {
  const auto u = std::bit_cast<uint32_t>(x);
  return x != x ? 0x7FFF : (u + 0x7FFF + (u >> 16 & 1)) >> 16;
}
// Adding 2^14 to a magnitude below 2^-6 leaves the last place at 2^-9, that of subnormal e4m3.
uint32_t e4m3_bits(float x) {
  const auto u = std::bit_cast<uint32_t>(x);
  const uint32_t m = u & 0x7FFFFFFF;
  const uint32_t normal = ((m + 0x7FFFF + (m >> 20 & 1)) >> 20) - (120u << 3);
  const uint32_t small = std::bit_cast<uint32_t>(std::bit_cast<float>(m) + 16384.0f) & 0xFF;
  uint32_t v = m < (121u << 23) ? small : normal;
  v = v > 0x7E ? 0x7E : v;
  return m > 0x7F800000 ? 0x7F : v | (u >> 24 & 0x80);
}
// The same of f16: below 2^-14 the last place is 2^-24, that of 0.5 + x.
uint32_t f16_bits(float x) {
  const auto u = std::bit_cast<uint32_t>(x);
  const uint32_t m = u & 0x7FFFFFFF;
  const uint32_t normal = ((m + 0xFFF + (m >> 13 & 1)) >> 13) - (112u << 10);
  const uint32_t small = std::bit_cast<uint32_t>(std::bit_cast<float>(m) + 0.5f) - 0x3F000000;
  uint32_t v = m < (113u << 23) ? small : normal;
  v = v > 0x7C00 ? 0x7C00 : v;
  return m > 0x7F800000 ? 0x7FFF : v | (u >> 16 & 0x8000);
}

void two_sources(Build& b) {
  take_modes(b);
  const Ty to = b.type(1);
  b.insn.d = b.dst(0, bytes_of(to));
  b.insn.a = b.src(1, Ty::f32);
  b.insn.b = b.src(2, Ty::f32);
  const bool random = b.has("rs");
  if (random) b.insn.c = b.src(3, Ty::b32);
  b.set(pack_two);
  const bool nearest = b.has("rn") && !b.has("relu");
  if (to == Ty::bf16x2 && nearest && !b.has("satfinite")) {
    lanewise<uint32_t, float, float>(
        b, [](float x, float y) { return bf16_bits(x) << 16 | bf16_bits(y); });
  } else if (to == Ty::f16x2 && nearest && !b.has("satfinite")) {
    lanewise<uint32_t, float, float>(
        b, [](float x, float y) { return f16_bits(x) << 16 | f16_bits(y); });
  } else if (to == Ty::e4m3x2 && nearest) {
    lanewise<uint32_t, float, float>(
        b, [](float x, float y) { return e4m3_bits(x) << 8 | e4m3_bits(y); });
  }
}
void one_source(Build& b) {
  take_modes(b);
  b.insn.d = b.dst(0, bytes_of(b.type(1)));
  b.insn.a = b.src(1, b.type(0));
  b.set(repack);
}
void four_sources(Build& b) {
  take_modes(b);
  b.insn.d = b.dst(0, bytes_of(b.type(1)));
  uint32_t words[4] = {};
  if (b.parts(1) != 4) b.refuse("a vector of another length");
  for (int k = 0; k < 4; ++k) words[k] = b.part_src(1, k, Ty::f32);
  b.insn.list = b.extra(words, 4);
  b.insn.c = b.src(2, Ty::b32);
  b.set(pack_four);
}
void make_tf32(Build& b) {
  take_modes(b);
  b.insn.d = b.dst(0, 4);
  b.insn.a = b.src(1, Ty::f32);
  b.set(to_tf32);
}

#define FP8 "{e4m3x2,e5m2x2}"
#define FP6_FP4 "{e2m3x2,e3m2x2,e2m1x2}"

constexpr Record kRecords[] = {
    {"cvt.{rn,rz}[.relu][.satfinite].{f16x2,bf16x2}.f32", "d, a, b", two_sources},
    {"cvt.rs[.relu][.satfinite].{f16x2,bf16x2}.f32", "d, a, b, random", two_sources},
    {"cvt.rn.satfinite[.relu]." FP8 ".f32", "d, a, b", two_sources},
    {"cvt.rn.satfinite[.relu]." FP8 ".{f16x2,bf16x2}", "d, a", one_source},
    {"cvt.rn[.relu].f16x2." FP8, "d, a", one_source},
    {"cvt.rn.satfinite[.relu]." FP6_FP4 ".f32", "d, a, b", two_sources},
    {"cvt.rn.satfinite[.relu]." FP6_FP4 ".{f16x2,bf16x2}", "d, a", one_source},
    {"cvt.rn[.relu].f16x2." FP6_FP4, "d, a", one_source},
    {"cvt.{rz,rp}[.satfinite].ue8m0x2.f32", "d, a, b", two_sources},
    {"cvt.{rz,rp}[.satfinite].ue8m0x2.bf16x2", "d, a", one_source},
    {"cvt.rn.bf16x2.ue8m0x2", "d, a", one_source},
    {"cvt.rs[.relu].satfinite.{e4m3x4,e5m2x4,e2m3x4,e3m2x4,e2m1x4}.f32", "d, {a, b, e, f}, random",
     four_sources},
    {"cvt.rna[.satfinite].tf32.f32", "d, a", make_tf32},
    {"cvt.{rn,rz}[.satfinite][.relu].tf32.f32", "d, a", make_tf32},
};

}  // namespace
}  // namespace pack_family

extern const Family kPack;
const Family kPack = {"Conversions of packed formats", pack_family::kRecords,
                      static_cast<int>(std::size(pack_family::kRecords))};

}  // namespace cohort::emu::COHORT_ISA
