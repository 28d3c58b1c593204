// Bits: fields, permutations, counts.
#include "emu/insn/lanes.h"

namespace cohort::emu::COHORT_ISA {

namespace fields_family {
namespace {

void operands(Build& b, int count) {
  const Ty t = b.type();
  b.insn.d = b.dst(0, bytes_of(t));
  sources(b, t, count);
}

// Fields: position and length are the low 8 bits of their operands.
template <class T>
T extracted(T x, uint32_t position, uint32_t length) {
  using U = std::make_unsigned_t<T>;
  constexpr uint32_t kBits = 8 * sizeof(T);
  const uint32_t p = position & 0xFF;
  const uint32_t n = length & 0xFF;
  if (n == 0) return 0;
  const uint32_t last = p + n - 1;
  const uint32_t sign_at = last > kBits - 1 ? kBits - 1 : last;
  const bool negative = std::is_signed_v<T> && (static_cast<U>(x) >> sign_at & 1) != 0;
  U r = p >= kBits ? U{0} : static_cast<U>(static_cast<U>(x) >> p);
  const uint32_t have = p >= kBits ? 0 : sign_at + 1 - p;
  const U mask = have >= kBits ? static_cast<U>(~U{0}) : static_cast<U>((U{1} << have) - 1);
  r &= mask;
  return static_cast<T>(negative ? r | static_cast<U>(~mask) : r);
}
template <class T>
T inserted(T a, T into, uint32_t position, uint32_t length) {
  constexpr uint32_t kBits = 8 * sizeof(T);
  const uint32_t p = position & 0xFF;
  const uint32_t n = length & 0xFF;
  if (n == 0 || p >= kBits) return into;
  const T ones = n >= kBits ? static_cast<T>(~T{0}) : static_cast<T>((T{1} << n) - 1);
  const T mask = static_cast<T>(ones << p);
  return static_cast<T>((into & ~mask) | (static_cast<T>(a << p) & mask));
}
template <class T>
void extract(Build& b) {
  b.insn.d = b.dst(0, sizeof(T));
  b.insn.a = b.src(1, b.type());
  b.insn.b = b.src(2, Ty::u32);
  b.insn.c = b.src(3, Ty::u32);
  lanewise<T, T, uint32_t, uint32_t>(
      b, [](T x, uint32_t p, uint32_t n) { return extracted(x, p, n); });
}
void bfe(Build& b) {
  switch (b.type()) {
    case Ty::u32:
      return extract<uint32_t>(b);
    case Ty::s32:
      return extract<int32_t>(b);
    case Ty::u64:
      return extract<uint64_t>(b);
    default:
      return extract<int64_t>(b);
  }
}
template <class T>
Next insert(Warp& w, const Insn& i, uint32_t lanes) {
  for (uint32_t left = lanes; left != 0; left &= left - 1) {
    const int l = std::countr_zero(left);
    put<T>(
        w.word(i.d), l,
        inserted(get<T>(w.word(i.a), l), get<T>(w.word(i.b), l), w.word(i.c)[l], w.word(i.e)[l]));
  }
  return Next::go;
}
void bfi(Build& b) {
  const Ty t = b.type();
  b.insn.d = b.dst(0, bytes_of(t));
  b.insn.a = b.src(1, t);
  b.insn.b = b.src(2, t);
  b.insn.c = b.src(3, Ty::u32);
  b.insn.e = b.src(4, Ty::u32);
  b.set(t == Ty::b32 ? insert<uint32_t> : insert<uint64_t>);
}

// The place of the highest bit that is not the sign; 0xFFFFFFFF when there is none.
template <class T, bool kShift>
uint32_t highest(T x) {
  using U = std::make_unsigned_t<T>;
  const U v = static_cast<U>(x < 0 ? ~x : x);
  if (v == 0) return 0xFFFFFFFF;
  const auto zeros = static_cast<uint32_t>(std::countl_zero(v));
  return kShift ? zeros : static_cast<uint32_t>(8 * sizeof(T)) - 1 - zeros;
}
template <class T>
void find_highest(Build& b) {
  b.insn.d = b.dst(0, 4);
  b.insn.a = b.src(1, b.type());
  if (b.has("shiftamt")) {
    scalar<uint32_t, T>(b, [](T x) { return highest<T, true>(x); });
  } else {
    scalar<uint32_t, T>(b, [](T x) { return highest<T, false>(x); });
  }
}
void bfind(Build& b) {
  switch (b.type()) {
    case Ty::u32:
      return find_highest<uint32_t>(b);
    case Ty::s32:
      return find_highest<int32_t>(b);
    case Ty::u64:
      return find_highest<uint64_t>(b);
    default:
      return find_highest<int64_t>(b);
  }
}

void count_operands(Build& b) {
  b.insn.d = b.dst(0, 4);
  b.insn.a = b.src(1, b.type());
}
void popc(Build& b) {
  count_operands(b);
  if (b.type() == Ty::b32) {
    lanewise<uint32_t, uint32_t>(b, [](uint32_t x) { return std::popcount(x); });
  } else {
    lanewise<uint32_t, uint64_t>(b, [](uint64_t x) { return std::popcount(x); });
  }
}
void clz(Build& b) {
  count_operands(b);
  if (b.type() == Ty::b32) {
    scalar<uint32_t, uint32_t>(b, [](uint32_t x) { return std::countl_zero(x); });
  } else {
    scalar<uint32_t, uint64_t>(b, [](uint64_t x) { return std::countl_zero(x); });
  }
}
template <class T>
T reversed(T x) {
  constexpr T kOnes = static_cast<T>(~T{0});
  for (uint32_t n = 4 * sizeof(T), shift = n; shift != 0; shift /= 2) {
    T mask = kOnes;
    for (uint32_t k = 4 * sizeof(T); k >= shift; k /= 2) mask ^= static_cast<T>(mask << k);
    x = static_cast<T>(((x >> shift) & mask) | ((x & mask) << shift));
  }
  return x;
}
void brev(Build& b) {
  operands(b, 1);
  if (b.type() == Ty::b32) {
    lanewise<uint32_t, uint32_t>(b, [](uint32_t x) { return reversed(x); });
  } else {
    lanewise<uint64_t, uint64_t>(b, [](uint64_t x) { return reversed(x); });
  }
}

// prmt: each nibble of the selector picks one of eight bytes, or its sign.
uint32_t permuted(uint32_t x, uint32_t y, uint32_t selector) {
  const uint64_t bytes = uint64_t{y} << 32 | x;
  uint32_t r = 0;
  for (int k = 0; k < 4; ++k) {
    const uint32_t s = selector >> (4 * k) & 0xF;
    auto byte = static_cast<uint32_t>(bytes >> (8 * (s & 7)) & 0xFF);
    if ((s & 8) != 0) byte = (byte & 0x80) != 0 ? 0xFF : 0;
    r |= byte << (8 * k);
  }
  return r;
}
// The modes build selectors of 0 ... 3.
uint32_t selector_of(uint32_t mode, uint32_t c) {
  static constexpr uint16_t kSelectors[6][4] = {
      {0x3210, 0x4321, 0x5432, 0x6543},  // f4e
      {0x5670, 0x6701, 0x7012, 0x0123},  // b4e
      {0x0000, 0x1111, 0x2222, 0x3333},  // rc8
      {0x3210, 0x3211, 0x3222, 0x3333},  // ecl
      {0x0000, 0x1110, 0x2210, 0x3210},  // ecr
      {0x1010, 0x3232, 0x1010, 0x3232},  // rc16
  };
  return kSelectors[mode - 1][c & 3];
}
Next permute_mode(Warp& w, const Insn& i, uint32_t lanes) {
  for (uint32_t left = lanes; left != 0; left &= left - 1) {
    const int l = std::countr_zero(left);
    w.word(i.d)[l] = permuted(w.word(i.a)[l], w.word(i.b)[l], selector_of(i.mode, w.word(i.c)[l]));
  }
  return Next::go;
}
void prmt(Build& b) {
  b.insn.d = b.dst(0, 4);
  sources(b, Ty::b32, 3);
  static constexpr const char* kModes[] = {"f4e", "b4e", "rc8", "ecl", "ecr", "rc16"};
  for (int k = 0; k < 6; ++k) {
    if (b.has(kModes[k])) b.insn.mode = static_cast<uint8_t>(k + 1);
  }
  if (b.insn.mode != 0) return b.set(permute_mode);
  lanewise<uint32_t, uint32_t, uint32_t, uint32_t>(
      b, [](uint32_t x, uint32_t y, uint32_t s) { return permuted(x, y, s); });
}

// Sign or zero extension from a number of bits; .clamp: at most 32, .wrap: modulo 32.
template <bool kSigned, bool kWrap>
uint32_t extended(uint32_t x, uint32_t n) {
  const uint32_t bits = kWrap ? n & 31 : n > 32 ? 32 : n;
  if (bits == 0) return 0;
  if (bits == 32) return x;
  const uint32_t mask = (1u << bits) - 1;
  const bool negative = kSigned && (x >> (bits - 1) & 1) != 0;
  return negative ? x | ~mask : x & mask;
}
void szext(Build& b) {
  operands(b, 2);
  const bool is_signed = b.type() == Ty::s32;
  const auto set = [&](auto f) { lanewise<uint32_t, uint32_t, uint32_t>(b, f); };
  if (b.has("wrap")) {
    if (is_signed) return set([](uint32_t x, uint32_t n) { return extended<true, true>(x, n); });
    return set([](uint32_t x, uint32_t n) { return extended<false, true>(x, n); });
  }
  if (is_signed) return set([](uint32_t x, uint32_t n) { return extended<true, false>(x, n); });
  return set([](uint32_t x, uint32_t n) { return extended<false, false>(x, n); });
}
template <bool kWrap>
uint32_t bit_mask(uint32_t position, uint32_t width) {
  const uint32_t p = kWrap ? position & 31 : position > 32 ? 32 : position;
  const uint32_t n = kWrap ? width & 31 : width > 32 ? 32 : width;
  const uint64_t ones = ((uint64_t{1} << n) - 1) << p;
  return static_cast<uint32_t>(ones);
}
void bmsk(Build& b) {
  operands(b, 2);
  if (b.has("wrap")) {
    lanewise<uint32_t, uint32_t, uint32_t>(
        b, [](uint32_t p, uint32_t n) { return bit_mask<true>(p, n); });
  } else {
    lanewise<uint32_t, uint32_t, uint32_t>(
        b, [](uint32_t p, uint32_t n) { return bit_mask<false>(p, n); });
  }
}

constexpr Record kRecords[] = {
    {"bfe.{u32,s32,u64,s64}", "d, a, position, length", bfe},
    {"bfi.{b32,b64}", "d, a, b, position, length", bfi},
    {"bfind[.shiftamt].{u32,s32,u64,s64}", "d, a", bfind},
    {"popc.{b32,b64}", "d, a", popc},
    {"clz.{b32,b64}", "d, a", clz},
    {"brev.{b32,b64}", "d, a", brev},
    {"prmt.b32[.{f4e,b4e,rc8,ecl,ecr,rc16}]", "d, a, b, selector", prmt},
    {"szext.{clamp,wrap}.{u32,s32}", "d, a, n", szext},
    {"bmsk.{clamp,wrap}.b32", "d, position, width", bmsk},
};

}  // namespace
}  // namespace fields_family

extern const Family kFields;
const Family kFields = {"Fields of bits", fields_family::kRecords,
                        static_cast<int>(std::size(fields_family::kRecords))};

}  // namespace cohort::emu::COHORT_ISA
