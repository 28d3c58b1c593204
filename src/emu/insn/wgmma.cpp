// wgmma: products of a warpgroup with operands in shared memory. Each warp does its 16 rows.
//
// Insn::list: registers of D, then of A where it is in registers. a: descriptor of A. b: of B. c:
// scale-d. imm: a Form.
#include <algorithm>
#include <bit>
#include <iterator>

#include "emu/async/operand_fetch.h"
#include "emu/in_flight.h"
#include "emu/insn/families.h"
#include "emu/mma/fast_dot.h"
#include "emu/mma/fragment.h"
#include "emu/mma/integer_dot.h"

namespace cohort::emu {

namespace warpgroup_family {
namespace {

constexpr uint32_t kRows = 16;  // Of a warp.
constexpr uint32_t kRegistersA = 4;

enum FormFlags : uint8_t {
  kHalf = 1,      // D holds f16.
  kIntegers = 2,  // s32
  kSaturates = 4,
  kAInRegisters = 8,
  kNegateA = 16,
  kNegateB = 32,
  kTransposeA = 64,
  kTransposeB = 128,
};

struct Form {
  uint16_t n;
  uint8_t k;
  uint8_t flags;
  MmaOperand a;
  MmaOperand b;
  uint8_t unused[2];
};
static_assert(sizeof(Form) == sizeof(int64_t));

uint32_t registers_d(const Form& f) { return f.n / ((f.flags & kHalf) != 0 ? 4u : 2u); }

struct Product final : InFlight {
  Warp* warp = nullptr;
  Form form{};
  SharedDescriptor a;
  SharedDescriptor b;
  bool accumulates = false;
  void perform(Machine& machine) override;

