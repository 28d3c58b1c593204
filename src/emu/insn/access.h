// From the addresses of lanes to bytes: windows, bounds, alignment, events. Everything here is
// inline, because files of every ISA level use it.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

#include "emu/machine.h"

namespace cohort::emu {

/// Loops over the 32 lanes have no dependency between lanes: a result register is either the same
/// as a source or apart from it.
#if defined(__clang__)
#define COHORT_LANES for (int l = 0; l < 32; ++l)
#else
#define COHORT_LANES _Pragma("GCC ivdep") for (int l = 0; l < 32; ++l)
#endif

/// Generic addresses of all lanes. False: an address does not fit in the state space.
inline bool generic_addresses(const Warp& w, const Insn& i, uint32_t lanes, uint64_t* address) {
  uint64_t add = static_cast<uint64_t>(i.imm);
  if ((i.flags & kOwnShared) != 0) add += uint64_t{w.cta->rank} << kRankShift;
  if (i.a == kNoOperand) {
    COHORT_LANES address[l] = add;
  } else if ((i.flags & kWideAddress) != 0) {
    const uint32_t* a = w.word(i.a);
    COHORT_LANES {
      uint64_t v = 0;
      std::memcpy(&v, a + ptrdiff_t{2} * l, 8);
      address[l] = v + add;
    }
  } else {
    const uint32_t* a = w.word(i.a);
    COHORT_LANES address[l] = static_cast<uint32_t>(a[l] + static_cast<uint32_t>(add));
  }
  if (i.window == 0) return true;
  const uint64_t window = uint64_t{i.window} << 32;
  uint64_t other = 0;
  for (int l = 0; l < 32; ++l) {
    const uint64_t high = address[l] >> 32;
    if ((lanes >> l & 1) != 0 && high != 0 && high != i.window) other = 1;
    address[l] = window | static_cast<uint32_t>(address[l]);
  }
  return other == 0;
}

/// Reports one access that may not be.
inline void report_access(Warp& w, const Insn& i, uint32_t lanes, const Region& r, uint64_t offset,
                          uint32_t bytes, Kind kind, FaultCode code) {
  Fault f;
  f.code = code;
  f.now.by.cta = w.cta->index;
  f.now.by.warp = w.number.value;
  f.now.by.lanes = lanes;
  f.now.pc = w.who(i, lanes).pc;
  f.now.kind = kind;
  f.now.scope = static_cast<Scope>(i.scope);
  f.has_place = r.size != 0;
  f.space = r.space;
  f.block = r.block;
  f.offset = offset;
  f.bytes = bytes;
  f.wanted = static_cast<int64_t>(code == FaultCode::alignment ? bytes : r.size);
  f.got = static_cast<int64_t>(offset);
  w.machine->report(f);
}

/// Why the access of a lane may not be.
inline void report_bad_lane(Warp& w, const Insn& i, const Region& r, const uint64_t* address,
                            uint32_t lane, uint32_t bytes, Kind kind) {
  const uint64_t offset = address[lane] - r.base;
  const bool inside = r.size >= bytes && offset >= r.first && offset <= r.size - bytes;
  const FaultCode code = !inside                             ? FaultCode::bounds
                         : r.gone                            ? FaultCode::peer_gone
                         : r.read_only && kind != Kind::read ? FaultCode::read_only
                                                             : FaultCode::alignment;
  report_access(w, i, 1u << lane, r, r.size == 0 ? address[lane] : offset, bytes, kind, code);
}

/// Lanes of one region, with offsets into it.
struct Reach {
  Region region;
  uint32_t lanes = 0;
  alignas(64) uint64_t offset[32];
};

/// False after a report: a lane touches the bytes of a live mbarrier.
inline __attribute__((noinline)) bool check_barriers(Warp& w, const Insn& i, const Reach& reach,
                                                     uint32_t bytes, Kind kind) {
  const Region& r = reach.region;
  const uint64_t from = r.barriers_begin - std::min<uint64_t>(r.barriers_begin, bytes - 1);
  uint32_t near = 0;
  COHORT_LANES near |= reach.offset[l] - from < r.barriers_end - from ? 1u << l : 0;
  near &= reach.lanes;
  for (; near != 0; near &= near - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(near));
    Touch by = Machine::touch(w, i, 1u << lane);
    by.kind = kind;
    const Cta& cta = *w.machine->ctas[r.block];
    if (!check_barrier_bytes(*w.machine, cta, reach.offset[lane], bytes, by)) return false;
  }
  return true;
}

