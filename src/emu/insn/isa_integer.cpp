// Integer arithmetic: add, sub, mul, mad, div, rem, min, max, abs, neg, sad.
#include "emu/insn/lanes.h"

namespace cohort::emu::COHORT_ISA {

namespace integer_family {
namespace {

// Calls f with a value of the unsigned type of that size.
template <class F>
void by_size(Build& b, Ty t, F f) {
  switch (bytes_of(t)) {
    case 2:
      return f(uint16_t{});
    case 4:
      return f(uint32_t{});
    case 8:
      return f(uint64_t{});
    default:
      b.refuse("a type of this size");
  }
}

template <class F>
void by_type(Build& b, Ty t, F f) {
  switch (t) {
    case Ty::s16:
      return f(int16_t{});
    case Ty::s32:
      return f(int32_t{});
    case Ty::s64:
      return f(int64_t{});
    default:
      return by_size(b, t, f);
  }
}

void operands(Build& b, int count) {
  const Ty t = b.type();
  b.insn.d = b.dst(0, bytes_of(t));
  sources(b, t, count);
}

// Two halves of 32 bits.
template <class H, class F>
uint32_t halves(uint32_t x, uint32_t y, F f) {
  const auto low = static_cast<uint16_t>(f(static_cast<H>(x), static_cast<H>(y)));
  const auto high = static_cast<uint16_t>(f(static_cast<H>(x >> 16), static_cast<H>(y >> 16)));
  return low | static_cast<uint32_t>(high) << 16;
}

void add(Build& b) {
  operands(b, 2);
  by_size(b, b.type(), [&](auto t) {
    using T = decltype(t);
    lanewise<T, T, T>(b, [](T x, T y) { return static_cast<T>(x + y); });
  });
}
void sub(Build& b) {
  operands(b, 2);
  by_size(b, b.type(), [&](auto t) {
    using T = decltype(t);
    lanewise<T, T, T>(b, [](T x, T y) { return static_cast<T>(x - y); });
  });
}
int32_t saturated(int64_t v) {
  return static_cast<int32_t>(v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : v);
}
void add_sat(Build& b) {
  operands(b, 2);
  lanewise<int32_t, int32_t, int32_t>(
      b, [](int32_t x, int32_t y) { return saturated(int64_t{x} + y); });
}
void sub_sat(Build& b) {
  operands(b, 2);
  lanewise<int32_t, int32_t, int32_t>(
      b, [](int32_t x, int32_t y) { return saturated(int64_t{x} - y); });
}
void add_halves(Build& b) {
  operands(b, 2);
  lanewise<uint32_t, uint32_t, uint32_t>(b, [](uint32_t x, uint32_t y) {
    return halves<uint16_t>(x, y, [](uint16_t p, uint16_t q) { return p + q; });
  });
}
void mul_low(Build& b) {
  operands(b, 2);
  by_size(b, b.type(), [&](auto t) {
    using T = decltype(t);
    // 16-bit factors are promoted to int, in which their product may overflow.
    lanewise<T, T, T>(b, [](T x, T y) { return static_cast<T>(uint64_t{x} * uint64_t{y}); });
  });
}

template <class T>
T high_part(T x, T y) {
  if constexpr (sizeof(T) == 8) {
    using W = std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>;
    return static_cast<T>((static_cast<W>(x) * y) >> 64);
  } else {
    using W = std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>;
    return static_cast<T>((static_cast<W>(x) * static_cast<W>(y)) >> (8 * sizeof(T)));
  }
}

void mul_high(Build& b) {
  operands(b, 2);
  by_type(b, b.type(), [&](auto t) {
    using T = decltype(t);
    lanewise<T, T, T>(b, [](T x, T y) { return high_part(x, y); });
  });
}

// Results that are twice as wide.
template <class F>
void by_wide_type(Build& b, F f) {
  switch (b.type()) {
    case Ty::u16:
      return f(uint16_t{}, uint32_t{});
    case Ty::s16:
      return f(int16_t{}, int32_t{});
    case Ty::u32:
      return f(uint32_t{}, uint64_t{});
    default:
      return f(int32_t{}, int64_t{});
  }
}

void mul_wide(Build& b) {
  const Ty t = b.type();
  b.insn.d = b.dst(0, 2 * bytes_of(t));
  sources(b, t, 2);
  by_wide_type(b, [&](auto narrow, auto wide) {
    using T = decltype(narrow);
    using W = decltype(wide);
    lanewise<W, T, T>(b, [](T x, T y) { return static_cast<W>(static_cast<W>(x) * W{y}); });
  });
}

void mad_low(Build& b) {
  operands(b, 3);
  by_size(b, b.type(), [&](auto t) {
    using T = decltype(t);
    lanewise<T, T, T, T>(
        b, [](T x, T y, T z) { return static_cast<T>(uint64_t{x} * uint64_t{y} + uint64_t{z}); });
  });
}
void mad_high(Build& b) {
  operands(b, 3);
  by_type(b, b.type(), [&](auto t) {
    using T = decltype(t);
    using U = std::make_unsigned_t<T>;
    lanewise<T, T, T, T>(b, [](T x, T y, T z) {
      return static_cast<T>(static_cast<U>(static_cast<U>(high_part(x, y)) + static_cast<U>(z)));
    });
  });
}
void mad_high_sat(Build& b) {
  operands(b, 3);
  lanewise<int32_t, int32_t, int32_t, int32_t>(
      b, [](int32_t x, int32_t y, int32_t z) { return saturated(int64_t{high_part(x, y)} + z); });
}
void mad_wide(Build& b) {
  const Ty t = b.type();
  const Ty wide_type = t == Ty::u16   ? Ty::u32
                       : t == Ty::s16 ? Ty::s32
                       : t == Ty::u32 ? Ty::u64
                                      : Ty::s64;
  b.insn.d = b.dst(0, 2 * bytes_of(t));
  sources(b, t, 2);
  b.insn.c = b.src(3, wide_type);
  by_wide_type(b, [&](auto narrow, auto wide) {
    using T = decltype(narrow);
    using W = decltype(wide);
    using U = std::make_unsigned_t<W>;
    lanewise<W, T, T, W>(b, [](T x, T y, W z) {
      return static_cast<W>(
          static_cast<U>(static_cast<U>(static_cast<W>(W{x} * W{y})) + static_cast<U>(z)));
    });
  });
}

// 24-bit products: the low 24 bits of each operand.
template <class T>
int64_t product24(T x, T y) {
  if constexpr (std::is_signed_v<T>) {
    return int64_t{static_cast<int32_t>(static_cast<uint32_t>(x) << 8) >> 8} *
           int64_t{static_cast<int32_t>(static_cast<uint32_t>(y) << 8) >> 8};
  } else {
    return int64_t{x & 0xFFFFFF} * int64_t{y & 0xFFFFFF};
  }
}
void mul24(Build& b) {
  const bool high = b.has("hi");
  operands(b, 2);
  by_type(b, b.type(), [&](auto t) {
    using T = decltype(t);
    if constexpr (sizeof(T) == 4) {
      if (high) {
        lanewise<T, T, T>(b, [](T x, T y) { return static_cast<T>(product24(x, y) >> 16); });
      } else {
        lanewise<T, T, T>(b, [](T x, T y) { return static_cast<T>(product24(x, y)); });
      }
    }
  });
}
void mad24(Build& b) {
  const bool high = b.has("hi");
  operands(b, 3);
  by_type(b, b.type(), [&](auto t) {
    using T = decltype(t);
    if constexpr (sizeof(T) == 4) {
      if (high) {
        lanewise<T, T, T, T>(
            b, [](T x, T y, T z) { return static_cast<T>((product24(x, y) >> 16) + z); });
      } else {
        lanewise<T, T, T, T>(b, [](T x, T y, T z) { return static_cast<T>(product24(x, y) + z); });
      }
    }
  });
}

// Division by zero gives all ones, as the hardware's sequence does; the text leaves it open. The
// smallest number by -1 is itself.
template <class T>
T quotient(T x, T y) {
  if (y == 0) return static_cast<T>(-1);
  if constexpr (std::is_signed_v<T>) {
    if (y == -1) return static_cast<T>(0 - static_cast<std::make_unsigned_t<T>>(x));
  }
  return static_cast<T>(x / y);
}
template <class T>
T remainder_of(T x, T y) {
  if (y == 0) return x;
  if constexpr (std::is_signed_v<T>) {
    if (y == -1) return 0;
  }
  return static_cast<T>(x % y);
}
void div(Build& b) {
  operands(b, 2);
  by_type(b, b.type(), [&](auto t) {
    using T = decltype(t);
    scalar<T, T, T>(b, [](T x, T y) { return quotient(x, y); });
  });
}
void rem(Build& b) {
  operands(b, 2);
  by_type(b, b.type(), [&](auto t) {
    using T = decltype(t);
    scalar<T, T, T>(b, [](T x, T y) { return remainder_of(x, y); });
  });
}

void min_plain(Build& b) {
  operands(b, 2);
  by_type(b, b.type(), [&](auto t) {
    using T = decltype(t);
    lanewise<T, T, T>(b, [](T x, T y) { return x < y ? x : y; });
  });
}
void max_plain(Build& b) {
  operands(b, 2);
  by_type(b, b.type(), [&](auto t) {
    using T = decltype(t);
    lanewise<T, T, T>(b, [](T x, T y) { return x > y ? x : y; });
  });
}
void min_relu(Build& b) {
  operands(b, 2);
  lanewise<int32_t, int32_t, int32_t>(b, [](int32_t x, int32_t y) {
    const int32_t m = x < y ? x : y;
    return m < 0 ? 0 : m;
  });
}
void max_relu(Build& b) {
  operands(b, 2);
  lanewise<int32_t, int32_t, int32_t>(b, [](int32_t x, int32_t y) {
    const int32_t m = x > y ? x : y;
    return m < 0 ? 0 : m;
  });
}

template <class H, bool kMin, bool kRelu>
void halves_min_max(Build& b) {
  lanewise<uint32_t, uint32_t, uint32_t>(b, [](uint32_t x, uint32_t y) {
    return halves<H>(x, y, [](H p, H q) {
      const H m = (p < q) == kMin ? p : q;
      return kRelu && m < 0 ? H{0} : m;
    });
  });
}
void min_max_halves(Build& b) {
  operands(b, 2);
  const bool is_min = b.has("min");
  if (b.type() == Ty::u16x2) {
    return is_min ? halves_min_max<uint16_t, true, false>(b)
                  : halves_min_max<uint16_t, false, false>(b);
  }
  if (b.has("relu")) {
    return is_min ? halves_min_max<int16_t, true, true>(b)
                  : halves_min_max<int16_t, false, true>(b);
  }
  return is_min ? halves_min_max<int16_t, true, false>(b)
                : halves_min_max<int16_t, false, false>(b);
}

void absolute(Build& b) {
  operands(b, 1);
  by_type(b, b.type(), [&](auto t) {
    using T = decltype(t);
    using U = std::make_unsigned_t<T>;
    lanewise<T, T>(b, [](T x) { return static_cast<T>(x < 0 ? 0 - static_cast<U>(x) : U(x)); });
  });
}
void negate(Build& b) {
  operands(b, 1);
  by_size(b, b.type(), [&](auto t) {
    using T = decltype(t);
    lanewise<T, T>(b, [](T x) { return static_cast<T>(0 - x); });
  });
}
void sad(Build& b) {
  operands(b, 3);
  by_type(b, b.type(), [&](auto t) {
    using T = decltype(t);
    using U = std::make_unsigned_t<T>;
    lanewise<T, T, T, T>(b, [](T x, T y, T z) {
      const U d = x < y ? static_cast<U>(static_cast<U>(y) - static_cast<U>(x))
                        : static_cast<U>(static_cast<U>(x) - static_cast<U>(y));
      return static_cast<T>(static_cast<U>(d + static_cast<U>(z)));
    });
  });
}

#define INTEGER ".{u16,s16,u32,s32,u64,s64}"

constexpr Record kRecords[] = {
    {"add" INTEGER, "d, a, b", add},
    {"add.sat.s32", "d, a, b", add_sat},
    {"add.{u16x2,s16x2}", "d, a, b", add_halves},
    {"sub" INTEGER, "d, a, b", sub},
    {"sub.sat.s32", "d, a, b", sub_sat},
    {"mul.lo" INTEGER, "d, a, b", mul_low},
    {"mul.hi" INTEGER, "d, a, b", mul_high},
    {"mul.wide.{u16,s16,u32,s32}", "d, a, b", mul_wide},
    {"mad.lo" INTEGER, "d, a, b, c", mad_low},
    {"mad.hi" INTEGER, "d, a, b, c", mad_high},
    {"mad.hi.sat.s32", "d, a, b, c", mad_high_sat},
    {"mad.wide.{u16,s16,u32,s32}", "d, a, b, c", mad_wide},
    {"mul24.{hi,lo}.{u32,s32}", "d, a, b", mul24},
    {"mad24.{hi,lo}.{u32,s32}", "d, a, b, c", mad24},
    {"div" INTEGER, "d, a, b", div},
    {"rem" INTEGER, "d, a, b", rem},
    {"min" INTEGER, "d, a, b", min_plain},
    {"max" INTEGER, "d, a, b", max_plain},
    {"min.relu.s32", "d, a, b", min_relu},
    {"max.relu.s32", "d, a, b", max_relu},
    {"{min,max}.u16x2", "d, a, b", min_max_halves},
    {"{min,max}[.relu].s16x2", "d, a, b", min_max_halves},
    {"abs.{s16,s32,s64}", "d, a", absolute},
    {"neg.{s16,s32,s64}", "d, a", negate},
    {"sad" INTEGER, "d, a, b, c", sad},
};

}  // namespace
}  // namespace integer_family

extern const Family kInteger;
const Family kInteger = {"Integer arithmetic", integer_family::kRecords,
                         static_cast<int>(std::size(integer_family::kRecords))};

}  // namespace cohort::emu::COHORT_ISA
