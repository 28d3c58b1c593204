// f64 arithmetic. NaN: see settled().
#include <cmath>

#include "emu/insn/float.h"
#include "emu/insn/lanes.h"

namespace cohort::emu::COHORT_ISA {

namespace double_family {
namespace {

void operands(Build& b, int count) {
  b.insn.d = b.dst(0, 8);
  sources(b, Ty::f64, count);
}

struct Add {
  double operator()(double x, double y, double) const { return x + y; }
};
struct Sub {
  double operator()(double x, double y, double) const { return x - y; }
};
struct Mul {
  double operator()(double x, double y, double) const { return x * y; }
};
struct Fma {
  double operator()(double x, double y, double z) const { return fused(x, y, z); }
};
struct Div {
  double operator()(double x, double y, double) const { return x / y; }
};
struct Rcp {
  double operator()(double x, double, double) const { return 1.0 / x; }
};
struct Sqrt {
  double operator()(double x, double, double) const { return std::sqrt(x); }
};

// mode: a Rounding::Mode.
template <class F>
Next rounded(Warp& w, const Insn& i, uint32_t lanes) {
  const Rounding rounding(i.mode);
  const uint32_t ob = i.b == kNoOperand ? i.a : i.b;
  const uint32_t oc = i.c == kNoOperand ? i.a : i.c;
  for (uint32_t left = lanes; left != 0; left &= left - 1) {
    const int l = std::countr_zero(left);
    const double x = opaque(get<double>(w.word(i.a), l));
    const double y = opaque(get<double>(w.word(ob), l));
    const double z = opaque(get<double>(w.word(oc), l));
    const double r = opaque(F{}(x, y, z));
    put<double>(w.word(i.d), l, r == r ? r : settled(r, x, y == y ? z : y));
  }
  return Next::go;
}

template <class F>
void arithmetic(Build& b, int count) {
  operands(b, count);
  b.insn.mode = b.has("rz")   ? Rounding::zero
                : b.has("rm") ? Rounding::down
                : b.has("rp") ? Rounding::up
                              : Rounding::nearest;
  b.set(rounded<F>);
}
void add(Build& b) {
  arithmetic<Add>(b, 2);
  if (b.insn.mode != Rounding::nearest) return;
  lanewise<double, double, double>(b, [](double x, double y) { return settled(x + y, x, y); });
}
void sub(Build& b) {
  arithmetic<Sub>(b, 2);
  if (b.insn.mode != Rounding::nearest) return;
  lanewise<double, double, double>(b, [](double x, double y) { return settled(x - y, x, y); });
}
void mul(Build& b) {
  arithmetic<Mul>(b, 2);
  if (b.insn.mode != Rounding::nearest) return;
  lanewise<double, double, double>(b, [](double x, double y) { return settled(x * y, x, y); });
}
void fma(Build& b) { arithmetic<Fma>(b, 3); }
void div(Build& b) { arithmetic<Div>(b, 2); }
void rcp(Build& b) { arithmetic<Rcp>(b, 1); }
void square_root(Build& b) { arithmetic<Sqrt>(b, 1); }

// The hardware's approximations keep 20 bits; these are correctly rounded.
double flushed(double x) {
  const auto u = std::bit_cast<uint64_t>(x);
  return std::bit_cast<double>((u & 0x7FF0000000000000) == 0 ? u & 0x8000000000000000 : u);
}
void rcp_approx(Build& b) {
  operands(b, 1);
  scalar<double, double>(b, [](double x) { return flushed(1.0 / flushed(x)); });
}
void rsqrt_approx(Build& b) {
  operands(b, 1);
  if (b.has("ftz")) {
    scalar<double, double>(b, [](double x) { return 1.0 / std::sqrt(flushed(x)); });
  } else {
    scalar<double, double>(b, [](double x) { return 1.0 / std::sqrt(x); });
  }
}

template <bool kMax>
double extreme(double x, double y) {
  const auto ux = std::bit_cast<uint64_t>(x);
  const auto uy = std::bit_cast<uint64_t>(y);
  if (x != x) return y != y ? quiet(x) : y;
  if (y != y) return x;
  if (x == y) return std::bit_cast<double>(kMax ? ux & uy : ux | uy);
  return (x < y) != kMax ? x : y;
}
void min(Build& b) {
  operands(b, 2);
  scalar<double, double, double>(b, [](double x, double y) { return extreme<false>(x, y); });
}
void max(Build& b) {
  operands(b, 2);
  scalar<double, double, double>(b, [](double x, double y) { return extreme<true>(x, y); });
}
void absolute(Build& b) {
  operands(b, 1);
  lanewise<double, double>(b, [](double x) { return std::fabs(x); });
}
void negate(Build& b) {
  operands(b, 1);
  lanewise<double, double>(b, [](double x) { return -x; });
}
void copysign(Build& b) {
  operands(b, 2);
  lanewise<uint64_t, uint64_t, uint64_t>(b, [](uint64_t x, uint64_t y) {
    return (x & 0x8000000000000000) | (y & 0x7FFFFFFFFFFFFFFF);
  });
}

#define ROUND ".{rn,rz,rm,rp}"

constexpr Record kRecords[] = {
    {"add[" ROUND "].f64", "d, a, b", add},
    {"sub[" ROUND "].f64", "d, a, b", sub},
    {"mul[" ROUND "].f64", "d, a, b", mul},
    {"{fma,mad}" ROUND ".f64", "d, a, b, c", fma},
    {"div" ROUND ".f64", "d, a, b", div},
    {"rcp" ROUND ".f64", "d, a", rcp},
    {"rcp.approx.ftz.f64", "d, a", rcp_approx},
    {"sqrt" ROUND ".f64", "d, a", square_root},
    {"rsqrt.approx[.ftz].f64", "d, a", rsqrt_approx},
    {"min.f64", "d, a, b", min},
    {"max.f64", "d, a, b", max},
    {"abs.f64", "d, a", absolute},
    {"neg.f64", "d, a", negate},
    {"copysign.f64", "d, a, b", copysign},
};

}  // namespace
}  // namespace double_family

extern const Family kDouble;
const Family kDouble = {"f64 arithmetic", double_family::kRecords,
                        static_cast<int>(std::size(double_family::kRecords))};

}  // namespace cohort::emu::COHORT_ISA