/// The lanes of `left` that reach the region of the first of them. False after a fault. Not
/// inlined: every memory instruction has it.
inline __attribute__((noinline)) bool next_reach(Warp& w, const Insn& i, uint32_t left,
                                                 uint32_t bytes, Kind kind, const uint64_t* address,
                                                 Reach& reach) {
  const auto lane = static_cast<uint32_t>(std::countr_zero(left));
  reach.region = w.machine->find(w, address[lane]);
  const Region& r = reach.region;
  const bool usable = r.size >= r.first + bytes && !r.gone && (kind == Kind::read || !r.read_only);
  if (!usable) {
    report_bad_lane(w, i, r, address, lane, bytes, kind);
    return false;
  }
  const uint64_t limit = r.size - bytes - r.first;
  const uint64_t base = r.base + r.first;
  uint32_t outside = 0;
  COHORT_LANES {
    const uint64_t offset = address[l] - base;
    reach.offset[l] = offset + r.first;
    const bool bad = offset > limit || (address[l] & (bytes - 1)) != 0;
    outside |= bad ? 1u << l : 0;
  }
  reach.lanes = left & ~outside;
  if ((reach.lanes >> lane & 1) == 0) {
    report_bad_lane(w, i, r, address, lane, bytes, kind);
    return false;
  }
  if (r.barriers_end != 0 && !check_barriers(w, i, reach, bytes, kind)) return false;
  if (r.watched && w.machine->events != nullptr) {
    w.machine->events->access(LaneAccess{w.who(i, reach.lanes), r.space, kind,
                                         static_cast<Scope>(i.scope), static_cast<uint8_t>(bytes),
                                         r.block, reach.offset});
  }
  if (r.lane_stride != 0) {
    for (uint64_t k = 0; k < 32; ++k) reach.offset[k] += k * r.lane_stride;
  }
  return true;
}

/// Addresses of an access, checked for their state space.
inline __attribute__((noinline)) bool find_addresses(Warp& w, const Insn& i, uint32_t lanes,
                                                     uint32_t bytes, Kind kind, uint64_t* address) {
  if (generic_addresses(w, i, lanes, address)) return true;
  report_bad_lane(w, i, {}, address, static_cast<uint32_t>(std::countr_zero(lanes)), bytes, kind);
  return false;
}

/// Calls `move(reach)` for the lanes of each region that an instruction touches with `bytes` bytes
/// a lane. Bounds and alignment are checked and events made before. False after a fault.
template <class Move>
inline bool for_each_region(Warp& w, const Insn& i, uint32_t lanes, uint32_t bytes, Kind kind,
                            const Move& move) {
  alignas(64) uint64_t address[32];
  if (!find_addresses(w, i, lanes, bytes, kind, address)) return false;
  Reach reach;
  for (uint32_t left = lanes; left != 0; left &= ~reach.lanes) {
    if (!next_reach(w, i, left, bytes, kind, address, reach)) return false;
    move(static_cast<const Reach&>(reach));
  }
  return true;
}

/// Calls `one(sync, lanes)` for each word that lanes of the reach meet at.
template <class One>
inline void for_each_word(Warp& w, const Reach& reach, const One& one) {
  for (uint32_t left = reach.lanes; left != 0;) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(left));
    uint32_t same = 0;
    for (uint32_t k = lane; k < 32; ++k) {
      const bool is_same = (reach.offset[k] ^ reach.offset[lane]) < 4;
      if ((left >> k & 1) != 0 && is_same) same |= 1u << k;
    }
    left &= ~same;
    one(w.machine->word_sync(reach.region.space, reach.region.block, reach.offset[lane] & ~3ull),
        same);
  }
}

/// What a strong load makes known.
inline void acquire_words(Warp& w, const Insn& i, const Reach& reach) {
  Events* events = w.machine->events;
  const auto order = static_cast<MemoryOrder>(i.order);
  if (events == nullptr || order == MemoryOrder::weak || !reach.region.watched) return;
  const bool full = order == MemoryOrder::acquire || order == MemoryOrder::both;
  for_each_word(w, reach, [&](SyncId sync, uint32_t lanes) {
    events->acquire(w.who(i, lanes), sync, static_cast<Scope>(i.scope),
                    full ? Order::full : Order::relaxed);
  });
}

/// What a strong store or update hands over.
inline void release_words(Warp& w, const Insn& i, const Reach& reach, bool is_update) {
  Events* events = w.machine->events;
  const auto order = static_cast<MemoryOrder>(i.order);
  if (events == nullptr || order == MemoryOrder::weak || !reach.region.watched) return;
  const bool full = order == MemoryOrder::release || order == MemoryOrder::both;
  for_each_word(w, reach, [&](SyncId sync, uint32_t lanes) {
    events->release(w.who(i, lanes), sync, static_cast<Scope>(i.scope),
                    full ? Order::full : Order::relaxed);
    events->flip(sync, is_update);
  });
}

}  // namespace cohort::emu
