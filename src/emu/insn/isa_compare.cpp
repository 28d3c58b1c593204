// Comparisons and choices: setp, set, selp, slct.
//
// A few base comparisons do for all: the operands are exchanged or the answer turned round.
// Insn: d, e: predicates p and q; c: predicate; mode: kTurned, kAnd, kOr, kXor.
#include "emu/insn/half.h"
#include "emu/insn/lanes.h"

namespace cohort::emu::COHORT_ISA {

namespace compare_family {
namespace {

constexpr uint8_t kTurned = 1;
constexpr uint8_t kAnd = 2;
constexpr uint8_t kOr = 4;
constexpr uint8_t kXor = 8;

enum class Base : uint8_t { eq, lt, le, differs, number };

// How a comparison is made of a base one.
struct Form {
  Base base;
  bool exchanged;
  bool turned;
};

bool form_of(std::string_view op, bool is_float, Form& f) {
  struct Row {
    std::string_view name;
    Form integer;
    Form real;
  };
  static constexpr Form kEq{Base::eq, false, false};
  static constexpr Form kNe{Base::eq, false, true};
  static constexpr Form kLt{Base::lt, false, false};
  static constexpr Form kLe{Base::le, false, false};
  static constexpr Form kGt{Base::lt, true, false};
  static constexpr Form kGe{Base::le, true, false};
  static constexpr Form kDiffers{Base::differs, false, false};
  static constexpr Row kRows[] = {
      {"eq", kEq, kEq},
      {"ne", kNe, kDiffers},
      {"lt", kLt, kLt},
      {"le", kLe, kLe},
      {"gt", kGt, kGt},
      {"ge", kGe, kGe},
      {"lo", kLt, kLt},
      {"ls", kLe, kLe},
      {"hi", kGt, kGt},
      {"hs", kGe, kGe},
      {"equ", kEq, {Base::differs, false, true}},
      {"neu", kNe, kNe},
      {"ltu", kLt, {Base::le, true, true}},
      {"leu", kLe, {Base::lt, true, true}},
      {"gtu", kGt, {Base::le, false, true}},
      {"geu", kGe, {Base::lt, false, true}},
      {"num", kEq, {Base::number, false, false}},
      {"nan", kEq, {Base::number, false, true}},
  };
  for (const Row& r : kRows) {
    if (r.name != op) continue;
    f = is_float ? r.real : r.integer;
    return true;
  }
  return false;
}

struct Eq {
  template <class T>
  bool operator()(T x, T y) const {
    return x == y;
  }
};
struct Lt {
  template <class T>
  bool operator()(T x, T y) const {
    return x < y;
  }
};
struct Le {
  template <class T>
  bool operator()(T x, T y) const {
    return x <= y;
  }
};
struct Differs {
  template <class T>
  bool operator()(T x, T y) const {
    return x < y || x > y;
  }
};
struct Number {
  template <class T>
  bool operator()(T x, T y) const {
    return x == x && y == y;
  }
};

// The bits before c is taken into account.
template <class F, class S>
struct Plain {
  static uint32_t bits(const Warp& w, const Insn& i) {
    const uint32_t r = Compare<F, S>::loop(w.word(i.a), w.word(i.b));
    return (i.mode & kTurned) != 0 ? ~r : r;
  }
};
// Operands of type S are compared as f32.
template <class F, float (*kRead)(uint32_t)>
struct ByValue {
  static uint32_t bits(const Warp& w, const Insn& i) {
    const uint32_t* a = w.word(i.a);
    const uint32_t* b = w.word(i.b);
    uint32_t r = 0;
    for (int l = 0; l < 32; ++l) r |= F{}(kRead(a[l]), kRead(b[l])) ? 1u << l : 0;
    return (i.mode & kTurned) != 0 ? ~r : r;
  }
};

uint32_t combined(const Warp& w, const Insn& i, uint32_t bits) {
  if (i.c == kNoOperand) return bits;
  const uint32_t c = *w.word(i.c);
  if ((i.mode & kAnd) != 0) return bits & c;
  if ((i.mode & kOr) != 0) return bits | c;
  return bits ^ c;
}

template <class Bits>
Next setp(Warp& w, const Insn& i, uint32_t lanes) {
  const uint32_t bits = Bits::bits(w, i);
  const uint32_t p = combined(w, i, bits);
  const uint32_t q = combined(w, i, ~bits);
  if (i.d != kNoOperand) *w.word(i.d) = (*w.word(i.d) & ~lanes) | (p & lanes);
  if (i.e != kNoOperand) *w.word(i.e) = (*w.word(i.e) & ~lanes) | (q & lanes);
  return Next::go;
}
template <class Bits>
Next set_word(Warp& w, const Insn& i, uint32_t lanes) {
  const uint32_t p = combined(w, i, Bits::bits(w, i));
  uint32_t* d = w.word(i.d);
  const auto truth = static_cast<uint32_t>(i.imm);
  for (int l = 0; l < 32; ++l) {
    if ((lanes >> l & 1) != 0) d[l] = (p >> l & 1) != 0 ? truth : 0;
  }
  return Next::go;
}

float flushed(uint32_t x) {
  return std::bit_cast<float>((x & 0x7F800000) == 0 ? x & 0x80000000 : x);
}
float from_f16(uint32_t x) { return half_value(static_cast<uint16_t>(x)); }
float from_bf16(uint32_t x) { return std::bit_cast<float>(x << 16); }

template <bool kSet, class Bits>
void give(Build& b) {
  b.set(kSet ? set_word<Bits> : setp<Bits>);
}

template <bool kSet, class F>
void by_integer(Build& b, Ty t) {
  switch (t) {
    case Ty::s16:
      return give<kSet, Plain<F, int16_t>>(b);
    case Ty::s32:
      return give<kSet, Plain<F, int32_t>>(b);
    case Ty::s64:
      return give<kSet, Plain<F, int64_t>>(b);
    case Ty::u16:
    case Ty::b16:
      return give<kSet, Plain<F, uint16_t>>(b);
    case Ty::u64:
    case Ty::b64:
      return give<kSet, Plain<F, uint64_t>>(b);
    default:
      return give<kSet, Plain<F, uint32_t>>(b);
  }
}

template <bool kSet, class F>
void by_float(Build& b, Ty t, bool flush) {
  if (t == Ty::f64) return give<kSet, Plain<F, double>>(b);
  if (t == Ty::f16) return give<kSet, ByValue<F, from_f16>>(b);
  if (t == Ty::bf16) return give<kSet, ByValue<F, from_bf16>>(b);
  if (flush) return give<kSet, ByValue<F, flushed>>(b);
  return give<kSet, Plain<F, float>>(b);
}

bool is_float(Ty t) { return t == Ty::f32 || t == Ty::f64 || t == Ty::f16 || t == Ty::bf16; }

template <bool kSet>
void compare(Build& b, Ty t, std::string_view op) {
  Form f{};
  if (!form_of(op, is_float(t), f)) return b.refuse("this comparison");
  b.insn.a = b.src(f.exchanged ? 2 : 1, t);
  b.insn.b = b.src(f.exchanged ? 1 : 2, t);
  if (b.operands() > 3) b.insn.c = b.pred_src(3);
  b.insn.mode = static_cast<uint8_t>((f.turned ? kTurned : 0) | (b.has("and") ? kAnd : 0) |
                                     (b.has("or") ? kOr : 0) | (b.has("xor") ? kXor : 0));
  const bool flush = b.has("ftz");
  switch (f.base) {
    case Base::eq:
      return is_float(t) ? by_float<kSet, Eq>(b, t, flush) : by_integer<kSet, Eq>(b, t);
    case Base::lt:
      return is_float(t) ? by_float<kSet, Lt>(b, t, flush) : by_integer<kSet, Lt>(b, t);
    case Base::le:
      return is_float(t) ? by_float<kSet, Le>(b, t, flush) : by_integer<kSet, Le>(b, t);
    case Base::differs:
      return by_float<kSet, Differs>(b, t, flush);
    case Base::number:
      return by_float<kSet, Number>(b, t, flush);
  }
}

// The comparison is the modifier behind the opcode's name.
std::string_view comparison(const Build& b) {
  int last = 0;
  while (!b.modifier(last + 1).empty()) ++last;
  return b.modifier(last - 1);
}

void make_setp(Build& b) {
  b.insn.d = b.pair_pred_dst(0, 0);
  b.insn.e = b.pair_pred_dst(0, 1);
  compare<false>(b, b.type(), comparison(b));
}
void make_set(Build& b) {
  const Ty to = b.type(1);
  b.insn.d = b.dst(0, 4);
  b.insn.imm = to == Ty::f32 ? 0x3F800000 : 0xFFFFFFFF;
  compare<true>(b, b.type(), comparison(b));
}

template <class T>
Next select(Warp& w, const Insn& i, uint32_t lanes) {
  const uint32_t p = *w.word(i.c);
  const uint32_t* x = w.word(i.a);
  const uint32_t* y = w.word(i.b);
  uint32_t* d = w.word(i.d);
  COHORT_LANES {
    const T chosen = (p >> l & 1) != 0 ? get<T>(x, l) : get<T>(y, l);
    put<T>(d, l, (lanes >> l & 1) != 0 ? chosen : get<T>(d, l));
  }
  return Next::go;
}
void make_selp(Build& b) {
  const Ty t = b.type();
  b.insn.d = b.dst(0, bytes_of(t));
  sources(b, t, 2);
  b.insn.c = b.pred_src(3);
  b.set(bytes_of(t) == 8 ? select<uint64_t> : select<uint32_t>);
}

// NaN is no number that is at least 0: the second operand.
template <class C>
void choose(Build& b, bool wide) {
  if (wide) {
    lanewise<uint64_t, uint64_t, uint64_t, C>(
        b, [](uint64_t x, uint64_t y, C c) { return c >= C{0} ? x : y; });
  } else {
    lanewise<uint32_t, uint32_t, uint32_t, C>(
        b, [](uint32_t x, uint32_t y, C c) { return c >= C{0} ? x : y; });
  }
}
void make_slct(Build& b) {
  const Ty t = b.type(1);
  b.insn.d = b.dst(0, bytes_of(t));
  sources(b, t, 2);
  b.insn.c = b.src(3, b.type(0));
  // Subnormal numbers compare with 0 as their sign says only when they are not flushed; both
  // signs of 0 are at least 0.
  if (b.has("ftz")) {
    lanewise<uint32_t, uint32_t, uint32_t, uint32_t>(
        b, [](uint32_t x, uint32_t y, uint32_t c) { return flushed(c) >= 0 ? x : y; });
    if (bytes_of(t) == 8) b.refuse("flushing with 64 bits");
    return;
  }
  if (b.type(0) == Ty::f32) return choose<float>(b, bytes_of(t) == 8);
  choose<int32_t>(b, bytes_of(t) == 8);
}

#define INTEGER_OP ".{eq,ne,lt,le,gt,ge,lo,ls,hi,hs}"
#define FLOAT_OP ".{eq,ne,lt,le,gt,ge,equ,neu,ltu,leu,gtu,geu,num,nan}"
#define COMBINED "[.{and,or,xor}]"
#define INTEGER_TYPE ".{b16,b32,b64,u16,u32,u64,s16,s32,s64}"

constexpr Record kRecords[] = {
    {"setp" INTEGER_OP COMBINED INTEGER_TYPE, "p[|q], a, b[, c]", make_setp},
    {"setp" FLOAT_OP COMBINED "[.ftz].f32", "p[|q], a, b[, c]", make_setp},
    {"setp" FLOAT_OP COMBINED ".{f16,bf16,f64}", "p[|q], a, b[, c]", make_setp},
    {"set" INTEGER_OP COMBINED ".{u32,s32,f32}" INTEGER_TYPE, "d, a, b[, c]", make_set},
    {"set" FLOAT_OP COMBINED "[.ftz].{u32,s32,f32}.f32", "d, a, b[, c]", make_set},
    {"set" FLOAT_OP COMBINED ".{u32,s32,f32}.{f16,bf16,f64}", "d, a, b[, c]", make_set},
    {"selp.{b16,b32,b64,u16,u32,u64,s16,s32,s64,f32,f64}", "d, a, b, p", make_selp},
    {"slct.{b16,b32,b64,u16,u32,u64,s16,s32,s64,f32,f64}.s32", "d, a, b, c", make_slct},
    {"slct[.ftz].{b16,b32,b64,u16,u32,u64,s16,s32,s64,f32,f64}.f32", "d, a, b, c", make_slct},
};

}  // namespace
}  // namespace compare_family

extern const Family kCompare;
const Family kCompare = {"Comparisons", compare_family::kRecords,
                         static_cast<int>(std::size(compare_family::kRecords))};

}  // namespace cohort::emu::COHORT_ISA
