// mma.sync: a product of small matrices in the registers of a warp.
//
// Insn::list: registers of D, A, B, C, one after the other. Insn::imm: a Form.
#include <bit>
#include <cmath>
#include <cstring>
#include <iterator>

#include "emu/insn/families.h"
#include "emu/machine.h"
#include "emu/mma/fragment.h"
#include "emu/mma/fused_dot.h"
#include "emu/mma/integer_dot.h"

namespace cohort::emu {

namespace mma_sync_family {
namespace {

constexpr uint32_t kRows = 16;
constexpr uint32_t kColumns = 8;
constexpr uint32_t kMostK = 32;

enum class Sum : uint8_t { floats, fp8, integers, doubles };

struct Form {
  uint8_t rows;
  uint8_t k;
  Sum sum;
  uint8_t a;  // An Element; of integers: is signed.
  uint8_t b;
  bool half_c;  // C and D hold f16.
  bool saturate;
  uint8_t packed;  // Elements of A and B in a register.
};
static_assert(sizeof(Form) == sizeof(int64_t));

uint32_t registers_a(const Form& f) { return uint32_t{f.rows} * f.k / f.packed / 32; }
uint32_t registers_b(const Form& f) { return kColumns * f.k / f.packed / 32; }
uint32_t registers_c(const Form& f) { return f.rows * kColumns / 32 / (f.half_c ? 2 : 1); }

// A, and B as its columns, as codes. T: what a register holds.
template <class T>
struct Operands {
  T a[kRows][kMostK];
  T b[kColumns][kMostK];
};

template <class T>
T register_at(const Warp& w, uint32_t o, uint32_t lane) {
  T v{};
  std::memcpy(&v, w.word(o) + size_t{lane} * (sizeof(T) / 4), sizeof(T));
  return v;
}
template <class T>
void set_register(Warp& w, uint32_t o, uint32_t lane, T v) {
  std::memcpy(w.word(o) + size_t{lane} * (sizeof(T) / 4), &v, sizeof(T));
}

template <class T>
T part_of(T word, uint32_t packed, uint32_t i) {
  if (packed == 1) return word;
  const uint32_t bits = 32 / packed;
  return word >> (bits * i) & ((T{1} << bits) - 1);
}

template <class T>
void fetch(const Warp& w, const Form& f, const uint32_t* list, Operands<T>& out) {
  const uint32_t* a = list + registers_c(f);
  const uint32_t* b = a + registers_a(f);
  for (uint32_t l = 0; l < 32; ++l) {
    for (uint32_t r = 0; r < registers_a(f); ++r) {
      const T word = register_at<T>(w, a[r], l);
      for (uint32_t i = 0; i < f.packed; ++i) {
        const Place p = fragment_a(f.rows, f.packed, l, r, i);
        out.a[p.row][p.column] = part_of(word, f.packed, i);
      }
    }
    for (uint32_t r = 0; r < registers_b(f); ++r) {
      const T word = register_at<T>(w, b[r], l);
      for (uint32_t i = 0; i < f.packed; ++i) {
        const Place p = fragment_b(f.packed, l, r, i);
        out.b[p.column][p.row] = part_of(word, f.packed, i);
      }
    }
  }
}

// D = f(row, column, C) for each element, in the fragments of D and C.
template <class T, class F>
void each_result(Warp& w, const Form& f, const uint32_t* list, const F& result) {
  const uint32_t* c = list + registers_c(f) + registers_a(f) + registers_b(f);
  const uint32_t packed = f.half_c ? 2 : 1;
  for (uint32_t r = 0; r < registers_c(f); ++r) {
    for (uint32_t l = 0; l < 32; ++l) {
      const T before = register_at<T>(w, c[r], l);
      T word = 0;
      for (uint32_t i = 0; i < packed; ++i) {
        const Place p = fragment_c(l, packed * r + i);
        word |= result(p, part_of(before, packed, i)) << (16 * i);
      }
      if (list[r] != kNoOperand) set_register(w, list[r], l, word);
    }
  }
}

void multiply_floats(Warp& w, const Form& f, const uint32_t* list) {
  Operands<uint32_t> codes;
  fetch(w, f, list, codes);
  Exact a[kRows][kMostK];
  Exact b[kColumns][kMostK];
  for (uint32_t k = 0; k < f.k; ++k) {
    for (uint32_t m = 0; m < f.rows; ++m)
      a[m][k] = decode(static_cast<Element>(f.a), codes.a[m][k]);
    for (uint32_t n = 0; n < kColumns; ++n) {
      b[n][k] = decode(static_cast<Element>(f.b), codes.b[n][k]);
    }
  }
  const Accumulator type = f.half_c ? Accumulator::f16 : Accumulator::f32;
  each_result<uint32_t>(w, f, list, [&](const Place& p, uint32_t c) {
    if (f.sum == Sum::fp8) {
      return hopper_fp8_mma(std::span<const Exact, 32>(a[p.row]),
                            std::span<const Exact, 32>(b[p.column]), c, type);
    }
    return fused_dot({a[p.row], f.k}, {b[p.column], f.k}, c, f.half_c ? kDotF16 : kDotF32);
  });
}

int16_t integer_of(uint32_t code, uint8_t is_signed) {
  return is_signed != 0 ? static_cast<int8_t>(code) : static_cast<int16_t>(code);
}

void multiply_integers(Warp& w, const Form& f, const uint32_t* list) {
  Operands<uint32_t> codes;
  fetch(w, f, list, codes);
  int16_t a[kRows][kMostK] = {};
  int16_t b[kColumns][kMostK] = {};
  for (uint32_t k = 0; k < f.k; ++k) {
    for (uint32_t m = 0; m < f.rows; ++m) a[m][k] = integer_of(codes.a[m][k], f.a);
    for (uint32_t n = 0; n < kColumns; ++n) b[n][k] = integer_of(codes.b[n][k], f.b);
  }
  each_result<uint32_t>(w, f, list, [&](const Place& p, uint32_t c) {
    return static_cast<uint32_t>(
        integer_dot({a[p.row], f.k}, {b[p.column], f.k}, static_cast<int32_t>(c), f.saturate));
  });
}

// The order of the sum is not specified; here it is that of k, each step rounded once.
void multiply_doubles(Warp& w, const Form& f, const uint32_t* list) {
  Operands<uint64_t> codes;
  fetch(w, f, list, codes);
  each_result<uint64_t>(w, f, list, [&](const Place& p, uint64_t c) {
    auto sum = std::bit_cast<double>(c);
    for (uint32_t k = 0; k < f.k; ++k) {
      sum = std::fma(std::bit_cast<double>(codes.a[p.row][k]),
                     std::bit_cast<double>(codes.b[p.column][k]), sum);
    }
    return std::bit_cast<uint64_t>(sum);
  });
}

Next multiply(Warp& w, const Insn& i, uint32_t lanes) {
  if (lanes != ~0u) {
    w.machine->report(w, i, ~lanes, FaultCode::misuse);
    return Next::stop;
  }
  const auto f = std::bit_cast<Form>(i.imm);
  const uint32_t* list = w.kernel->extra.data() + i.list;
  switch (f.sum) {
    case Sum::integers:
      multiply_integers(w, f, list);
      break;
    case Sum::doubles:
      multiply_doubles(w, f, list);
      break;
    default:
      multiply_floats(w, f, list);
      break;
  }
  return Next::go;
}

Element element_of(std::string_view name) {
  if (name == "f16") return Element::f16;
  if (name == "bf16") return Element::bf16;
  if (name == "tf32") return Element::tf32;
  return name == "e5m2" ? Element::e5m2 : Element::e4m3;
}

void finish(Build& b, Form f, Ty of_ab, Ty of_c) {
  const auto wide = of_ab == Ty::f64 ? 8u : 4u;
  uint32_t words[24] = {};
  int count = 0;
  const uint32_t wanted[] = {registers_c(f), registers_a(f), registers_b(f), registers_c(f)};
  for (int o = 0; o < 4; ++o) {
    if (b.parts(o) != static_cast<int>(wanted[o])) b.refuse("a vector of another length");
    for (int j = 0; j < static_cast<int>(wanted[o]); ++j) {
      words[count++] = o == 0 ? b.part_dst(o, j, wide) : b.part_src(o, j, o == 3 ? of_c : of_ab);
    }
  }
  b.insn.list = b.extra(words, count);
  b.insn.imm = std::bit_cast<int64_t>(f);
  b.insn.flow = Flow::together;
  b.insn.members = kAllLanes;
  b.set(multiply);
}

// Rows and k as the opcode names them.
Form shape_of(const Build& b) {
  constexpr struct {
    const char* name;
    uint8_t rows;
    uint8_t k;
  } kShapes[] = {{"m8n8k4", 8, 4},   {"m8n8k16", 8, 16},   {"m16n8k4", 16, 4},
                 {"m16n8k8", 16, 8}, {"m16n8k16", 16, 16}, {"m16n8k32", 16, 32}};
  Form f{};
  for (const auto& s : kShapes) {
    if (!b.has(s.name)) continue;
    f.rows = s.rows;
    f.k = s.k;
  }
  return f;
}

void make_float(Build& b) {
  Form f = shape_of(b);
  const Element a = element_of(b.modifier(2));
  f.a = static_cast<uint8_t>(a);
  f.b = static_cast<uint8_t>(element_of(b.modifier(1)));
  f.half_c = b.modifier(0) == "f16";
  f.sum = a == Element::e4m3 || a == Element::e5m2 ? Sum::fp8 : Sum::floats;
  f.packed = static_cast<uint8_t>(32 / bits_of(a));
  // D and C of two types exist in text only: no compiler's output has them.
  if (b.modifier(3) != b.modifier(0)) b.refuse("D and C of different types");
  finish(b, f, Ty::b32, f.half_c ? Ty::b32 : Ty::f32);
}
void make_integer(Build& b) {
  Form f = shape_of(b);
  f.sum = Sum::integers;
  f.a = b.modifier(2) == "s8" ? 1 : 0;
  f.b = b.modifier(1) == "s8" ? 1 : 0;
  f.saturate = b.has("satfinite");
  f.packed = 4;
  finish(b, f, Ty::b32, Ty::s32);
}
void make_double(Build& b) {
  Form f = shape_of(b);
  f.sum = Sum::doubles;
  f.packed = 1;
  finish(b, f, Ty::f64, Ty::f64);
}

constexpr Record kRecords[] = {
    {"mma.sync.aligned.{m16n8k8,m16n8k16}.row.col.{f16,f32}.f16.f16.{f16,f32}", "d, a, b, c",
     make_float},
    {"mma.sync.aligned.{m16n8k8,m16n8k16}.row.col.f32.bf16.bf16.f32", "d, a, b, c", make_float},
    {"mma.sync.aligned.{m16n8k4,m16n8k8}.row.col.f32.tf32.tf32.f32", "d, a, b, c", make_float},
    {"mma.sync.aligned.m16n8k32.row.col.{f16,f32}.{e4m3,e5m2}.{e4m3,e5m2}.{f16,f32}", "d, a, b, c",
     make_float},
    {"mma.sync.aligned.{m8n8k16,m16n8k16,m16n8k32}.row.col[.satfinite].s32.{u8,s8}.{u8,s8}.s32",
     "d, a, b, c", make_integer},
    {"mma.sync.aligned.{m8n8k4,m16n8k4,m16n8k8,m16n8k16}.row.col[.rn].f64.f64.f64.f64",
     "d, a, b, c", make_double},
};

}  // namespace
}  // namespace mma_sync_family

const Family kMmaSync = {"Products in registers", mma_sync_family::kRecords,
                         static_cast<int>(std::size(mma_sync_family::kRecords))};

}  // namespace cohort::emu
