// f32 arithmetic: add, sub, mul, fma, div, rcp, sqrt, rsqrt, min, max, abs, neg and the functions
// that hardware approximates.
//
// Approximate functions are computed in f64 and rounded once to f32: correctly rounded but for
// arguments whose exact result lies within 2^-53 of the middle of two f32 numbers. The text allows
// errors of 2^-20 to 2^-23; no two chips need agree.
#include <cmath>

#include "emu/insn/float.h"
#include "emu/insn/lanes.h"

namespace cohort::emu::COHORT_ISA {

namespace float_family {
namespace {

void operands(Build& b, int count) {
  b.insn.d = b.dst(0, 4);
  sources(b, Ty::f32, count);
}

struct Add {
  template <class T>
  T operator()(T x, T y) const {
    return x + y;
  }
};
struct Sub {
  template <class T>
  T operator()(T x, T y) const {
    return x - y;
  }
};
struct Mul {
  template <class T>
  T operator()(T x, T y) const {
    return x * y;
  }
};
struct Fma {
  template <class T>
  T operator()(T x, T y, T z) const {
    return fused(x, y, z);
  }
};
struct Div {
  float operator()(float x, float y) const { return x / y; }
};
struct Sqrt {
  float operator()(float x) const { return std::sqrt(x); }
};
struct Rcp {
  float operator()(float x) const { return 1.0f / x; }
};

// flags of instructions below: 1 .ftz, 2 .sat; mode: a Rounding::Mode.
float finish(const Insn& i, float r) {
  if ((i.flags & 1) != 0) r = flush(r);
  return (i.flags & 2) != 0 ? saturate(r) : canonical(r);
}
float begin(const Insn& i, float x) { return (i.flags & 1) != 0 ? flush(x) : x; }

// Any rounding, lane by lane.
template <class F, int kCount>
Next directed(Warp& w, const Insn& i, uint32_t lanes) {
  const Rounding rounding(i.mode);
  const uint32_t o[3] = {i.a, kCount > 1 ? i.b : i.a, kCount > 2 ? i.c : i.a};
  for (uint32_t left = lanes; left != 0; left &= left - 1) {
    const int l = std::countr_zero(left);
    const float x = opaque(begin(i, get<float>(w.word(o[0]), l)));
    const float y = opaque(begin(i, get<float>(w.word(o[1]), l)));
    const float z = opaque(begin(i, get<float>(w.word(o[2]), l)));
    float r = 0;
    if constexpr (kCount == 3) {
#ifdef __FMA__
      r = opaque(fused(x, y, z));
#else
      r = opaque(__builtin_fmaf(x, y, z));
#endif
    } else if constexpr (kCount == 2) {
      r = opaque(F{}(x, y));
    } else {
      r = opaque(F{}(x));
    }
    put<float>(w.word(i.d), l, finish(i, r));
  }
  return Next::go;
}

uint8_t rounding_of(const Build& b) {
  if (b.has("rz")) return Rounding::zero;
  if (b.has("rm")) return Rounding::down;
  if (b.has("rp")) return Rounding::up;
  return Rounding::nearest;
}

template <class F, int kCount, bool kFtz, bool kSat>
void nearest(Build& b) {
  if constexpr (kCount == 3) {
    lanewise<float, float, float, float>(b, [](float x, float y, float z) {
      return out<kFtz, kSat>(F{}(in<kFtz>(x), in<kFtz>(y), in<kFtz>(z)));
    });
  } else {
    lanewise<float, float, float>(
        b, [](float x, float y) { return out<kFtz, kSat>(F{}(in<kFtz>(x), in<kFtz>(y))); });
  }
}

template <class F, int kCount>
void arithmetic(Build& b) {
  operands(b, kCount);
  const bool ftz = b.has("ftz");
  const bool sat = b.has("sat");
  b.insn.mode = rounding_of(b);
  if (b.insn.mode != Rounding::nearest || (ftz && sat)) {
    b.insn.flags = static_cast<uint8_t>((ftz ? 1 : 0) | (sat ? 2 : 0));
    return b.set(directed<F, kCount>);
  }
  if (ftz) return nearest<F, kCount, true, false>(b);
  if (sat) return nearest<F, kCount, false, true>(b);
  nearest<F, kCount, false, false>(b);
}

void add(Build& b) { arithmetic<Add, 2>(b); }
void sub(Build& b) { arithmetic<Sub, 2>(b); }
void mul(Build& b) { arithmetic<Mul, 2>(b); }
void fma(Build& b) { arithmetic<Fma, 3>(b); }

template <class F, int kCount>
void rounded(Build& b) {
  operands(b, kCount);
  b.insn.mode = rounding_of(b);
  b.insn.flags = b.has("ftz") ? 1 : 0;
  b.set(directed<F, kCount>);
}
void div(Build& b) { rounded<Div, 2>(b); }
void sqrt_rounded(Build& b) { rounded<Sqrt, 1>(b); }
void rcp(Build& b) { rounded<Rcp, 1>(b); }

// div.approx is a * (1 / b): a divisor above 2^126 has a reciprocal that is flushed.
float div_approximate(float x, float y) {
  const float magnitude = std::fabs(y);
  if (magnitude > 0x1p126f && magnitude <= 0x1.fffffep127f) return x * std::copysign(0.0f, y);
  return x / y;
}

template <class F>
Next approximate(Warp& w, const Insn& i, uint32_t lanes) {
  for (uint32_t left = lanes; left != 0; left &= left - 1) {
    const int l = std::countr_zero(left);
    const float x = begin(i, get<float>(w.word(i.a), l));
    const float y = i.b == kNoOperand ? 0 : begin(i, get<float>(w.word(i.b), l));
    put<float>(w.word(i.d), l, finish(i, F{}(x, y)));
  }
  return Next::go;
}
template <class F>
void function(Build& b, int count, F) {
  operands(b, count);
  b.insn.flags = b.has("ftz") ? 1 : 0;
  b.set(approximate<F>);
}
void div_approx(Build& b) {
  if (b.has("full")) return function(b, 2, [](float x, float y) { return x / y; });
  function(b, 2, [](float x, float y) { return div_approximate(x, y); });
}
void rsqrt(Build& b) {
  function(b, 1, [](float x, float) {
    return static_cast<float>(1.0 / std::sqrt(static_cast<double>(x)));
  });
}
void ex2(Build& b) {
  function(b, 1, [](float x, float) { return static_cast<float>(std::exp2(double{x})); });
}
void lg2(Build& b) {
  function(b, 1, [](float x, float) { return static_cast<float>(std::log2(double{x})); });
}
void sine(Build& b) {
  function(b, 1, [](float x, float) { return static_cast<float>(std::sin(double{x})); });
}
void cosine(Build& b) {
  function(b, 1, [](float x, float) { return static_cast<float>(std::cos(double{x})); });
}
void tangent(Build& b) {
  function(b, 1, [](float x, float) { return static_cast<float>(std::tanh(double{x})); });
}

// -0 is less than +0. One NaN: the other operand, or NaN when .NaN is spelled.
template <bool kMax, bool kNanWins>
float extreme(float x, float y) {
  const auto ux = std::bit_cast<uint32_t>(x);
  const auto uy = std::bit_cast<uint32_t>(y);
  const uint32_t equal = kMax ? ux & uy : ux | uy;  // of zeros; others are the same number
  const float less = kMax ? (x > y ? x : y) : (x < y ? x : y);
  float r = x == y ? std::bit_cast<float>(equal) : less;
  if constexpr (kNanWins) {
    r = x != x || y != y ? std::bit_cast<float>(kNan) : r;
  } else {
    r = x != x ? y : y != y ? x : r;
  }
  return canonical(r);
}
template <bool kMax, bool kNanWins, bool kFtz>
void extremes(Build& b) {
  if (b.operands() == 4) {
    return lanewise<float, float, float, float>(b, [](float x, float y, float z) {
      return extreme<kMax, kNanWins>(extreme<kMax, kNanWins>(in<kFtz>(x), in<kFtz>(y)),
                                     in<kFtz>(z));
    });
  }
  lanewise<float, float, float>(
      b, [](float x, float y) { return extreme<kMax, kNanWins>(in<kFtz>(x), in<kFtz>(y)); });
}
// .xorsign.abs: of magnitudes, with the sign of the product.
template <bool kMax, bool kNanWins>
float extreme_magnitude(float x, float y) {
  const float m = extreme<kMax, kNanWins>(std::fabs(x), std::fabs(y));
  const uint32_t sign = (std::bit_cast<uint32_t>(x) ^ std::bit_cast<uint32_t>(y)) & 0x80000000;
  return m != m ? m : std::bit_cast<float>(std::bit_cast<uint32_t>(m) | sign);
}
template <bool kMax, bool kNanWins>
void min_max(Build& b) {
  operands(b, b.operands() == 4 ? 3 : 2);
  const bool ftz = b.has("ftz");
  if (b.has("xorsign")) {
    if (ftz) {
      return lanewise<float, float, float>(b, [](float x, float y) {
        return extreme_magnitude<kMax, kNanWins>(flush(x), flush(y));
      });
    }
    return lanewise<float, float, float>(
        b, [](float x, float y) { return extreme_magnitude<kMax, kNanWins>(x, y); });
  }
  return ftz ? extremes<kMax, kNanWins, true>(b) : extremes<kMax, kNanWins, false>(b);
}
void min(Build& b) { return b.has("NaN") ? min_max<false, true>(b) : min_max<false, false>(b); }
void max(Build& b) { return b.has("NaN") ? min_max<true, true>(b) : min_max<true, false>(b); }

void absolute(Build& b) {
  operands(b, 1);
  if (b.has("ftz")) return lanewise<float, float>(b, [](float x) { return std::fabs(flush(x)); });
  lanewise<float, float>(b, [](float x) { return std::fabs(x); });
}
void negate(Build& b) {
  operands(b, 1);
  if (b.has("ftz")) return lanewise<float, float>(b, [](float x) { return -flush(x); });
  lanewise<float, float>(b, [](float x) { return -x; });
}
// The sign of a, the magnitude of b.
void copysign(Build& b) {
  operands(b, 2);
  lanewise<uint32_t, uint32_t, uint32_t>(
      b, [](uint32_t x, uint32_t y) { return (x & 0x80000000) | (y & 0x7FFFFFFF); });
}

bool has_property(uint8_t which, float x) {
  const uint32_t m = std::bit_cast<uint32_t>(x) & 0x7FFFFFFF;
  switch (which) {
    case 0:
      return m < 0x7F800000;
    case 1:
      return m == 0x7F800000;
    case 2:
      return m <= 0x7F800000;
    case 3:
      return m > 0x7F800000;
    case 4:
      return m >= 0x00800000 && m < 0x7F800000;
    default:
      return m != 0 && m < 0x00800000;
  }
}
Next test(Warp& w, const Insn& i, uint32_t lanes) {
  uint32_t bits = 0;
  for (int l = 0; l < 32; ++l) {
    bits |= has_property(i.mode, get<float>(w.word(i.a), l)) ? 1u << l : 0;
  }
  *w.word(i.d) = (*w.word(i.d) & ~lanes) | (bits & lanes);
  return Next::go;
}
void testp(Build& b) {
  static constexpr const char* kNames[] = {"finite",     "infinite", "number",
                                           "notanumber", "normal",   "subnormal"};
  for (uint8_t k = 0; k < 6; ++k) {
    if (b.has(kNames[k])) b.insn.mode = k;
  }
  b.insn.d = b.pred_dst(0);
  b.insn.a = b.src(1, Ty::f32);
  if (b.insn.d == kNoOperand) b.refuse("no result");
  b.set(test);
}

// Pairs of f32 in 64 bits.
template <class F, int kCount>
Next pairs(Warp& w, const Insn& i, uint32_t lanes) {
  const Rounding rounding(i.mode);
  for (uint32_t left = lanes; left != 0; left &= left - 1) {
    const int l = std::countr_zero(left);
    float s[3][2] = {};
    const uint32_t o[3] = {i.a, i.b, i.c};
    for (int k = 0; k < kCount; ++k) __builtin_memcpy(s[k], w.word(o[k]) + ptrdiff_t{2} * l, 8);
    float r[2];
    for (int h = 0; h < 2; ++h) {
      const float x = opaque(begin(i, s[0][h]));
      const float y = opaque(begin(i, s[1][h]));
      const float z = opaque(begin(i, s[2][h]));
      if constexpr (kCount == 3) {
        r[h] = opaque(__builtin_fmaf(x, y, z));
      } else {
        r[h] = opaque(F{}(x, y));
      }
      r[h] = finish(i, r[h]);
    }
    __builtin_memcpy(w.word(i.d) + ptrdiff_t{2} * l, r, 8);
  }
  return Next::go;
}
template <class F, int kCount>
void pair(Build& b) {
  b.insn.d = b.dst(0, 8);
  sources(b, Ty::b64, kCount);
  b.insn.mode = rounding_of(b);
  b.insn.flags = b.has("ftz") ? 1 : 0;
  b.set(pairs<F, kCount>);
}
void add2(Build& b) { pair<Add, 2>(b); }
void sub2(Build& b) { pair<Sub, 2>(b); }
void mul2(Build& b) { pair<Mul, 2>(b); }
void fma2(Build& b) { pair<Fma, 3>(b); }

#define ROUND ".{rn,rz,rm,rp}"

constexpr Record kRecords[] = {
    {"add[" ROUND "][.ftz][.sat].f32", "d, a, b", add},
    {"sub[" ROUND "][.ftz][.sat].f32", "d, a, b", sub},
    {"mul[" ROUND "][.ftz][.sat].f32", "d, a, b", mul},
    {"{fma,mad}" ROUND "[.ftz][.sat].f32", "d, a, b, c", fma},
    {"div" ROUND "[.ftz].f32", "d, a, b", div},
    {"div.{approx,full}[.ftz].f32", "d, a, b", div_approx},
    {"rcp" ROUND "[.ftz].f32", "d, a", rcp},
    {"rcp.approx[.ftz].f32", "d, a", rcp},
    {"sqrt" ROUND "[.ftz].f32", "d, a", sqrt_rounded},
    {"sqrt.approx[.ftz].f32", "d, a", sqrt_rounded},
    {"rsqrt.approx[.ftz].f32", "d, a", rsqrt},
    {"ex2.approx[.ftz].f32", "d, a", ex2},
    {"lg2.approx[.ftz].f32", "d, a", lg2},
    {"sin.approx[.ftz].f32", "d, a", sine},
    {"cos.approx[.ftz].f32", "d, a", cosine},
    {"tanh.approx.f32", "d, a", tangent},
    {"min[.ftz][.NaN][.xorsign][.abs].f32", "d, a, b[, c]", min},
    {"max[.ftz][.NaN][.xorsign][.abs].f32", "d, a, b[, c]", max},
    {"abs[.ftz].f32", "d, a", absolute},
    {"neg[.ftz].f32", "d, a", negate},
    {"copysign.f32", "d, a, b", copysign},
    {"testp.{finite,infinite,number,notanumber,normal,subnormal}.f32", "p, a", testp},
    {"add[" ROUND "][.ftz].f32x2", "d, a, b", add2},
    {"sub[" ROUND "][.ftz].f32x2", "d, a, b", sub2},
    {"mul[" ROUND "][.ftz].f32x2", "d, a, b", mul2},
    {"fma" ROUND "[.ftz].f32x2", "d, a, b, c", fma2},
};

}  // namespace
}  // namespace float_family

extern const Family kFloat;
const Family kFloat = {"f32 arithmetic", float_family::kRecords,
                       static_cast<int>(std::size(float_family::kRecords))};

}  // namespace cohort::emu::COHORT_ISA
