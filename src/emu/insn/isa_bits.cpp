// Bits: logic and shifts.
#include "emu/insn/lanes.h"

namespace cohort::emu::COHORT_ISA {

namespace bits_family {
namespace {

void operands(Build& b, int count) {
  const Ty t = b.type();
  b.insn.d = b.dst(0, bytes_of(t));
  sources(b, t, count);
}

template <class F>
void by_size(Build& b, F f) {
  switch (bytes_of(b.type())) {
    case 2:
      return f(uint16_t{});
    case 4:
      return f(uint32_t{});
    default:
      return f(uint64_t{});
  }
}

void and_bits(Build& b) {
  operands(b, 2);
  by_size(b, [&](auto t) {
    using T = decltype(t);
    lanewise<T, T, T>(b, [](T x, T y) { return static_cast<T>(x & y); });
  });
}
void or_bits(Build& b) {
  operands(b, 2);
  by_size(b, [&](auto t) {
    using T = decltype(t);
    lanewise<T, T, T>(b, [](T x, T y) { return static_cast<T>(x | y); });
  });
}
void xor_bits(Build& b) {
  operands(b, 2);
  by_size(b, [&](auto t) {
    using T = decltype(t);
    lanewise<T, T, T>(b, [](T x, T y) { return static_cast<T>(x ^ y); });
  });
}
void not_bits(Build& b) {
  operands(b, 1);
  by_size(b, [&](auto t) {
    using T = decltype(t);
    lanewise<T, T>(b, [](T x) { return static_cast<T>(~x); });
  });
}
void cnot(Build& b) {
  operands(b, 1);
  by_size(b, [&](auto t) {
    using T = decltype(t);
    lanewise<T, T>(b, [](T x) { return static_cast<T>(x == 0 ? 1 : 0); });
  });
}

// Shift amounts have 32 bits and are clamped, not taken modulo the width.
void shift_operands(Build& b) {
  const Ty t = b.type();
  b.insn.d = b.dst(0, bytes_of(t));
  b.insn.a = b.src(1, t);
  b.insn.b = b.src(2, Ty::u32);
}
void shl(Build& b) {
  shift_operands(b);
  by_size(b, [&](auto t) {
    using T = decltype(t);
    lanewise<T, T, uint32_t>(
        b, [](T x, uint32_t n) { return static_cast<T>(n >= 8 * sizeof(T) ? T{0} : x << n); });
  });
}
void shr_unsigned(Build& b) {
  shift_operands(b);
  by_size(b, [&](auto t) {
    using T = decltype(t);
    lanewise<T, T, uint32_t>(
        b, [](T x, uint32_t n) { return static_cast<T>(n >= 8 * sizeof(T) ? T{0} : x >> n); });
  });
}
void shr_signed(Build& b) {
  shift_operands(b);
  by_size(b, [&](auto t) {
    using T = std::make_signed_t<decltype(t)>;
    lanewise<T, T, uint32_t>(b, [](T x, uint32_t n) {
      constexpr uint32_t kMost = 8 * sizeof(T) - 1;
      return static_cast<T>(x >> (n > kMost ? kMost : n));
    });
  });
}

// Funnel shifts of {b, a}: the high word on the left, the low one on the right.
void shf(Build& b) {
  const bool left = b.has("l");
  const bool wrap = b.has("wrap");
  b.insn.d = b.dst(0, 4);
  sources(b, Ty::b32, 3);
  if (left && wrap) {
    lanewise<uint32_t, uint32_t, uint32_t, uint32_t>(b, [](uint32_t x, uint32_t y, uint32_t n) {
      const uint64_t v = uint64_t{y} << 32 | x;
      return static_cast<uint32_t>((v << (n & 31)) >> 32);
    });
  } else if (left) {
    lanewise<uint32_t, uint32_t, uint32_t, uint32_t>(b, [](uint32_t x, uint32_t y, uint32_t n) {
      const uint64_t v = uint64_t{y} << 32 | x;
      return static_cast<uint32_t>((v << (n > 32 ? 32 : n)) >> 32);
    });
  } else if (wrap) {
    lanewise<uint32_t, uint32_t, uint32_t, uint32_t>(b, [](uint32_t x, uint32_t y, uint32_t n) {
      const uint64_t v = uint64_t{y} << 32 | x;
      return static_cast<uint32_t>(v >> (n & 31));
    });
  } else {
    lanewise<uint32_t, uint32_t, uint32_t, uint32_t>(b, [](uint32_t x, uint32_t y, uint32_t n) {
      const uint64_t v = uint64_t{y} << 32 | x;
      return static_cast<uint32_t>(v >> (n > 32 ? 32 : n));
    });
  }
}

// Any function of three bits: bit 4a + 2b + c of the table.
template <class T>
T lookup(T x, T y, T z, uint32_t table) {
  T r = 0;
  for (uint32_t k = 0; k < 8; ++k) {
    const T here = ((k & 4) != 0 ? x : ~x) & ((k & 2) != 0 ? y : ~y) & ((k & 1) != 0 ? z : ~z);
    r |= (table >> k & 1) != 0 ? here : T{0};
  }
  return r;
}
uint32_t lop3_word(uint32_t x, uint32_t y, uint32_t z, uint32_t table) {
  // The tables that compilers use most, in few instructions.
  switch (table) {
    case 0x96:
      return x ^ y ^ z;
    case 0xFE:
      return x | y | z;
    case 0x80:
      return x & y & z;
    case 0xF8:
      return x | (y & z);
    case 0x78:
      return x ^ (y & z);
    case 0xEA:
      return (x & y) | z;
    default:
      return lookup(x, y, z, table);
  }
}
Next lop3(Warp& w, const Insn& i, uint32_t lanes) {
  const uint32_t* x = w.word(i.a);
  const uint32_t* y = w.word(i.b);
  const uint32_t* z = w.word(i.c);
  alignas(64) uint32_t r[32];
  const uint32_t table = i.mode;
  if (table == 0x96) {
    COHORT_LANES r[l] = x[l] ^ y[l] ^ z[l];
  } else {
    COHORT_LANES r[l] = lop3_word(x[l], y[l], z[l], table);
  }
  blend<1>(w.word(i.d), r, lanes);
  return Next::go;
}
void make_lop3(Build& b) {
  b.insn.d = b.dst(0, 4);
  sources(b, Ty::b32, 3);
  int64_t table = 0;
  b.constant(4, &table);
  b.insn.mode = static_cast<uint8_t>(table);
  b.set(lop3);
}

constexpr Record kRecords[] = {
    {"and.{b16,b32,b64}", "d, a, b", and_bits},
    {"or.{b16,b32,b64}", "d, a, b", or_bits},
    {"xor.{b16,b32,b64}", "d, a, b", xor_bits},
    {"not.{b16,b32,b64}", "d, a", not_bits},
    {"cnot.{b16,b32,b64}", "d, a", cnot},
    {"shl.{b16,b32,b64}", "d, a, n", shl},
    {"shr.{b16,b32,b64,u16,u32,u64}", "d, a, n", shr_unsigned},
    {"shr.{s16,s32,s64}", "d, a, n", shr_signed},
    {"shf.{l,r}.{clamp,wrap}.b32", "d, a, b, n", shf},
    {"lop3.b32", "d, a, b, c, table", make_lop3},
};

}  // namespace
}  // namespace bits_family

extern const Family kBits;
const Family kBits = {"Bits", bits_family::kRecords,
                      static_cast<int>(std::size(bits_family::kRecords))};

}  // namespace cohort::emu::COHORT_ISA
