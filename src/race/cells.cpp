#include "race/cells.h"

#include <algorithm>

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

// All cells alike and ordered: one test for all of them.
template <uint32_t kCount, bool kLanes>
bool Cells::block(Epoch* writers, Epoch* readers, const Reach& reach, Epoch me) const {
  constexpr Epoch kSame = ~(kLaneMask | kMaxSite);
  const Epoch w = writers[0] & kSame;
  const Epoch r = readers[0] & kSame;
  Epoch differ = 0;
  for (uint32_t i = 0; i < kCount; ++i) {
    differ |= ((writers[i] ^ w) & kSame) | ((readers[i] ^ r) & kSame);
  }
  if (differ != 0 || is_set(readers[0])) return false;
  if (reach.wants_data && (writers[0] == 0 || (w & kNoData) != 0)) return false;
  const auto before = [&](const Epoch* epochs, Epoch first, const Clock& clock) {
    if (tick_of(first) <= clock.at(agent_of(first))) return true;
    if (agent_of(first) != agent_of(me)) return false;
    Epoch lanes = 0;
    for (uint32_t i = 0; i < kCount; ++i) {
      lanes |= (epochs[i] ^ (me + (kLanes ? Epoch{i} << kLaneShift : 0))) & kLaneMask;
    }
    return lanes == 0;
  };
  if (!before(writers, w, *reach.after_writes)) return false;
  if (reach.writes) {
    if (!before(readers, r, *reach.after_reads)) return false;
    for (uint32_t i = 0; i < kCount; ++i) {
      writers[i] = me + (kLanes ? Epoch{i} << kLaneShift : 0);
      readers[i] = 0;
    }
    return true;
  }
  const bool replaces = r == 0 || (reach.passes_on && before(readers, r, *reach.after_reads)) ||
                        (!reach.passes_on && !reach.is_strong_read && agent_of(r) == agent_of(me));
  if (!replaces) return false;
  for (uint32_t i = 0; i < kCount; ++i) readers[i] = me + (kLanes ? Epoch{i} << kLaneShift : 0);
  return true;
}

inline void Cells::cell(Epoch& writer, Epoch& reader, const Reach& reach, Epoch me, uint64_t offset,
                        uint32_t bytes) {
  const bool written = writer != 0 && (writer & kNoData) == 0;
  if ((written || !reach.wants_data) && ordered(writer, *reach.after_writes, me) &&
      !is_set(reader) && !reach.to_map) [[likely]] {
    if (reach.writes) {
      if (ordered(reader, *reach.after_reads, me)) {
        writer = me;
        reader = 0;
        return;
      }
    } else if (reader == 0 || (reach.passes_on && ordered(reader, *reach.after_reads, me))) {
      reader = me;
      return;
    }
  }
  slow_cell(writer, reader, reach, me, offset, bytes);
}

