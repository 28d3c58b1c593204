// Lanes of a warp that exchange values: vote, match, redux, shfl, elect, activemask.
//
// All of them wait for the lanes of their mask (Flow::together); none orders memory.
#include <bit>
#include <cstring>
#include <iterator>

#include "emu/insn/families.h"
#include "emu/machine.h"

namespace cohort::emu {

namespace collective_family {
namespace {

void wait_for_members(Build& b, int members) {
  b.insn.flow = Flow::together;
  b.insn.members = b.src(members, Ty::b32);
}

void set_bits(Warp& w, uint32_t o, uint32_t lanes, uint32_t bits) {
  if (o == kNoOperand) return;
  uint32_t* p = w.word(o);
  *p = (*p & ~lanes) | (bits & lanes);
}

void set_words(Warp& w, uint32_t o, uint32_t lanes, uint32_t value) {
  if (o == kNoOperand) return;
  uint32_t* d = w.word(o);
  for (int l = 0; l < 32; ++l) {
    if ((lanes >> l & 1) != 0) d[l] = value;
  }
}

// ---- vote and activemask

enum Vote : uint8_t { kAll, kAny, kUni };

Next vote(Warp& w, const Insn& i, uint32_t lanes) {
  const uint32_t ballot = *w.word(i.a) & lanes;
  const bool all = ballot == lanes;
  const bool truth = i.mode == kAll ? all : i.mode == kAny ? ballot != 0 : all || ballot == 0;
  set_bits(w, i.d, lanes, truth ? ~0u : 0);
  return Next::go;
}
Next ballot(Warp& w, const Insn& i, uint32_t lanes) {
  set_words(w, i.d, lanes, *w.word(i.a) & lanes);
  return Next::go;
}
Next active(Warp& w, const Insn& i, uint32_t lanes) {
  set_words(w, i.d, lanes, lanes);
  return Next::go;
}
void make_vote(Build& b) {
  wait_for_members(b, 2);
  b.insn.d = b.pred_dst(0);
  b.insn.a = b.pred_src(1);
  b.insn.mode = b.has("all") ? kAll : b.has("any") ? kAny : kUni;
  b.set(vote);
}
void make_ballot(Build& b) {
  wait_for_members(b, 2);
  b.insn.d = b.dst(0, 4);
  b.insn.a = b.pred_src(1);
  b.set(ballot);
}
void make_active(Build& b) {
  b.insn.d = b.dst(0, 4);
  b.set(active);
}

// ---- elect: one lane of the mask, the same for the same mask; which one is for the schedule.

Next elect(Warp& w, const Insn& i, uint32_t lanes) {
  const uint32_t leader = w.machine->leader(lanes);
  set_words(w, i.d, lanes, leader);
  set_bits(w, i.e, lanes, 1u << leader);
  return Next::go;
}
void make_elect(Build& b) {
  wait_for_members(b, 1);
  b.insn.d = b.pair_dst(0, 0, 4);
  b.insn.e = b.pair_pred_dst(0, 1);
  b.set(elect);
}

// ---- match

template <class T>
T value_at(const Warp& w, uint32_t o, int l) {
  T v{};
  std::memcpy(&v, w.word(o) + static_cast<ptrdiff_t>(sizeof(T) / 4) * l, sizeof(T));
  return v;
}

template <class T>
uint32_t equal_lanes(const Warp& w, uint32_t o, uint32_t lanes, T value) {
  uint32_t equal = 0;
  for (int l = 0; l < 32; ++l) {
    if ((lanes >> l & 1) != 0 && value_at<T>(w, o, l) == value) equal |= 1u << l;
  }
  return equal;
}
template <class T>
Next match_any(Warp& w, const Insn& i, uint32_t lanes) {
  uint32_t found[32];
  for (int l = 0; l < 32; ++l) {
    found[l] = (lanes >> l & 1) != 0 ? equal_lanes<T>(w, i.a, lanes, value_at<T>(w, i.a, l)) : 0;
  }
  for (int l = 0; l < 32; ++l) {
    if ((lanes >> l & 1) != 0) w.word(i.d)[l] = found[l];
  }
  return Next::go;
}
template <class T>
Next match_all(Warp& w, const Insn& i, uint32_t lanes) {
  const T first = value_at<T>(w, i.a, std::countr_zero(lanes));
  const bool all = equal_lanes<T>(w, i.a, lanes, first) == lanes;
  set_words(w, i.d, lanes, all ? lanes : 0);
  set_bits(w, i.e, lanes, all ? ~0u : 0);
  return Next::go;
}
void make_match_any(Build& b) {
  wait_for_members(b, 2);
  b.insn.d = b.dst(0, 4);
  b.insn.a = b.src(1, b.type());
  b.set(b.type() == Ty::b64 ? match_any<uint64_t> : match_any<uint32_t>);
}
void make_match_all(Build& b) {
  wait_for_members(b, 2);
  b.insn.d = b.pair_dst(0, 0, 4);
  b.insn.e = b.pair_pred_dst(0, 1);
  b.insn.a = b.src(1, b.type());
  b.set(b.type() == Ty::b64 ? match_all<uint64_t> : match_all<uint32_t>);
}

// ---- redux

template <class F>
Next reduce(Warp& w, const Insn& i, uint32_t lanes) {
  const uint32_t* a = w.word(i.a);
  uint32_t r = a[std::countr_zero(lanes)];
  for (uint32_t left = lanes & (lanes - 1); left != 0; left &= left - 1) {
    r = F{}(r, a[std::countr_zero(left)]);
  }
  set_words(w, i.d, lanes, r);
  return Next::go;
}
template <class F>
void reduction(Build& b, F) {
  wait_for_members(b, 2);
  b.insn.d = b.dst(0, 4);
  b.insn.a = b.src(1, Ty::b32);
  b.set(reduce<F>);
}
void make_reduce(Build& b) {
  const bool is_signed = b.type() == Ty::s32;
  if (b.has("add")) return reduction(b, [](uint32_t x, uint32_t y) { return x + y; });
  if (b.has("and")) return reduction(b, [](uint32_t x, uint32_t y) { return x & y; });
  if (b.has("or")) return reduction(b, [](uint32_t x, uint32_t y) { return x | y; });
  if (b.has("xor")) return reduction(b, [](uint32_t x, uint32_t y) { return x ^ y; });
  const bool is_min = b.has("min");
  if (is_signed && is_min) {
    return reduction(b, [](uint32_t x, uint32_t y) {
      return static_cast<int32_t>(x) < static_cast<int32_t>(y) ? x : y;
    });
  }
  if (is_signed) {
    return reduction(b, [](uint32_t x, uint32_t y) {
      return static_cast<int32_t>(x) > static_cast<int32_t>(y) ? x : y;
    });
  }
  if (is_min) return reduction(b, [](uint32_t x, uint32_t y) { return x < y ? x : y; });
  reduction(b, [](uint32_t x, uint32_t y) { return x > y ? x : y; });
}

// A key that orders f32 numbers as integers, -0 below +0.
int64_t order_key(uint32_t x) {
  const auto m = static_cast<int64_t>(x & 0x7FFFFFFF);
  return x >> 31 != 0 ? -m - 1 : m;
}
// mode: 1 max, 2 .abs, 4 .NaN
Next reduce_float(Warp& w, const Insn& i, uint32_t lanes) {
  constexpr uint32_t kNan = 0x7FFFFFFF;
  uint32_t r = kNan;
  bool nan = false;
  for (uint32_t left = lanes; left != 0; left &= left - 1) {
    uint32_t x = w.word(i.a)[std::countr_zero(left)];
    if ((i.mode & 2) != 0) x &= 0x7FFFFFFF;
    if ((x & 0x7FFFFFFF) > 0x7F800000) {
      nan = true;
      continue;
    }
    const bool better = r == kNan || ((i.mode & 1) != 0 ? order_key(x) > order_key(r)
                                                        : order_key(x) < order_key(r));
    if (better) r = x;
  }
  set_words(w, i.d, lanes, nan && (i.mode & 4) != 0 ? kNan : r);
  return Next::go;
}
void make_reduce_float(Build& b) {
  wait_for_members(b, 2);
  b.insn.d = b.dst(0, 4);
  b.insn.a = b.src(1, Ty::f32);
  b.insn.mode = static_cast<uint8_t>((b.has("max") ? 1 : 0) | (b.has("abs") ? 2 : 0) |
                                     (b.has("NaN") ? 4 : 0));
  b.set(reduce_float);
}

// ---- shfl

enum Shuffle : uint8_t { kUp, kDown, kButterfly, kIndex };

// The lane to read from; false: out of the segment, the lane reads itself.
bool source_lane(uint8_t mode, int lane, uint32_t b, uint32_t c, int& from) {
  const int value = static_cast<int>(b & 31);
  const int clamp = static_cast<int>(c & 31);
  const int segment = static_cast<int>(c >> 8 & 31);
  const int most = (lane & segment) | (clamp & ~segment & 31);
  bool inside = false;
  switch (mode) {
    case kUp:
      from = lane - value;
      inside = from >= most;
      break;
    case kDown:
      from = lane + value;
      inside = from <= most;
      break;
    case kButterfly:
      from = lane ^ value;
      inside = from <= most;
      break;
    default:
      from = (lane & segment) | (value & ~segment & 31);
      inside = from <= most;
      break;
  }
  if (!inside) from = lane;
  return inside;
}

Next shuffle(Warp& w, const Insn& i, uint32_t lanes) {
  uint32_t result[32];
  uint32_t inside = 0;
  uint32_t absent = 0;
  const uint32_t* a = w.word(i.a);
  const uint32_t* b = w.word(i.b);
  const uint32_t* c = w.word(i.c);
  for (int l = 0; l < 32; ++l) {
    if ((lanes >> l & 1) == 0) continue;
    int from = l;
    if (source_lane(i.mode, l, b[l], c[l], from)) inside |= 1u << l;
    if ((lanes >> from & 1) == 0) absent |= 1u << l;
    result[l] = a[from];
  }
  // What a lane outside of the mask holds is undefined (PTX ISA, shfl.sync).
  if (absent != 0) w.machine->report(w, i, absent, FaultCode::misuse);
  if (i.d != kNoOperand) {
    uint32_t* d = w.word(i.d);
    for (int l = 0; l < 32; ++l) {
      if ((lanes >> l & 1) != 0) d[l] = result[l];
    }
  }
  set_bits(w, i.e, lanes, inside);
  return Next::go;
}
void make_shuffle(Build& b) {
  wait_for_members(b, 4);
  b.insn.d = b.pair_dst(0, 0, 4);
  b.insn.e = b.pair_pred_dst(0, 1);
  b.insn.a = b.src(1, Ty::b32);
  b.insn.b = b.src(2, Ty::b32);
  b.insn.c = b.src(3, Ty::b32);
  b.insn.mode = b.has("up") ? kUp : b.has("down") ? kDown : b.has("bfly") ? kButterfly : kIndex;
  b.set(shuffle);
}

constexpr Record kRecords[] = {
    {"vote.sync.{all,any,uni}.pred", "p, a, members", make_vote},
    {"vote.sync.ballot.b32", "d, a, members", make_ballot},
    {"activemask.b32", "d", make_active},
    {"elect.sync", "d|p, members", make_elect},
    {"match.any.sync.{b32,b64}", "d, a, members", make_match_any},
    {"match.all.sync.{b32,b64}", "d[|p], a, members", make_match_all},
    {"redux.sync.{add,min,max}.{u32,s32}", "d, a, members", make_reduce},
    {"redux.sync.{and,or,xor}.b32", "d, a, members", make_reduce},
    {"redux.sync.{min,max}[.abs][.NaN].f32", "d, a, members", make_reduce_float},
    {"shfl.sync.{up,down,bfly,idx}.b32", "d[|p], a, b, c, members", make_shuffle},
};

}  // namespace
}  // namespace collective_family

const Family kCollective = {"Lanes among each other", collective_family::kRecords,
                            static_cast<int>(std::size(collective_family::kRecords))};

}  // namespace cohort::emu
