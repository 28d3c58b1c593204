// mov, with vectors packed and taken apart; addresses: cvta, isspacep, mapa, getctarank; pred
// logic.
#include "emu/insn/lanes.h"

namespace cohort::emu::COHORT_ISA {

namespace move_family {
namespace {

struct Bits128 {
  uint64_t low;
  uint64_t high;
};

// Parts of a vector, lowest first, become one register; list and count say where they are.
template <class P, class W>
Next pack(Warp& w, const Insn& i, uint32_t lanes) {
  constexpr size_t kParts = sizeof(W) / sizeof(P);
  const uint32_t* from = w.kernel->extra.data() + i.list;
  uint32_t* d = w.word(i.d);
  for (uint32_t left = lanes; left != 0; left &= left - 1) {
    const int l = std::countr_zero(left);
    P parts[kParts];
    for (size_t k = 0; k < kParts; ++k) parts[k] = get<P>(w.word(from[k]), l);
    W whole;
    __builtin_memcpy(&whole, parts, sizeof whole);
    if constexpr (sizeof(W) == 16) {
      __builtin_memcpy(d + ptrdiff_t{4} * l, &whole, 16);
    } else {
      put<W>(d, l, whole);
    }
  }
  return Next::go;
}

template <class P, class W>
Next unpack(Warp& w, const Insn& i, uint32_t lanes) {
  constexpr size_t kParts = sizeof(W) / sizeof(P);
  const uint32_t* to = w.kernel->extra.data() + i.list;
  const uint32_t* a = w.word(i.a);
  for (uint32_t left = lanes; left != 0; left &= left - 1) {
    const int l = std::countr_zero(left);
    P parts[kParts];
    if constexpr (sizeof(W) == 16) {
      __builtin_memcpy(parts, a + ptrdiff_t{4} * l, 16);
    } else {
      const W whole = get<W>(a, l);
      __builtin_memcpy(parts, &whole, sizeof whole);
    }
    for (size_t k = 0; k < kParts; ++k) {
      if (to[k] != kNoOperand) put<P>(w.word(to[k]), l, parts[k]);
    }
  }
  return Next::go;
}

template <bool kPack>
Handler vector_handler(uint32_t part, uint32_t whole) {
#define CASE(p, P, q, W) \
  if (part == (p) && whole == (q)) return kPack ? pack<P, W> : unpack<P, W>
  CASE(1, uint8_t, 2, uint16_t);
  CASE(1, uint8_t, 4, uint32_t);
  CASE(2, uint16_t, 4, uint32_t);
  CASE(2, uint16_t, 8, uint64_t);
  CASE(4, uint32_t, 8, uint64_t);
  CASE(4, uint32_t, 16, Bits128);
  CASE(8, uint64_t, 16, Bits128);
#undef CASE
  return nullptr;
}

Ty bits_type(uint32_t bytes) {
  return bytes == 1 ? Ty::b8 : bytes == 2 ? Ty::b16 : bytes == 4 ? Ty::b32 : Ty::b64;
}

void move_vector(Build& b, bool is_pack) {
  const uint32_t whole = bytes_of(b.type());
  const int which = is_pack ? 1 : 0;
  const int count = b.parts(which);
  const uint32_t part = whole / static_cast<uint32_t>(count);
  uint32_t words[16] = {};
  for (int k = 0; k < count && k < 16; ++k) {
    words[k] = is_pack ? b.part_src(which, k, bits_type(part)) : b.part_dst(which, k, part);
  }
  b.insn.list = b.extra(words, count > 16 ? 16 : count);
  if (is_pack) {
    b.insn.d = b.dst(0, whole);
  } else {
    b.insn.a = b.src(1, b.type());
  }
  const Handler h =
      is_pack ? vector_handler<true>(part, whole) : vector_handler<false>(part, whole);
  if (h == nullptr) b.refuse("a vector of another length");
  b.set(h);
}

template <class T>
void copy(Build& b) {
  lanewise<T, T>(b, [](T x) { return x; });
}

Next copy128(Warp& w, const Insn& i, uint32_t lanes) {
  for (uint32_t left = lanes; left != 0; left &= left - 1) {
    const int l = std::countr_zero(left);
    __builtin_memcpy(w.word(i.d) + ptrdiff_t{4} * l, w.word(i.a) + ptrdiff_t{4} * l, 16);
  }
  return Next::go;
}

void move(Build& b) {
  if (b.parts(0) > 1 || b.parts(1) > 1) return move_vector(b, b.parts(1) > 1);
  const Ty t = b.type();
  b.insn.d = b.dst(0, bytes_of(t));
  b.insn.a = b.src(1, t);
  switch (bytes_of(t)) {
    case 8:
      return copy<uint64_t>(b);
    case 16:
      return b.set(copy128);
    default:
      return copy<uint32_t>(b);
  }
}

// Predicates: one word, a bit a lane. F gets words.
template <class F>
Next logic_pred(Warp& w, const Insn& i, uint32_t lanes) {
  uint32_t* d = w.word(i.d);
  const uint32_t y = i.b == kNoOperand ? 0 : *w.word(i.b);
  *d = (*d & ~lanes) | (F{}(*w.word(i.a), y) & lanes);
  return Next::go;
}
template <class F>
void predicates(Build& b, int count, F) {
  b.insn.d = b.pred_dst(0);
  b.insn.a = b.pred_src(1);
  if (count > 1) b.insn.b = b.pred_src(2);
  if (b.insn.d == kNoOperand) b.refuse("no result");
  b.set(logic_pred<F>);
}
void move_pred(Build& b) {
  predicates(b, 1, [](uint32_t x, uint32_t) { return x; });
}
void not_pred(Build& b) {
  predicates(b, 1, [](uint32_t x, uint32_t) { return ~x; });
}
void and_pred(Build& b) {
  predicates(b, 2, [](uint32_t x, uint32_t y) { return x & y; });
}
void or_pred(Build& b) {
  predicates(b, 2, [](uint32_t x, uint32_t y) { return x | y; });
}
void xor_pred(Build& b) {
  predicates(b, 2, [](uint32_t x, uint32_t y) { return x ^ y; });
}

// Addresses of every space but shared are generic ones already.
void cvta(Build& b) {
  const Ty t = b.type();
  const bool shared = b.has("shared") || b.has("shared::cta") || b.has("shared::cluster");
  b.insn.d = b.dst(0, bytes_of(t));
  b.insn.a = b.src(1, t);
  if (t == Ty::u32) return copy<uint32_t>(b);
  if (!shared) return copy<uint64_t>(b);
  if (b.has("to")) {
    lanewise<uint64_t, uint64_t>(b, [](uint64_t x) { return x & 0xFFFFFFFF; });
  } else {
    lanewise<uint64_t, uint64_t>(b, [](uint64_t x) { return kSharedWindow | (x & 0xFFFFFFFF); });
  }
}

Next in_window(Warp& w, const Insn& i, uint32_t lanes) {
  uint32_t bits = 0;
  for (int l = 0; l < 32; ++l) {
    const uint64_t high = get<uint64_t>(w.word(i.a), l) >> 32;
    bool in = i.window == 0 ? high >= 16 : high == i.window;
    // shared::cta: the window of the own CTA alone.
    const uint64_t rank = (get<uint64_t>(w.word(i.a), l) & 0xFFFFFFFF) >> kRankShift;
    if (i.mode != 0 && rank != w.cta->rank) in = false;
    bits |= in ? 1u << l : 0;
  }
  uint32_t* d = w.word(i.d);
  *d = (*d & ~lanes) | (bits & lanes);
  return Next::go;
}
void isspacep(Build& b) {
  b.insn.d = b.pred_dst(0);
  b.insn.a = b.src(1, Ty::u64);
  const bool shared = b.has("shared") || b.has("shared::cta") || b.has("shared::cluster");
  const bool param = b.has("param") || b.has("param::entry");
  const uint64_t window = shared           ? kSharedWindow
                          : b.has("local") ? kLocalWindow
                          : param          ? kParamWindow
                                           : 0;
  b.insn.window = static_cast<uint8_t>(window >> 32);
  b.insn.mode = b.has("shared") || b.has("shared::cta") ? 1 : 0;
  if (b.insn.d == kNoOperand) b.refuse("no result");
  b.set(in_window);
}

// The address of the same variable in another CTA of the cluster.
void mapa(Build& b) {
  const Ty t = b.type();
  b.insn.d = b.dst(0, bytes_of(t));
  b.insn.a = b.src(1, t);
  b.insn.b = b.src(2, Ty::u32);
  if (t == Ty::u32) {
    lanewise<uint32_t, uint32_t, uint32_t>(
        b, [](uint32_t x, uint32_t r) { return (x & 0xFFFFFF) | r << kRankShift; });
  } else {
    lanewise<uint64_t, uint64_t, uint32_t>(b, [](uint64_t x, uint32_t r) {
      return (x & ~uint64_t{0xFF000000}) | uint64_t{r} << kRankShift;
    });
  }
}
void getctarank(Build& b) {
  const Ty t = b.type();
  b.insn.d = b.dst(0, 4);
  b.insn.a = b.src(1, t);
  if (t == Ty::u32) {
    lanewise<uint32_t, uint32_t>(b, [](uint32_t x) { return x >> kRankShift; });
  } else {
    lanewise<uint32_t, uint64_t>(b,
                                 [](uint64_t x) { return static_cast<uint32_t>(x) >> kRankShift; });
  }
}

constexpr Record kRecords[] = {
    {"mov.{b8,b16,b32,b64,b128,u16,u32,u64,s16,s32,s64,f16,f32,f64}", "d, a", move},
    {"mov.pred", "d, a", move_pred},
    {"not.pred", "d, a", not_pred},
    {"and.pred", "d, a, b", and_pred},
    {"or.pred", "d, a, b", or_pred},
    {"xor.pred", "d, a, b", xor_pred},
    {"cvta[.to].{global,shared,shared::cta,shared::cluster,local,const,param,param::entry}.{u32,"
     "u64}",
     "d, a", cvta},
    {"isspacep.{global,shared,shared::cta,shared::cluster,local,param,param::entry}", "p, a",
     isspacep},
    {"mapa[.shared::cluster].{u32,u64}", "d, a, rank", mapa},
    {"getctarank[.shared::cluster].{u32,u64}", "d, a", getctarank},
};

}  // namespace
}  // namespace move_family

extern const Family kMove;
const Family kMove = {"Moves and addresses", move_family::kRecords,
                      static_cast<int>(std::size(move_family::kRecords))};

}  // namespace cohort::emu::COHORT_ISA