void Cells::slow_cell(Epoch& writer, Epoch& reader, const Reach& reach, Epoch me, uint64_t offset,
                      uint32_t bytes) {
  ++slow_;
  const bool is_ordered =
      ordered(writer, *reach.after_writes, me) ||
      ordered_slowly(writer, registry_.lanes_of(writer), *reach.after_writes, reach, me);
  const bool earlier_map =
      reach.to_map && is_earlier_grid(writer) && !reach.after_writes->covers(0, 1, kAllLanes);
  if (!is_ordered || earlier_map) {
    listener_.conflict(reach, me, writer, registry_.lanes_of(writer), offset, bytes);
  } else if (reach.wants_data && (writer == 0 || (writer & kNoData) != 0)) {
    listener_.no_data(me, writer, offset, bytes);
  }
  if (!reach.writes) {
    add_reader(reader, reach, me);
    return;
  }
  check_readers(reader, reach, me, offset, bytes);
  if (is_set(reader)) sets_.release(reader);
  writer = me;
  reader = 0;
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

// Whether who races with the earlier read races with this one, too.
bool Cells::stands_for(const Reach& reach, Epoch reader) const {
  return !reach.is_strong_read || registry_.site_at(site_of(reader)).scope != emu::Scope::weak;
}

void Cells::add_reader(Epoch& reader, const Reach& reach, Epoch me) {
  if (is_set(reader)) {
    add_to_set(sets_.at(reader), reach, me);
    return;
  }
  const bool same_lane = ((reader ^ me) & (kAgentMask | kLaneMask)) == 0;
  const bool all_lanes = agent_of(reader) == agent_of(me) && lane_of(me) == kEveryLane;
  if (reader == 0 || (stands_for(reach, reader) && (same_lane || all_lanes)) ||
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
  bool is_there = false;
  size_t kept = 0;
  for (size_t i = 0; i < set.size(); ++i) {
    Reader r = set[i];
    if (agent_of(r.epoch) == agent_of(me)) {
      // A lane's later read stands for its earlier ones.
      if (((r.epoch ^ me) & ~kLaneMask) == 0) {
        r.lanes |= lanes;
        is_there = true;
      } else if (stands_for(reach, r.epoch)) {
        r.lanes &= ~lanes;
        if (r.lanes == 0) continue;
      }
    }
    set[kept++] = r;
  }
  set.resize(kept);
  if (is_there) return;
  if (kept >= 8 && reach.passes_on) {
    std::erase_if(set, [&](const Reader& r) {
      return ordered_slowly(r.epoch, r.lanes, *reach.after_reads, reach, me);
    });
  }
  set.push_back({me, lanes});
}

void Cells::cells(Epoch* writers, Epoch* readers, uint64_t count, uint32_t step, const Reach& reach,
                  Epoch me, uint64_t offset) {
  uint64_t i = 0;
  while (i < count) {
    if (i + 32 <= count && !reach.to_map && block<32, false>(writers + i, readers + i, reach, me)) {
      i += 32;
      continue;
    }
    // A row that is not alike is tried in quarters of its first part.
    const uint64_t end = std::min(count, i + 32);
    while (i < end) {
      if (i + 4 <= end && !reach.to_map && block<4, false>(writers + i, readers + i, reach, me)) {
        i += 4;
        continue;
      }
      const uint64_t stop = std::min(end, i + 4);
      for (; i < stop; ++i) {
        cell(writers[i], readers[i], reach, me, offset + i * step, step);
      }
    }
  }
}

void Cells::run(Shadow& shadow, const Reach& reach, uint64_t offset, uint64_t bytes) {
  while (bytes > 0) {
    const uint64_t in_page = offset % kPageBytes;
    const uint64_t part = std::min(bytes, kPageBytes - in_page);
    const Page p = ((offset | part) & 3) != 0 ? shadow.byte_page(offset) : shadow.page(offset);
    const uint64_t first = in_page / p.step;
    cells(p.writers + first, p.readers + first, part / p.step, p.step, reach, reach.me, offset);
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
  const uint64_t first = in_page / p.step;
  Epoch* writers = p.writers + first;
  Epoch* readers = p.readers + first;
  const uint32_t count = bytes / p.step;
  if (count == 1) {
    cell(*writers, *readers, reach, me, offset, bytes);
    return;
  }
  for (uint32_t i = 0; i < count;) {
    if (i + 4 <= count && block<4, false>(writers + i, readers + i, reach, me)) {
      i += 4;
      continue;
    }
    for (const uint32_t stop = std::min(count, i + 4); i < stop; ++i) {
      cell(writers[i], readers[i], reach, me, offset + i * p.step, p.step);
    }
  }
}

void Cells::row(Shadow& shadow, const Reach& reach, uint64_t offset) {
  const Page p = shadow.page(offset);
  const uint64_t in_page = offset % kPageBytes;
  if (p.step == 4 && in_page + 128 <= kPageBytes &&
      block<32, true>(p.writers + in_page / 4, p.readers + in_page / 4, reach, reach.me)) {
    return;
  }
  for (uint32_t l = 0; l < 32; ++l) {
    one(shadow, reach, with_lane(reach.me, l), offset + 4 * uint64_t{l}, 4);
  }
}

}  // namespace cohort::race
