// atom and red: read, change, write as one; lane after lane.
//
// Insn: mode: an Update; bytes: of an element; count and list: elements, each a register for the
// old value (kNoOperand: none) and one for b; c: the third operand of cas.
#include <bit>
#include <cstring>
#include <iterator>
#include <vector>

#include "emu/insn/access.h"
#include "emu/insn/families.h"
#include "emu/insn/memory.h"
#include "numerics/codec.h"

namespace cohort::emu {

namespace atomic_family {
namespace {

struct Bits128 {
  uint64_t low;
  uint64_t high;
  bool operator==(const Bits128&) const = default;
};

float flushed(float x) {
  const auto u = std::bit_cast<uint32_t>(x);
  return std::bit_cast<float>((u & 0x7F800000) == 0 ? u & 0x80000000 : u);
}

// One 16-bit float operation.
uint16_t half_update(const numerics::Spec& s, char op, uint16_t a, uint16_t b) {
  const float x = numerics::decode(s, a);
  const float y = numerics::decode(s, b);
  if (op == '+') {
    // The sum of two such numbers is exact in f64.
    return static_cast<uint16_t>(numerics::encode(
        s, static_cast<double>(x) + y, numerics::Round::nearest_even, numerics::Overflow::ieee));
  }
  if (x != x) return y != y ? 0x7FFF : b;
  if (y != y) return a;
  // -0 is less than +0.
  const bool less = x < y || (x == y && (a & 0x8000) > (b & 0x8000));
  return less == (op == '<') ? a : b;
}
uint32_t half_pair(const numerics::Spec& s, char op, uint64_t a, uint64_t b) {
  return half_update(s, op, static_cast<uint16_t>(a), static_cast<uint16_t>(b)) |
         static_cast<uint32_t>(
             half_update(s, op, static_cast<uint16_t>(a >> 16), static_cast<uint16_t>(b >> 16)))
             << 16;
}

enum class Op : uint8_t { add, min, max, inc, dec, and_, or_, xor_, exchange, compare };

bool less(Ty t, uint64_t a, uint64_t b) {
  switch (t) {
    case Ty::s32:
      return static_cast<int32_t>(a) < static_cast<int32_t>(b);
    case Ty::s64:
      return static_cast<int64_t>(a) < static_cast<int64_t>(b);
    default:
      return a < b;
  }
}

char half_sign(Op op) { return op == Op::add ? '+' : op == Op::min ? '<' : '>'; }

uint64_t add(Ty t, uint64_t a, uint64_t b, bool flush) {
  if (t == Ty::f32) {
    auto x = std::bit_cast<float>(static_cast<uint32_t>(a));
    auto y = std::bit_cast<float>(static_cast<uint32_t>(b));
    if (flush) {
      x = flushed(x);
      y = flushed(y);
    }
    const float r = flush ? flushed(x + y) : x + y;
    return r != r ? 0x7FFFFFFF : std::bit_cast<uint32_t>(r);
  }
  if (t == Ty::f64) {
    return std::bit_cast<uint64_t>(std::bit_cast<double>(a) + std::bit_cast<double>(b));
  }
  return a + b;
}

// `flush`: f32 sums in global memory lose subnormal numbers, in shared memory they do not (PTX ISA,
// atom).
uint64_t updated(Op op, Ty t, uint64_t a, uint64_t b, uint64_t c, bool flush) {
  switch (t) {
    case Ty::f16:
      return half_update(numerics::kF16, half_sign(op), static_cast<uint16_t>(a),
                         static_cast<uint16_t>(b));
    case Ty::bf16:
      return half_update(numerics::kBf16, half_sign(op), static_cast<uint16_t>(a),
                         static_cast<uint16_t>(b));
    case Ty::f16x2:
      return half_pair(numerics::kF16, half_sign(op), a, b);
    case Ty::bf16x2:
      return half_pair(numerics::kBf16, half_sign(op), a, b);
    default:
      break;
  }
  switch (op) {
    case Op::add:
      return add(t, a, b, flush);
    case Op::min:
      return less(t, b, a) ? b : a;
    case Op::max:
      return less(t, a, b) ? b : a;
    case Op::inc:
      return a >= b ? 0 : a + 1;
    case Op::dec:
      return a == 0 || a > b ? b : a - 1;
    case Op::and_:
      return a & b;
    case Op::or_:
      return a | b;
    case Op::xor_:
      return a ^ b;
    case Op::exchange:
      return b;
    case Op::compare:
      return a == b ? c : a;
  }
  return a;
}

uint64_t lane_of(const Warp& w, uint32_t o, uint32_t bytes, int l) {
  uint64_t v = 0;
  if (bytes == 8) {
    std::memcpy(&v, w.word(o) + ptrdiff_t{2} * l, 8);
    return v;
  }
  v = w.word(o)[l];
  return bytes == 2 ? v & 0xFFFF : v;
}

void update_lane(Warp& w, const Insn& i, const Reach& t, int l, bool flush) {
  const uint32_t* words = w.kernel->extra.data() + i.list;
  uint8_t* at = t.region.host + t.offset[l];
  for (uint32_t e = 0; e < i.count; ++e, at += i.bytes) {
    uint64_t old = 0;
    std::memcpy(&old, at, i.bytes);
    const uint64_t b = lane_of(w, words[size_t{2} * e + 1], i.bytes, l);
    const uint64_t c = i.c == kNoOperand ? 0 : lane_of(w, i.c, i.bytes, l);
    const uint64_t now =
        updated(static_cast<Op>(i.mode), static_cast<Ty>(i.target), old, b, c, flush);
    std::memcpy(at, &now, i.bytes);
    const uint32_t d = words[size_t{2} * e];
    if (d == kNoOperand) continue;
    if (i.bytes == 8) {
      std::memcpy(w.word(d) + ptrdiff_t{2} * l, &old, 8);
    } else {
      w.word(d)[l] = static_cast<uint32_t>(old);
    }
  }
}

void update_lane128(Warp& w, const Insn& i, const Reach& t, int l) {
  const uint32_t* words = w.kernel->extra.data() + i.list;
  uint8_t* at = t.region.host + t.offset[l];
  Bits128 old{};
  Bits128 b{};
  Bits128 c{};
  std::memcpy(&old, at, 16);
  std::memcpy(&b, w.word(words[1]) + ptrdiff_t{4} * l, 16);
  if (i.c != kNoOperand) std::memcpy(&c, w.word(i.c) + ptrdiff_t{4} * l, 16);
  const Bits128 now = static_cast<Op>(i.mode) == Op::exchange ? b : old == b ? c : old;
  std::memcpy(at, &now, 16);
  if (words[0] != kNoOperand) std::memcpy(w.word(words[0]) + ptrdiff_t{4} * l, &old, 16);
}

constexpr uint8_t kReduces = 8;  // of flags: red, which never acquires

Next update(Warp& w, const Insn& i, uint32_t lanes) {
  ++w.machine->effects;
  const bool ok =
      for_each_region(w, i, lanes, uint32_t{i.bytes} * i.count, Kind::update, [&](const Reach& t) {
        if ((i.flags & kReduces) == 0) acquire_words(w, i, t);
        release_words(w, i, t, true);
        const bool flush = t.region.space == Space::global;
        for (uint32_t left = t.lanes; left != 0; left &= left - 1) {
          const int l = std::countr_zero(left);
          if (i.bytes == 16) {
            update_lane128(w, i, t, l);
          } else {
            update_lane(w, i, t, l, flush);
          }
        }
      });
  return ok ? Next::go : Next::stop;
}

Op op_of(const Build& b) {
  static constexpr struct {
    const char* name;
    Op op;
  } kOps[] = {{"add", Op::add},       {"min", Op::min},    {"max", Op::max}, {"inc", Op::inc},
              {"dec", Op::dec},       {"and", Op::and_},   {"or", Op::or_},  {"xor", Op::xor_},
              {"exch", Op::exchange}, {"cas", Op::compare}};
  for (const auto& o : kOps) {
    if (b.has(o.name)) return o.op;
  }
  return Op::add;
}

void make(Build& b, bool reduces) {
  const int address = reduces ? 0 : 1;
  const Ty t = b.type();
  const uint32_t bytes = bytes_of(t);
  b.address(address);
  take_space(b);
  take_order(b);
  if (static_cast<MemoryOrder>(b.insn.order) == MemoryOrder::weak) {
    b.insn.order = static_cast<uint8_t>(MemoryOrder::relaxed);
  }
  if (static_cast<Scope>(b.insn.scope) == Scope::weak) {
    b.insn.scope = static_cast<uint8_t>(Scope::gpu);
  }
  const int count = b.has("v2") ? 2 : b.has("v4") ? 4 : b.has("v8") ? 8 : 1;
  if (b.parts(address + 1) != count) b.refuse("a vector of another length");
  std::vector<uint32_t> words;
  for (int k = 0; k < count; ++k) {
    const bool drops = reduces || b.is_sink(0);
    words.push_back(drops ? kNoOperand : b.part_dst(0, k, bytes));
    words.push_back(b.part_src(address + 1, k, t));
  }
  b.insn.list = b.extra(words.data(), static_cast<int>(words.size()));
  b.insn.count = static_cast<uint16_t>(count);
  b.insn.bytes = static_cast<uint8_t>(bytes);
  b.insn.mode = static_cast<uint8_t>(op_of(b));
  b.insn.target = static_cast<uint32_t>(t);
  if (op_of(b) == Op::compare) b.insn.c = b.src(address + 2, t);
  if (reduces) b.insn.flags |= kReduces;
  b.set(update);
}
void make_atom(Build& b) { make(b, false); }
void make_red(Build& b) { make(b, true); }

#define ORDER "[.{relaxed,acquire,release,acq_rel}][.{cta,cluster,gpu,sys}]"
#define RED_ORDER "[.{relaxed,release}][.{cta,cluster,gpu,sys}]"
#define SPACE "[.{global,shared,shared::cta,shared::cluster}]"
#define HINT "[.L2::cache_hint]"

constexpr Record kRecords[] = {
    {"atom" ORDER SPACE ".{and,or,xor}" HINT ".{b32,b64}", "d, [a], b", make_atom},
    {"atom" ORDER SPACE ".exch" HINT ".{b32,b64,b128}", "d, [a], b", make_atom},
    {"atom" ORDER SPACE ".cas" HINT ".{b16,b32,b64,b128}", "d, [a], b, c", make_atom},
    {"atom" ORDER SPACE ".add" HINT ".{u32,s32,u64,s64,f32,f64}", "d, [a], b", make_atom},
    {"atom" ORDER SPACE ".{inc,dec}" HINT ".u32", "d, [a], b", make_atom},
    {"atom" ORDER SPACE ".{min,max}" HINT ".{u32,s32,u64,s64}", "d, [a], b", make_atom},
    {"atom" ORDER SPACE ".add.noftz" HINT ".{f16,f16x2,bf16,bf16x2}", "d, [a], b", make_atom},
    {"atom" ORDER "[.global].add" HINT ".{v2,v4}.f32", "d, [a], b", make_atom},
    {"atom" ORDER "[.global].{add,min,max}.noftz" HINT ".{v2,v4,v8}.{f16,bf16}", "d, [a], b",
     make_atom},
    {"atom" ORDER "[.global].{add,min,max}.noftz" HINT ".{v2,v4}.{f16x2,bf16x2}", "d, [a], b",
     make_atom},
    {"red" RED_ORDER SPACE ".{and,or,xor}" HINT ".{b32,b64}", "[a], b", make_red},
    {"red" RED_ORDER SPACE ".add" HINT ".{u32,s32,u64,s64,f32,f64}", "[a], b", make_red},
    {"red" RED_ORDER SPACE ".{inc,dec}" HINT ".u32", "[a], b", make_red},
    {"red" RED_ORDER SPACE ".{min,max}" HINT ".{u32,s32,u64,s64}", "[a], b", make_red},
    {"red" RED_ORDER SPACE ".add.noftz" HINT ".{f16,f16x2,bf16,bf16x2}", "[a], b", make_red},
    {"red" RED_ORDER "[.global].add" HINT ".{v2,v4}.f32", "[a], b", make_red},
    {"red" RED_ORDER "[.global].{add,min,max}.noftz" HINT ".{v2,v4,v8}.{f16,bf16}", "[a], b",
     make_red},
    {"red" RED_ORDER "[.global].{add,min,max}.noftz" HINT ".{v2,v4}.{f16x2,bf16x2}", "[a], b",
     make_red},
};

}  // namespace
}  // namespace atomic_family

const Family kAtomic = {"Atomic operations", atomic_family::kRecords,
                        static_cast<int>(std::size(atomic_family::kRecords))};

}  // namespace cohort::emu
