// tcgen05 on tensor memory by whole warps: alloc, dealloc, relinquish_alloc_permit, ld, st, wait,
// fence. PTX ISA 9.2, 9.7.16.
#include <algorithm>
#include <bit>
#include <iterator>

#include "emu/async/tensor_pipe.h"
#include "emu/in_flight.h"
#include "emu/insn/access.h"
#include "emu/insn/families.h"
#include "emu/insn/memory.h"

namespace cohort::emu {

namespace tensor_memory_family {
namespace {

bool whole_warp(Warp& w, const Insn& i, uint32_t lanes) {
  if (lanes == ~0u) return true;
  w.machine->report(w, i, ~lanes, FaultCode::misuse, "all lanes of a warp execute it");
  return false;
}

// The value that all lanes have. False after a fault.
bool uniform(Warp& w, const Insn& i, uint32_t o, uint32_t& value) {
  const uint32_t* v = w.word(o);
  value = v[0];
  if (std::all_of(v, v + 32, [&](uint32_t x) { return x == v[0]; })) return true;
  w.machine->report(w, i, ~0u, FaultCode::misuse, "an operand that is the same in all lanes");
  return false;
}

void together(Build& b) {
  b.insn.flow = Flow::together;
  b.insn.members = kAllLanes;
}
uint8_t cta_group_of(const Build& b) { return b.has("cta_group::2") ? 2 : 1; }

// ---- alloc, dealloc, relinquish_alloc_permit. mode: cta_group, b: columns. bytes: is exclusive.

Next bad_alloc(Warp& w, const Insn& i, std::string note) {
  w.machine->report(w, i, ~0u, FaultCode::tensor_alloc, std::move(note));
  return Next::stop;
}

// Columns that an allocation may have; 0 after a fault.
uint32_t columns_for(Warp& w, const Insn& i, uint32_t count) {
  const bool exclusive = i.bytes != 0;
  const auto& targets = w.kernel->targets;
  const bool has_more = std::any_of(targets.begin(), targets.end(),
                                    [](const std::string& t) { return t.starts_with("sm_107"); });
  const uint32_t most = exclusive && has_more ? kAllTensorColumns : kTensorColumns;
  const bool good = exclusive ? count % kLeastColumns == 0 : std::has_single_bit(count);
  if (good && count >= kLeastColumns && count <= most) return most;
  bad_alloc(w, i,
            std::string(exclusive ? "a multiple of 32" : "a power of two") + " from 32 to " +
                std::to_string(most) + " columns is wanted, not " + std::to_string(count));
  return 0;
}

void tell_columns(Warp& w, const Insn& i, Kind kind, uint32_t first, uint32_t count) {
  if (w.machine->events == nullptr) return;
  w.machine->events->access(w.who(i, ~0u), tensor_box(*w.cta, kind, 0, kTensorLanes, first, count),
                            Scope::weak);
}

// Grants the first request of a CTA, and that of its peer, if there is room.
void grant(Warp& w, uint8_t cta_group) {
  TensorUnit& unit = w.cta->tensor;
  TensorUnit* other = &unit;
  if (cta_group == 2) {
    other = &w.machine->ctas[w.cta->cluster->first_cta + (w.cta->rank ^ 1)]->tensor;
  }
  if (unit.requests.empty() || other->requests.empty()) return;
  TensorUnit::Request& mine = unit.requests.front();
  TensorUnit::Request& peers = other->requests.front();
  if (mine.granted || peers.granted || mine.count != peers.count) return;
  const uint32_t first = unit.room_for(*other, mine.count, mine.columns);
  if (first == kAllTensorColumns) return;
  for (TensorUnit* u : {&unit, other}) {
    if (u->requests.front().granted) continue;
    u->allocate(first, mine.count);
    u->requests.front().granted = true;
    u->requests.front().first = first;
  }
  ++w.machine->changes;
}

Next alloc(Warp& w, const Insn& i, uint32_t lanes) {
  if (!whole_warp(w, i, lanes)) return Next::stop;
  TensorUnit& unit = w.cta->tensor;
  uint32_t count = 0;
  if (!uniform(w, i, i.b, count)) return Next::stop;
  const auto is_mine = [&](const TensorUnit::Request& r) { return r.warp == w.id; };
  auto at = std::find_if(unit.requests.begin(), unit.requests.end(), is_mine);
  if (at == unit.requests.end()) {
    if (!take_cta_group(w, i, lanes, i.mode)) return Next::stop;
    const uint32_t columns = columns_for(w, i, count);
    if (columns == 0) return Next::stop;
    if (unit.relinquished) return bad_alloc(w, i, "after relinquish_alloc_permit");
    if (unit.last_count != 0 && count > unit.last_count) {
      return bad_alloc(w, i,
                       std::to_string(count) + " columns after " + std::to_string(unit.last_count) +
                           ": allocations may not grow");
    }
    unit.last_count = count;
    unit.requests.push_back({count, columns, w.id, false, 0});
  }
  grant(w, i.mode);
  at = std::find_if(unit.requests.begin(), unit.requests.end(), is_mine);
  if (!at->granted) {
    w.cur.wait = {WaitFor::memory, count, 0};
    return Next::again;
  }
  const uint32_t first = at->first;
  unit.requests.erase(at);
  ++w.machine->effects;
  tell_columns(w, i, Kind::allocate, first, count);
  // One store for the warp: it counts as that of its first lane.
  const bool ok = for_each_region(w, i, 1, 4, Kind::write, [&](const Reach& t) {
    std::memcpy(t.region.host + t.offset[0], &first, 4);
  });
  return ok ? Next::go : Next::stop;
}
void make_alloc(Build& b) {
  together(b);
  b.address(0);
  b.insn.window = static_cast<uint8_t>(b.has("shared::cta") ? kSharedWindow >> 32 : 0);
  b.insn.b = b.src(1, Ty::u32);
  b.insn.mode = cta_group_of(b);
  b.insn.bytes = b.has("exclusive") ? 1 : 0;
  b.set(alloc);
}

Next dealloc(Warp& w, const Insn& i, uint32_t lanes) {
  uint32_t address = 0;
  uint32_t count = 0;
  if (!whole_warp(w, i, lanes) || !uniform(w, i, i.a, address) || !uniform(w, i, i.b, count) ||
      !take_cta_group(w, i, lanes, i.mode)) {
    return Next::stop;
  }
  const TensorCell cell = tensor_cell(address);
  if (cell.lane != 0 || !w.cta->tensor.free(cell.column, count)) {
    return bad_alloc(w, i,
                     "no allocation of " + std::to_string(count) + " columns at column " +
                         std::to_string(cell.column) + ", lane " + std::to_string(cell.lane));
  }
  ++w.machine->changes;
  ++w.machine->effects;
  tell_columns(w, i, Kind::free, cell.column, count);
  return Next::go;
}
void make_dealloc(Build& b) {
  together(b);
  b.insn.a = b.src(0, Ty::b32);
  b.insn.b = b.src(1, Ty::u32);
  b.insn.mode = cta_group_of(b);
  b.set(dealloc);
}

Next relinquish(Warp& w, const Insn& i, uint32_t lanes) {
  if (!whole_warp(w, i, lanes) || !take_cta_group(w, i, lanes, i.mode)) return Next::stop;
  w.cta->tensor.relinquished = true;
  return Next::go;
}
void make_relinquish(Build& b) {
  together(b);
  b.insn.mode = cta_group_of(b);
  b.set(relinquish);
}

// ---- ld and st. a and imm: the address. list, count: registers. mode: a MoveShape. order: packs.
// target: immHalfSplitoff.

struct Move final : InFlight {
  Warp* warp = nullptr;
  TensorCell at;
  std::vector<uint32_t> values;  // Of a store: [register][lane].
  void perform(Machine& machine) override;
};

// Columns that a warp's move touches, from its address.
uint32_t width_of(const Insn& i) {
  constexpr uint32_t kColumns[] = {1, 2, 2, 2, 1};  // A register, in the order of MoveShape.
  return i.count * kColumns[i.mode] * (i.order != 0 ? 2 : 1);
}
uint32_t lanes_of(const Insn& i) { return i.mode == 0 ? 32 : 16; }

void tell_move(const Move& m) {
  Events* events = m.warp->machine->events;
  if (events == nullptr) return;
  const Insn& i = *m.insn;
  const Kind kind = m.is_store ? Kind::write : Kind::read;
  const bool halves = static_cast<MoveShape>(i.mode) == MoveShape::x16x32bx2;
  for (uint32_t half = 0; half < (halves ? 2u : 1u); ++half) {
    events->access(m.op, tensor_box(*m.warp->cta, kind, m.at.lane, lanes_of(i),
                                    m.at.column + half * i.target, width_of(i)));
  }
}

void Move::perform(Machine& machine) {
  if (warp->cta->tensor.cells.empty() || warp->cta->registers.empty()) return;
  tell_move(*this);
  TensorUnit& unit = warp->cta->tensor;
  const Insn& i = *insn;
  const auto shape = static_cast<MoveShape>(i.mode);
  const auto cell = [&](const TensorCell& c) -> uint32_t& {
    return unit.cell(at.lane + c.lane, at.column + c.column);
  };
  for (uint32_t r = 0; r < i.count; ++r) {
    const uint32_t d = warp->kernel->extra[i.list + r];
    for (uint32_t t = 0; t < 32; ++t) {
      uint32_t* value = is_store ? &values[size_t{r} * 32 + t] : nullptr;
      if (!is_store && d != kNoOperand) value = warp->word(d) + t;
      if (value == nullptr) continue;
      if (i.order == 0) {
        uint32_t& c = cell(move_cell(shape, t, r, i.target));
        is_store ? c = *value : * value = c;
        continue;
      }
      const auto two = packed_cells(shape, t, r, i.target);
      if (is_store) {
        cell(two[0]) = *value & 0xFFFF;
        cell(two[1]) = *value >> 16;
      } else {
        *value = (cell(two[0]) & 0xFFFF) | cell(two[1]) << 16;
      }
    }
  }
  if (has_op) machine.events->end(op);
  ++machine.effects;
}

// Whether the address is in the warp's quarter; if not, the lanes of its quarter are taken.
TensorCell in_quarter(Warp& w, const Insn& i, TensorCell c) {
  const uint32_t first = w.id % 4 * 32;
  const bool upper = lanes_of(i) == 16 && c.lane == first + 16;
  if (c.lane == first || upper) return c;
  w.machine->report(w, i, ~0u, FaultCode::tensor_lanes,
                    "lane " + std::to_string(c.lane) + ", where the warp's quarter begins at " +
                        std::to_string(first));
  c.lane = first;
  return c;
}

Next move(Warp& w, const Insn& i, uint32_t lanes) {
  uint32_t address = 0;
  if (!whole_warp(w, i, lanes)) return Next::stop;
  if (i.a != kNoOperand && !uniform(w, i, i.a, address)) return Next::stop;
  address += static_cast<uint32_t>(i.imm);
  const TensorCell at = in_quarter(w, i, tensor_cell(address));
  const bool halves = static_cast<MoveShape>(i.mode) == MoveShape::x16x32bx2;
  if (!check_columns(w, i, lanes, 1, at.column, width_of(i))) return Next::stop;
  if (halves && !check_columns(w, i, lanes, 1, at.column + i.target, width_of(i))) {
    return Next::stop;
  }
  auto m = std::make_shared<Move>();
  m->warp = &w;
  m->insn = &i;
  m->pc = w.who(i, lanes).pc;
  m->lanes = lanes;
  m->at = at;
  m->is_store = (i.flags & 0x80) != 0;
  const uint32_t* list = w.kernel->extra.data() + i.list;
  for (uint32_t r = 0; r < i.count; ++r) {
    if (m->is_store) {
      m->values.insert(m->values.end(), w.word(list[r]), w.word(list[r]) + 32);
    } else if (list[r] != kNoOperand) {
      m->registers.push_back(list[r]);
    }
  }
  if (w.machine->events != nullptr) {
    m->has_op = true;
    m->op = w.machine->events->begin(w.who(i, lanes),
                                     m->is_store ? Agent::tensor_store : Agent::tensor_load);
  }
  take_off(w, std::move(m));
  return Next::go;
}

void make_move(Build& b, bool is_store) {
  constexpr const char* kShapes[] = {"32x32b", "16x64b", "16x128b", "16x256b", "16x32bx2"};
  together(b);
  uint8_t shape = 0;
  while (shape < 4 && !b.has(kShapes[shape])) ++shape;
  uint32_t repeat = 1;
  while (repeat < 128 && !b.has("x" + std::to_string(repeat))) repeat *= 2;
  const auto count = static_cast<int>(registers_of(static_cast<MoveShape>(shape), repeat));
  const bool split = static_cast<MoveShape>(shape) == MoveShape::x16x32bx2;
  const int address = is_store ? 0 : 1;
  const int value = is_store ? (split ? 2 : 1) : 0;
  if (count == 0) b.refuse("no such repetition of this shape");
  if (b.parts(value) != count) b.refuse("a vector of another length");
  b.address(address);
  std::vector<uint32_t> words;
  words.reserve(static_cast<size_t>(count));
  for (int j = 0; j < count; ++j) {
    words.push_back(is_store ? b.part_src(value, j, Ty::b32) : b.part_dst(value, j, 4));
  }
  b.insn.list = b.extra(words.data(), count);
  b.insn.count = static_cast<uint16_t>(count);
  b.insn.mode = shape;
  b.insn.order = b.has("pack::16b") || b.has("unpack::16b") ? 1 : 0;
  if (is_store) b.insn.flags |= 0x80;
  if (split) {
    int64_t off = 0;
    if (b.constant(is_store ? 1 : 2, &off)) b.insn.target = static_cast<uint32_t>(off);
  }
  b.set(move);
}
void make_load(Build& b) { make_move(b, false); }
void make_store(Build& b) { make_move(b, true); }

// ---- wait::ld and wait::st. mode: of stores.

Next wait(Warp& w, const Insn& i, uint32_t lanes) {
  if (!whole_warp(w, i, lanes)) return Next::stop;
  const bool stores = i.mode != 0;
  uint32_t open = 0;
  for (const auto& f : w.in_flight) {
    const bool meant = !f->group_of_products && f->is_store == stores;
    if (meant && !f->done) ++open;
  }
  if (open != 0) {
    w.cur.wait = {WaitFor::operation, 0, open};
    return Next::again;
  }
  const auto all = w.in_flight;
  for (const auto& f : all) {
    if (f->group_of_products || f->is_store != stores) continue;
    if (f->has_op) w.machine->events->drain(w.who(i, lanes), f->op, Covers::all);
    land(w, *f);
  }
  return Next::go;
}
void make_wait(Build& b) {
  together(b);
  b.insn.mode = b.has("wait::st") ? 1 : 0;
  b.set(wait);
}

// ---- fence. mode: a Fence.

Next fence(Warp& w, const Insn& i, uint32_t lanes) {
  if (w.machine->events != nullptr) {
    w.machine->events->fence(w.who(i, lanes), static_cast<Fence>(i.mode), Scope::weak);
  }
  return Next::go;
}
void make_fence(Build& b) {
  b.insn.mode = static_cast<uint8_t>(b.has("fence::before_thread_sync") ? Fence::tensor_before
                                                                        : Fence::tensor_after);
  b.set(fence);
}

#define GROUP ".{cta_group::1,cta_group::2}"
#define REPEAT ".{x1,x2,x4,x8,x16,x32,x64,x128}"

constexpr Record kRecords[] = {
    {"tcgen05.alloc[.exclusive]" GROUP ".sync.aligned[.shared::cta].b32", "[d], columns",
     make_alloc},
    {"tcgen05.dealloc[.exclusive]" GROUP ".sync.aligned.b32", "t, columns", make_dealloc},
    {"tcgen05.relinquish_alloc_permit" GROUP ".sync.aligned", "", make_relinquish},
    {"tcgen05.ld.sync.aligned.{32x32b,16x64b,16x128b,16x256b}" REPEAT "[.pack::16b].b32", "d, [t]",
     make_load},
    {"tcgen05.ld.sync.aligned.16x32bx2" REPEAT "[.pack::16b].b32", "d, [t], split", make_load},
    {"tcgen05.st.sync.aligned.{32x32b,16x64b,16x128b,16x256b}" REPEAT "[.unpack::16b].b32",
     "[t], b", make_store},
    {"tcgen05.st.sync.aligned.16x32bx2" REPEAT "[.unpack::16b].b32", "[t], split, b", make_store},
    {"tcgen05.{wait::ld,wait::st}.sync.aligned", "", make_wait},
    {"tcgen05.{fence::before_thread_sync,fence::after_thread_sync}", "", make_fence},
};

}  // namespace
}  // namespace tensor_memory_family

const Family kTensorMemory = {"Tensor memory", tensor_memory_family::kRecords,
                              static_cast<int>(std::size(tensor_memory_family::kRecords))};

}  // namespace cohort::emu
