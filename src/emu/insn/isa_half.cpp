// f16 and bf16 arithmetic, alone and in pairs. Sums and products go through f64, where they are
// exact or rounded to odd, and are rounded once to the format.
// Insn: flags below. Pairs and single values differ by the number of 16-bit parts.
#include <cmath>

#include "emu/insn/half.h"
#include "emu/insn/lanes.h"

namespace cohort::emu::COHORT_ISA {

namespace half_family {
namespace {

constexpr uint8_t kFtz = 1;
constexpr uint8_t kSat = 2;
constexpr uint8_t kRelu = 4;
constexpr uint8_t kNanWins = 8;
constexpr uint8_t kSignOfProduct = 16;
constexpr uint16_t kNan = 0x7FFF;

uint16_t flushed(const numerics::Spec& s, uint16_t x) {
  const auto exponent = static_cast<uint16_t>((x & 0x7FFF) >> s.mantissa_bits);
  return exponent == 0 ? static_cast<uint16_t>(x & 0x8000) : x;
}

template <class H>
uint16_t rounded(const Insn& i, double x) {
  if ((i.flags & kSat) != 0) x = x > 0 ? (x < 1 ? x : 1.0) : 0.0;
  if ((i.flags & kRelu) != 0 && x <= 0) x = 0.0;
  const auto r = static_cast<uint16_t>(
      numerics::encode(H::kSpec, x, numerics::Round::nearest_even, numerics::Overflow::ieee));
  return (i.flags & kFtz) != 0 ? flushed(H::kSpec, r) : r;
}

struct Add {
  template <class H>
  static uint16_t of(const Insn& i, uint16_t x, uint16_t y, uint16_t) {
    return rounded<H>(i, odd_sum(H::value(x), H::value(y)));
  }
};
struct Sub {
  template <class H>
  static uint16_t of(const Insn& i, uint16_t x, uint16_t y, uint16_t) {
    return rounded<H>(i, odd_sum(H::value(x), -static_cast<double>(H::value(y))));
  }
};
struct Mul {
  template <class H>
  static uint16_t of(const Insn& i, uint16_t x, uint16_t y, uint16_t) {
    return rounded<H>(i, static_cast<double>(H::value(x)) * H::value(y));
  }
};
struct Fma {
  template <class H>
  static uint16_t of(const Insn& i, uint16_t x, uint16_t y, uint16_t z) {
    return rounded<H>(i, odd_sum(static_cast<double>(H::value(x)) * H::value(y), H::value(z)));
  }
};
template <bool kMax>
struct Extreme {
  template <class H>
  static uint16_t of(const Insn& i, uint16_t x, uint16_t y, uint16_t) {
    const auto sign = static_cast<uint16_t>((x ^ y) & 0x8000);
    if ((i.flags & kSignOfProduct) != 0) {
      x &= 0x7FFF;
      y &= 0x7FFF;
    }
    const float a = H::value(x);
    const float b = H::value(y);
    uint16_t r = 0;
    if (a != a || b != b) {
      if ((i.flags & kNanWins) != 0 || (a != a && b != b)) return kNan;
      r = a != a ? y : x;
    } else {
      // -0 is less than +0.
      const bool less = a < b || (a == b && (x & 0x8000) > (y & 0x8000));
      r = less != kMax ? x : y;
    }
    return (i.flags & kSignOfProduct) != 0 ? static_cast<uint16_t>(r | sign) : r;
  }
};
struct Abs {
  template <class H>
  static uint16_t of(const Insn&, uint16_t x, uint16_t, uint16_t) {
    return x & 0x7FFF;
  }
};
struct Neg {
  template <class H>
  static uint16_t of(const Insn&, uint16_t x, uint16_t, uint16_t) {
    return x ^ 0x8000;
  }
};
struct Ex2 {
  template <class H>
  static uint16_t of(const Insn& i, uint16_t x, uint16_t, uint16_t) {
    return rounded<H>(i, std::exp2(static_cast<double>(H::value(x))));
  }
};
struct Tanh {
  template <class H>
  static uint16_t of(const Insn& i, uint16_t x, uint16_t, uint16_t) {
    return rounded<H>(i, std::tanh(static_cast<double>(H::value(x))));
  }
};

template <class F, class H, int kParts>
Next run(Warp& w, const Insn& i, uint32_t lanes) {
  const uint32_t* a = w.word(i.a);
  const uint32_t* b = i.b == kNoOperand ? a : w.word(i.b);
  const uint32_t* c = i.c == kNoOperand ? a : w.word(i.c);
  const bool ftz = (i.flags & kFtz) != 0;
  for (uint32_t left = lanes; left != 0; left &= left - 1) {
    const int l = std::countr_zero(left);
    uint32_t r = 0;
    for (int k = 0; k < kParts; ++k) {
      auto x = static_cast<uint16_t>(a[l] >> (16 * k));
      auto y = static_cast<uint16_t>(b[l] >> (16 * k));
      auto z = static_cast<uint16_t>(c[l] >> (16 * k));
      if (ftz) {
        x = flushed(H::kSpec, x);
        y = flushed(H::kSpec, y);
        z = flushed(H::kSpec, z);
      }
      r |= uint32_t{F::template of<H>(i, x, y, z)} << (16 * k);
    }
    w.word(i.d)[l] = r;
  }
  return Next::go;
}

template <class F>
void make(Build& b, int count) {
  const Ty t = b.type();
  b.insn.d = b.dst(0, bytes_of(t));
  sources(b, t, count);
  b.insn.flags = static_cast<uint8_t>((b.has("ftz") ? kFtz : 0) | (b.has("sat") ? kSat : 0) |
                                      (b.has("relu") ? kRelu : 0) | (b.has("NaN") ? kNanWins : 0) |
                                      (b.has("xorsign") ? kSignOfProduct : 0));
  switch (t) {
    case Ty::f16:
      return b.set(run<F, F16, 1>);
    case Ty::f16x2:
      return b.set(run<F, F16, 2>);
    case Ty::bf16:
      return b.set(run<F, Bf16, 1>);
    default:
      return b.set(run<F, Bf16, 2>);
  }
}
void add(Build& b) { make<Add>(b, 2); }
void sub(Build& b) { make<Sub>(b, 2); }
void mul(Build& b) { make<Mul>(b, 2); }
void fma(Build& b) { make<Fma>(b, 3); }
void min(Build& b) { make<Extreme<false>>(b, 2); }
void max(Build& b) { make<Extreme<true>>(b, 2); }
void absolute(Build& b) { make<Abs>(b, 1); }
void negate(Build& b) { make<Neg>(b, 1); }
void ex2(Build& b) { make<Ex2>(b, 1); }
void tangent(Build& b) { make<Tanh>(b, 1); }

#define F16_TYPE ".{f16,f16x2}"
#define BF16_TYPE ".{bf16,bf16x2}"

constexpr Record kRecords[] = {
    {"add[.rn][.ftz][.sat]" F16_TYPE, "d, a, b", add},
    {"add[.rn]" BF16_TYPE, "d, a, b", add},
    {"sub[.rn][.ftz][.sat]" F16_TYPE, "d, a, b", sub},
    {"sub[.rn]" BF16_TYPE, "d, a, b", sub},
    {"mul[.rn][.ftz][.sat]" F16_TYPE, "d, a, b", mul},
    {"mul[.rn]" BF16_TYPE, "d, a, b", mul},
    {"fma.rn[.ftz][.sat]" F16_TYPE, "d, a, b, c", fma},
    {"fma.rn[.ftz].relu" F16_TYPE, "d, a, b, c", fma},
    {"fma.rn[.relu]" BF16_TYPE, "d, a, b, c", fma},
    {"min[.ftz][.NaN][.xorsign][.abs]" F16_TYPE, "d, a, b", min},
    {"min[.NaN][.xorsign][.abs]" BF16_TYPE, "d, a, b", min},
    {"max[.ftz][.NaN][.xorsign][.abs]" F16_TYPE, "d, a, b", max},
    {"max[.NaN][.xorsign][.abs]" BF16_TYPE, "d, a, b", max},
    {"abs[.ftz]" F16_TYPE, "d, a", absolute},
    {"abs" BF16_TYPE, "d, a", absolute},
    {"neg[.ftz]" F16_TYPE, "d, a", negate},
    {"neg" BF16_TYPE, "d, a", negate},
    {"ex2.approx" F16_TYPE, "d, a", ex2},
    {"ex2.approx.ftz" BF16_TYPE, "d, a", ex2},
    {"tanh.approx" F16_TYPE, "d, a", tangent},
    {"tanh.approx" BF16_TYPE, "d, a", tangent},
};

}  // namespace
}  // namespace half_family

extern const Family kHalf;
const Family kHalf = {"f16 and bf16 arithmetic", half_family::kRecords,
                      static_cast<int>(std::size(half_family::kRecords))};

}  // namespace cohort::emu::COHORT_ISA
