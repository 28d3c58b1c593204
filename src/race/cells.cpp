#include "race/cells.h"

#include <algorithm>
#include <cstring>

namespace cohort::race {

bool Cells::ordered_slowly(Epoch e, uint32_t lanes, const Clock& clock, const Reach& reach,
                           Epoch me) const {
  if (agent_of(e) == agent_of(me) && lane_of(me) != kEveryLane) {
    lanes &= ~(uint32_t{1} << lane_of(me));
  }
  if (agent_of(e) == reach.issuer && tick_of(e) <= reach.issued) {
    lanes &= ~(uint32_t{1} << lane_of(me));
  }
  if (lanes == 0 || clock.covers(agent_of(e), tick_of(e), lanes)) return true;
  return reach.also_after != nullptr && reach.also_after->covers(agent_of(e), tick_of(e), lanes);
}

namespace {

// A cell as a pair: what compilers do not find by themselves in an array of structs.
using Pair = uint64_t __attribute__((vector_size(16)));

Pair load(const Cell& cell) {
  Pair p;
  std::memcpy(&p, &cell, sizeof p);
  return p;
}

}  // namespace

// All cells alike and ordered: one test for all of them. kPerLane: cells of one lane, 0 when all
// are of one lane.
template <uint32_t kCount, uint32_t kPerLane>
bool Cells::block(Cell* cells, const Reach& reach, Epoch me) const {
  constexpr Epoch kSame = ~(kLaneMask | kMaxSite);
  const Pair first = load(cells[0]);
  Pair differ = {0, 0};
  Pair lanes = {0, 0};
  Pair mine = {me, me};
  for (uint32_t i = 0; i < kCount; ++i) {
    const Pair c = load(cells[i]);
    differ |= c ^ first;
    lanes |= c ^ mine;
    if (kPerLane != 0 && (i + 1) % (kPerLane + (kPerLane == 0)) == 0) {
      mine += Pair{Epoch{1} << kLaneShift, Epoch{1} << kLaneShift};
    }
  }
  const Epoch w = first[0];
  const Epoch r = first[1];
  if (((differ[0] | differ[1]) & kSame) != 0 || is_set(r)) return false;
  if (reach.wants_data && (w == 0 || (w & kNoData) != 0)) return false;
  const auto before = [&](Epoch e, Epoch lanes_differ, const Clock& clock) {
    return tick_of(e) <= clock.at(agent_of(e)) ||
           (agent_of(e) == agent_of(me) && (lanes_differ & kLaneMask) == 0);
  };
  if (!before(w, lanes[0], *reach.after_writes)) return false;
  const auto own = [&](uint32_t i) {
    return me + (kPerLane != 0 ? Epoch{i / (kPerLane + (kPerLane == 0))} << kLaneShift : 0);
  };
  if (reach.writes) {
    if (!before(r, lanes[1], *reach.after_reads)) return false;
    for (uint32_t i = 0; i < kCount; ++i) cells[i] = {own(i), 0};
    return true;
  }
  const bool replaces = r == 0 || (reach.passes_on && before(r, lanes[1], *reach.after_reads)) ||
                        (!reach.passes_on && !reach.is_strong_read && agent_of(r) == agent_of(me));
  if (!replaces) return false;
  for (uint32_t i = 0; i < kCount; ++i) cells[i].reader = own(i);
  return true;
}

inline void Cells::cell(Cell& cell, const Reach& reach, Epoch me, uint64_t offset, uint32_t bytes) {
  const Epoch w = cell.writer;
  const Epoch r = cell.reader;
  const bool is_data = w != 0 && (w & kNoData) == 0;
  if ((is_data || !reach.wants_data) && ordered(w, *reach.after_writes, me)) [[likely]] {
    const bool replaces =
        r == 0 || ((reach.writes || reach.passes_on) && ordered(r, *reach.after_reads, me));
    if (replaces && !is_set(r) && !reach.to_map) [[likely]] {
      if (reach.writes) {
        cell = {me, 0};
      } else {
        cell.reader = me;
      }
      return;
    }
  }
  slow_cell(cell, reach, me, offset, bytes);
}

void Cells::slow_cell(Cell& cell, const Reach& reach, Epoch me, uint64_t offset, uint32_t bytes) {
  ++slow_;
  const Epoch w = cell.writer;
  const bool is_ordered = ordered(w, *reach.after_writes, me) ||
                          ordered_slowly(w, registry_.lanes_of(w), *reach.after_writes, reach, me);
  const bool earlier_map =
      reach.to_map && is_earlier_grid(w) && !reach.after_writes->covers(0, 1, kAllLanes);
  if (!is_ordered || earlier_map) {
    listener_.conflict(reach, me, w, registry_.lanes_of(w), offset, bytes);
  } else if (reach.wants_data && (w == 0 || (w & kNoData) != 0)) {
    listener_.no_data(me, w, offset, bytes);
  }
  if (!reach.writes) {
    add_reader(cell.reader, reach, me);
    return;
  }
  check_readers(cell.reader, reach, me, offset, bytes);
  if (is_set(cell.reader)) sets_.release(cell.reader);
  cell = {me, 0};
}

void Cells::check_readers(Epoch reader, const Reach& reach, Epoch me, uint64_t offset,
                          uint32_t bytes) {
  const auto check = [&](Epoch e, uint32_t lanes) {
    if (!ordered_slowly(e, lanes, *reach.after_reads, reach, me)) {
      listener_.conflict(reach, me, e, lanes, offset, bytes);
    }
  };
  if (is_set(reader)) {
    for (const Reader& r : sets_.at(reader)) check(r.epoch, r.lanes);
  } else if (reader != 0) {
    check(reader, registry_.lanes_of(reader));
  }
}

// Whether whoever races with the earlier read races with this one, too: a strong read races with
// less than a weak one, or with something else than one of another scope or size.
bool Cells::stands_for(const Reach& reach, Epoch me, Epoch reader) const {
  if (!reach.is_strong_read) return true;
  const Site& a = registry_.site_at(site_of(me));
  const Site& b = registry_.site_at(site_of(reader));
  return a.scope == b.scope && a.bytes == b.bytes;
}

void Cells::add_reader(Epoch& reader, const Reach& reach, Epoch me) {
  if (is_set(reader)) {
    add_to_set(sets_.at(reader), reach, me);
    return;
  }
  const bool same_lane = ((reader ^ me) & (kAgentMask | kLaneMask)) == 0;
  const bool all_lanes = agent_of(reader) == agent_of(me) && lane_of(me) == kEveryLane;
  if (reader == 0 || (stands_for(reach, me, reader) && (same_lane || all_lanes)) ||
      (reach.passes_on &&
       ordered_slowly(reader, registry_.lanes_of(reader), *reach.after_reads, reach, me))) {
    reader = me;
    return;
  }
  const Epoch set = sets_.make();
  ReadSet& readers = sets_.at(set);
  readers.push_back({reader, registry_.lanes_of(reader)});
  reader = set;
  add_to_set(readers, reach, me);
}

void Cells::add_to_set(ReadSet& set, const Reach& reach, Epoch me) {
  const uint32_t lanes = registry_.lanes_of(me);
  for (Reader& r : set) {
    if (agent_of(r.epoch) != agent_of(me)) continue;
    if (((r.epoch ^ me) & ~kLaneMask) == 0) {
      r.lanes |= lanes;
      return;
    }
    if ((r.lanes & ~lanes) == 0 && stands_for(reach, me, r.epoch)) {
      r = {me, lanes};
      return;
    }
  }
  for (Reader& r : set) {
    // A lane's later read stands for its earlier ones.
    if (agent_of(r.epoch) == agent_of(me) && stands_for(reach, me, r.epoch)) r.lanes &= ~lanes;
  }
  if (set.size() >= 8 && reach.passes_on) {
    std::erase_if(set, [&](const Reader& r) {
      return ordered_slowly(r.epoch, r.lanes, *reach.after_reads, reach, me);
    });
  }
  set.push_back({me, lanes});
}

void Cells::cells(Cell* cells, uint64_t count, uint32_t step, const Reach& reach, Epoch me,
                  uint64_t offset) {
  uint64_t i = 0;
  while (i < count) {
    if (i + 32 <= count && !reach.to_map && block<32, 0>(cells + i, reach, me)) {
      i += 32;
      continue;
    }
    // A row that is not alike is tried in quarters of its first part.
    const uint64_t end = std::min(count, i + 32);
    while (i < end) {
      if (i + 4 <= end && !reach.to_map && block<4, 0>(cells + i, reach, me)) {
        i += 4;
        continue;
      }
      const uint64_t stop = std::min(end, i + 4);
      for (; i < stop; ++i) cell(cells[i], reach, me, offset + i * step, step);
    }
  }
}

void Cells::run(Shadow& shadow, const Reach& reach, uint64_t offset, uint64_t bytes) {
  while (bytes > 0) {
    const uint64_t in_page = offset % kPageBytes;
    const uint64_t part = std::min(bytes, kPageBytes - in_page);
    const Page p = ((offset | part) & 3) != 0 ? shadow.byte_page(offset) : shadow.page(offset);
    cells(p.cells + in_page / p.step, part / p.step, p.step, reach, reach.me, offset);
    offset += part;
    bytes -= part;
  }
}

void Cells::one(Shadow& shadow, const Reach& reach, Epoch me, uint64_t offset, uint32_t bytes) {
  const uint64_t in_page = offset % kPageBytes;
  if (in_page + bytes > kPageBytes) {
    const auto part = static_cast<uint32_t>(kPageBytes - in_page);
    one(shadow, reach, me, offset, part);
    one(shadow, reach, me, offset + part, bytes - part);
    return;
  }
  const Page p = ((offset | bytes) & 3) != 0 ? shadow.byte_page(offset) : shadow.page(offset);
  Cell* first = p.cells + in_page / p.step;
  const uint32_t count = bytes / p.step;
  for (uint32_t i = 0; i < count;) {
    if (i + 4 <= count && block<4, 0>(first + i, reach, me)) {
      i += 4;
      continue;
    }
    for (const uint32_t stop = std::min(count, i + 4); i < stop; ++i) {
      cell(first[i], reach, me, offset + uint64_t{i} * p.step, p.step);
    }
  }
}

void Cells::words(Shadow& shadow, const Reach& reach, const uint64_t* offset, uint32_t lanes) {
  constexpr Epoch kWho = kAgentMask | kLaneMask;
  const Clock::Ticks after_writes = reach.after_writes->ticks();
  const Clock::Ticks after_reads = reach.after_reads->ticks();
  const bool writes = reach.writes;
  const bool wants_data = reach.wants_data;
  const bool replaces_any = writes || reach.passes_on;
  Page p;
  uint64_t number = ~uint64_t{0};
  for (uint32_t m = lanes; m != 0; m &= m - 1) {
    const auto l = static_cast<uint32_t>(__builtin_ctz(m));
    const uint64_t at = offset[l];
    const Epoch me = reach.me | Epoch{l} << kLaneShift;
    if (at / kPageBytes != number) {
      number = at / kPageBytes;
      p = shadow.page(at);
    }
    if (p.step != 4 || at % 4 != 0) [[unlikely]] {
      one(shadow, reach, me, at, 4);
      number = ~uint64_t{0};
      continue;
    }
    Cell& c = p.cells[at % kPageBytes / 4];
    const Epoch w = c.writer;
    const Epoch r = c.reader;
    const bool is_fine =
        (!wants_data || (w != 0 && (w & kNoData) == 0)) &&
        (tick_of(w) <= after_writes.at(agent_of(w)) || ((w ^ me) & kWho) == 0) &&
        (r == 0 || (replaces_any && !is_set(r) &&
                    (tick_of(r) <= after_reads.at(agent_of(r)) || ((r ^ me) & kWho) == 0)));
    if (!is_fine) [[unlikely]] {
      slow_cell(c, reach, me, at, 4);
    } else if (writes) {
      c = {me, 0};
    } else {
      c.reader = me;
    }
  }
}

template <uint32_t kPerLane>
void Cells::row_of(Cell* cells, uint32_t count, uint32_t step, const Reach& reach, uint64_t offset,
                   uint32_t lane) {
  for (uint32_t i = 0; i < count; i += 32) {
    const Epoch me = reach.me | Epoch{lane + i / kPerLane} << kLaneShift;
    const uint32_t stop = std::min(count, i + 32);
    if (stop == i + 32 && block<32, kPerLane>(cells + i, reach, me)) continue;
    for (uint32_t k = i; k < stop; ++k) {
      cell(cells[k], reach, reach.me | Epoch{lane + k / kPerLane} << kLaneShift,
           offset + uint64_t{k} * step, step);
    }
  }
}

void Cells::row(Shadow& shadow, const Reach& reach, uint64_t offset, uint32_t bytes) {
  const uint64_t end = offset + 32 * uint64_t{bytes};
  for (uint64_t at = offset; at < end;) {
    const uint64_t part = std::min(end - at, kPageBytes - at % kPageBytes);
    const Page p = bytes % 4 != 0 ? shadow.byte_page(at) : shadow.page(at);
    Cell* first = p.cells + at % kPageBytes / p.step;
    const auto count = static_cast<uint32_t>(part / p.step);
    const auto lane = static_cast<uint32_t>((at - offset) / bytes);
    switch (bytes / p.step) {
      case 1:
        row_of<1>(first, count, p.step, reach, at, lane);
        break;
      case 2:
        row_of<2>(first, count, p.step, reach, at, lane);
        break;
      case 4:
        row_of<4>(first, count, p.step, reach, at, lane);
        break;
      case 8:
        row_of<8>(first, count, p.step, reach, at, lane);
        break;
      case 16:
        row_of<16>(first, count, p.step, reach, at, lane);
        break;
      default:
        row_of<32>(first, count, p.step, reach, at, lane);
        break;
    }
    at += part;
  }
}

}  // namespace cohort::race