 private:
  void fetch_registers(Lines& out) const;
  [[nodiscard]] std::vector<uint32_t> accumulators() const;
  void store(const std::vector<uint32_t>& d) const;
  void multiply(const Lines& rows, const Lines& columns, std::vector<uint32_t>& d) const;
};

void Product::fetch_registers(Lines& out) const {
  const uint32_t* list = warp->kernel->extra.data() + insn->list + registers_d(form);
  const auto bits = static_cast<uint32_t>(bits_of(form.a));
  const uint32_t packed = 32 / bits;
  for (uint32_t r = 0; r < kRegistersA; ++r) {
    for (uint32_t l = 0; l < 32; ++l) {
      const uint32_t word = warp->word(list[r])[l];
      for (uint32_t i = 0; i < packed; ++i) {
        const Place p = fragment_a(kRows, packed, l, r, i);
        out.codes[p.row * size_t{out.k} + p.column] =
            bits == 32 ? word : word >> (bits * i) & ((1u << bits) - 1);
      }
    }
  }
}

// Calls f(register, lane, first bit, row, column) for each element of D.
template <class F>
void each_element(const Form& form, const F& f) {
  const uint32_t packed = (form.flags & kHalf) != 0 ? 2 : 1;
  for (uint32_t r = 0; r < registers_d(form); ++r) {
    for (uint32_t l = 0; l < 32; ++l) {
      for (uint32_t i = 0; i < packed; ++i) {
        const Place p = fragment_c(l, packed * r + i);
        f(r, l, 16 * i, p.row * size_t{form.n} + p.column);
      }
    }
  }
}

std::vector<uint32_t> Product::accumulators() const {
  std::vector<uint32_t> d(size_t{kRows} * form.n);
  if (!accumulates) return d;
  const uint32_t* list = warp->kernel->extra.data() + insn->list;
  const uint32_t mask = (form.flags & kHalf) != 0 ? 0xFFFF : ~0u;
  each_element(form, [&](uint32_t r, uint32_t l, uint32_t bit, size_t at) {
    if (list[r] != kNoOperand) d[at] = warp->word(list[r])[l] >> bit & mask;
  });
  return d;
}

void Product::store(const std::vector<uint32_t>& d) const {
  const uint32_t* list = warp->kernel->extra.data() + insn->list;
  each_element(form, [&](uint32_t r, uint32_t l, uint32_t bit, size_t at) {
    if (list[r] == kNoOperand) return;
    uint32_t& word = warp->word(list[r])[l];
    word = bit == 0 ? d[at] : word | d[at] << bit;
  });
}

void Product::multiply(const Lines& rows, const Lines& columns, std::vector<uint32_t>& d) const {
  const size_t n = form.n;
  if ((form.flags & kIntegers) != 0) {
    const auto values = [](const Lines& l, bool is_signed) {
      std::vector<int16_t> v(l.codes.size());
      std::transform(l.codes.begin(), l.codes.end(), v.begin(), [&](uint32_t code) {
        return is_signed ? static_cast<int8_t>(code) : static_cast<int16_t>(code);
      });
      return v;
    };
    const auto x = values(rows, form.a == MmaOperand::s8);
    const auto y = values(columns, form.b == MmaOperand::s8);
    for (size_t at = 0; at < d.size(); ++at) {
      d[at] = static_cast<uint32_t>(
          integer_dot({x.data() + at / n * rows.k, rows.k}, {y.data() + at % n * rows.k, rows.k},
                      static_cast<int32_t>(d[at]), (form.flags & kSaturates) != 0));
    }
    return;
  }
  const bool is_fp8 = bits_of(form.a) == 8;
  if ((form.flags & kHalf) == 0) {
    DotLines x(DotLines::Side::a, element_of(form.a), static_cast<int>(rows.k), kRows);
    DotLines y(DotLines::Side::b, element_of(form.b), static_cast<int>(rows.k), form.n);
    for (uint32_t i = 0; i < kRows; ++i) x.set(static_cast<int>(i), rows.line(i));
    for (uint32_t i = 0; i < form.n; ++i) y.set(static_cast<int>(i), columns.line(i));
    fast_dot(x, y, is_fp8 ? kHopperFp8 : kDotF32, d.data(), form.n);
    return;
  }
  const auto exact = [](const Lines& l, MmaOperand type) {
    std::vector<Exact> v(l.codes.size());
    std::transform(l.codes.begin(), l.codes.end(), v.begin(),
                   [&](uint32_t code) { return decode(element_of(type), code); });
    return v;
  };
  const auto x = exact(rows, form.a);
  const auto y = exact(columns, form.b);
  for (size_t at = 0; at < d.size(); ++at) {
    d[at] = fused_dot({x.data() + at / n * rows.k, rows.k}, {y.data() + at % n * rows.k, rows.k},
                      d[at], is_fp8 ? kHopperFp8F16 : kDotF16);
  }
}

void Product::perform(Machine& machine) {
  // Those before it come first: they may make what this one adds to.
  for (const auto& f : warp->in_flight) {
    if (f.get() == this) break;
    if (!f->group_of_products || f->done) continue;
    f->perform(machine);
    f->done = true;
  }
  if (warp->cta->shared.empty()) return;
  const PipeIssue issue{warp, insn, 0, 1, has_op, op};
  Lines rows(kRows, form.k);
  Lines columns(form.n, form.k);
  const auto major = [&](uint8_t flag) { return (form.flags & flag) != 0 ? Major::mn : Major::k; };
  if ((form.flags & kAInRegisters) != 0) {
    fetch_registers(rows);
  } else if (!fetch_lines(issue, *warp->cta,
                          {MmaKind::f16, form.a, major(kTransposeA), a, warp->id % 4 * kRows}, 0,
                          kRows, rows)) {
    return;
  }
  if (!fetch_lines(issue, *warp->cta, {MmaKind::f16, form.b, major(kTransposeB), b, 0}, 0, form.n,
                   columns)) {
    return;
  }
  if ((form.flags & kNegateA) != 0) negate(rows, form.a);
  if ((form.flags & kNegateB) != 0) negate(columns, form.b);
  std::vector<uint32_t> d = accumulators();
  multiply(rows, columns, d);
  store(d);
  if (has_op) machine.events->end(op);
  ++machine.effects;
}

bool refuse(Warp& w, const Insn& i, FaultCode code, std::string note) {
  w.machine->report(w, i, w.live, code, std::move(note));
  return false;
}

bool read_descriptor(Warp& w, const Insn& i, uint32_t o, const char* what, SharedDescriptor& out) {
  const uint32_t* v = w.word(o);
  const uint64_t bits = v[0] | uint64_t{v[1]} << 32;
  for (uint32_t l = 1; l < 32; ++l) {
    if ((v[2 * size_t{l}] | uint64_t{v[2 * size_t{l} + 1]} << 32) != bits) {
      return refuse(w, i, FaultCode::misuse, std::string(what) + " is the same in all lanes");
    }
  }
  const auto decoded = decode_wgmma_descriptor(bits);
  for (const FieldFault& f : decoded.faults) {
    refuse(w, i, FaultCode::descriptor,
           std::string(what) + ", " + f.field + ": " + f.wanted + " is wanted, not " +
               std::to_string(f.got));
  }
  out = decoded.value;
  return decoded.is_legal();
}

Next multiply(Warp& w, const Insn& i, uint32_t lanes) {
  if (lanes != ~0u || w.id / 4 * 4 + 4 > w.cta->warps.size()) {
    refuse(w, i, FaultCode::misuse, "all lanes of the four warps of a warpgroup execute it");
    return Next::stop;
  }
  if (!w.may_multiply) {
    refuse(w, i, FaultCode::misuse, "wgmma.fence is wanted before the first wgmma.mma_async");
    w.may_multiply = true;
  }
  auto p = std::make_shared<Product>();
  p->warp = &w;
  p->insn = &i;
  p->pc = w.who(i, lanes).pc;
  p->lanes = lanes;
  p->form = std::bit_cast<Form>(i.imm);
  p->group_of_products = true;
  const Form& f = p->form;
  const bool in_registers = (f.flags & kAInRegisters) != 0;
  if (!in_registers && !read_descriptor(w, i, i.a, "descriptor of A", p->a)) {
    return Next::stop;
  }
  if (!read_descriptor(w, i, i.b, "descriptor of B", p->b)) {
    return Next::stop;
  }
  p->accumulates = (*w.word(i.c) & 1) != 0;
  const uint32_t count = registers_d(f) + (in_registers ? kRegistersA : 0);
  for (uint32_t r = 0; r < count; ++r) {
    const uint32_t word = w.kernel->extra[i.list + r];
    if (word != kNoOperand && (word & kPool) == 0) p->registers.push_back(word);
  }
  if (w.machine->events != nullptr) {
    p->has_op = true;
    p->op = w.machine->events->begin(w.who(i, lanes), Agent::warpgroup_mma);
  }
  take_off(w, std::move(p));
  return Next::go;
}

Next fence(Warp& w, const Insn&, uint32_t) {
  w.may_multiply = true;
  return Next::go;
}

Next commit(Warp& w, const Insn&, uint32_t) {
  ++w.product_groups;
  for (const auto& f : w.in_flight) {
    if (f->group_of_products && f->group == 0) f->group = w.product_groups;
  }
  return Next::go;
}

Next wait(Warp& w, const Insn& i, uint32_t lanes) {
  const auto pending = static_cast<uint32_t>(i.imm);
  const uint32_t last = w.product_groups > pending ? w.product_groups - pending : 0;
  const auto meant = [&](const InFlight& f) {
    return f.group_of_products && f.group != 0 && f.group <= last;
  };
  const auto open = std::count_if(w.in_flight.begin(), w.in_flight.end(),
                                  [&](const auto& f) { return meant(*f) && !f->done; });
  if (open != 0) {
    w.cur.wait = {WaitFor::operation, pending, static_cast<uint64_t>(open)};
    return Next::again;
  }
  const auto all = w.in_flight;
  for (const auto& f : all) {
    if (!meant(*f)) continue;
    if (f->has_op) w.machine->events->drain(w.who(i, lanes), f->op, Covers::all);
    land(w, *f);
  }
  return Next::go;
}

void together(Build& b, Handler handler) {
  b.insn.flow = Flow::together;
  b.insn.members = kAllLanes;
  b.set(handler);
}
void make_fence(Build& b) { together(b, fence); }
void make_commit(Build& b) { together(b, commit); }
void make_wait(Build& b) {
  b.constant(0, &b.insn.imm);
  together(b, wait);
}

MmaOperand operand_of(std::string_view name) {
  constexpr struct {
    std::string_view name;
    MmaOperand operand;
  } kNames[] = {{"f16", MmaOperand::f16},   {"bf16", MmaOperand::bf16}, {"tf32", MmaOperand::tf32},
                {"e4m3", MmaOperand::e4m3}, {"e5m2", MmaOperand::e5m2}, {"u8", MmaOperand::u8},
                {"s8", MmaOperand::s8}};
  for (const auto& n : kNames) {
    if (n.name == name) return n.operand;
  }
  return MmaOperand::f16;
}

// imm-scale-a, -b: 1 or -1. imm-trans: 0 or 1.
void take_flag(Build& b, int operand, Form& f, uint8_t flag, int64_t on, int64_t off) {
  int64_t v = 0;
  if (!b.constant(operand, &v)) return;
  if (v != on && v != off) b.refuse("an immediate that is none of the two that may be");
  if (v == on) f.flags = static_cast<uint8_t>(f.flags | flag);
}

void make_product(Build& b) {
  Form f{};
  for (uint16_t n = 8; n <= 256; n = static_cast<uint16_t>(n + 8)) {
    for (const uint8_t k : {uint8_t{8}, uint8_t{16}, uint8_t{32}}) {
      if (!b.has("m64n" + std::to_string(n) + "k" + std::to_string(k))) continue;
      f.n = n;
      f.k = k;
    }
  }
  f.a = operand_of(b.modifier(1));
  f.b = operand_of(b.modifier(0));
  const bool integers = b.modifier(2) == "s32";
  if (b.modifier(2) == "f16") f.flags |= kHalf;
  if (integers) f.flags |= kIntegers;
  if (b.has("satfinite")) f.flags |= kSaturates;
  const bool in_registers = b.parts(1) > 1;
  if (in_registers) f.flags |= kAInRegisters;
  std::vector<uint32_t> words;
  const auto count = static_cast<int>(registers_d(f));
  if (b.parts(0) != count) b.refuse("a vector of another length");
  words.reserve(static_cast<size_t>(count) + kRegistersA);
  for (int j = 0; j < count; ++j) words.push_back(b.part_dst(0, j, 4));
  if (in_registers) {
    if (b.parts(1) != static_cast<int>(kRegistersA)) b.refuse("A has four registers");
    for (int j = 0; j < 4; ++j) words.push_back(b.part_src(1, j, Ty::b32));
  } else {
    b.insn.a = b.src(1, Ty::b64);
  }
  b.insn.b = b.src(2, Ty::b64);
  b.insn.c = b.pred_src(3);
  if (!integers) {
    take_flag(b, 4, f, kNegateA, -1, 1);
    take_flag(b, 5, f, kNegateB, -1, 1);
    if (bits_of(f.a) == 16) {
      int next = 6;
      if (!in_registers) take_flag(b, next++, f, kTransposeA, 1, 0);
      take_flag(b, next, f, kTransposeB, 1, 0);
    }
  }
  b.insn.list = b.extra(words.data(), static_cast<int>(words.size()));
  b.insn.imm = std::bit_cast<int64_t>(f);
  together(b, multiply);
}

#define SHAPES(K)                                                                                 \
  ".{m64n8" K ",m64n16" K ",m64n24" K ",m64n32" K ",m64n40" K ",m64n48" K ",m64n56" K ",m64n64" K \
  ",m64n72" K ",m64n80" K ",m64n88" K ",m64n96" K ",m64n104" K ",m64n112" K ",m64n120" K          \
  ",m64n128" K ",m64n136" K ",m64n144" K ",m64n152" K ",m64n160" K ",m64n168" K ",m64n176" K      \
  ",m64n184" K ",m64n192" K ",m64n200" K ",m64n208" K ",m64n216" K ",m64n224" K ",m64n232" K      \
  ",m64n240" K ",m64n248" K ",m64n256" K "}"
#define INTEGER_SHAPES                                                                          \
  ".{m64n8k32,m64n16k32,m64n24k32,m64n32k32,m64n48k32,m64n64k32,m64n80k32,m64n96k32,m64n112k32" \
  ",m64n128k32,m64n144k32,m64n160k32,m64n176k32,m64n192k32,m64n208k32,m64n224k32,m64n240k32"    \
  ",m64n256k32}"

constexpr const char* kOperands = "d, a | {a}, b, scale-d, scale-a, scale-b[, trans-a][, trans-b]";

constexpr Record kRecords[] = {
    {"wgmma.mma_async.sync.aligned" SHAPES("k16") ".{f16,f32}.f16.f16", kOperands, make_product},
    {"wgmma.mma_async.sync.aligned" SHAPES("k16") ".f32.bf16.bf16", kOperands, make_product},
    {"wgmma.mma_async.sync.aligned" SHAPES("k8") ".f32.tf32.tf32",
     "d, a | {a}, b, scale-d, scale-a, scale-b", make_product},
    {"wgmma.mma_async.sync.aligned" SHAPES("k32") ".{f16,f32}.{e4m3,e5m2}.{e4m3,e5m2}",
     "d, a | {a}, b, scale-d, scale-a, scale-b", make_product},
    {"wgmma.mma_async.sync.aligned" INTEGER_SHAPES "[.satfinite].s32.{u8,s8}.{u8,s8}",
     "d, a | {a}, b, scale-d", make_product},
    {"wgmma.fence.sync.aligned", "", make_fence},
    {"wgmma.commit_group.sync.aligned", "", make_commit},
    {"wgmma.wait_group.sync.aligned", "n", make_wait},
};

}  // namespace
}  // namespace warpgroup_family

const Family kWarpgroup = {"Products of a warpgroup", warpgroup_family::kRecords,
                           static_cast<int>(std::size(warpgroup_family::kRecords))};

}  // namespace cohort::emu
