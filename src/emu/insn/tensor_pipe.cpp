// tcgen05 by single threads: mma, cp, commit. PTX ISA 9.2, 9.7.16.
//
// Insn::list of an mma: see Operand. mode: its kind; bytes: cta_group; order: block; flags: bits.
#include <bit>
#include <iterator>

#include "emu/async/mbarrier.h"
#include "emu/async/tensor_product.h"
#include "emu/insn/access.h"
#include "emu/insn/families.h"
#include "emu/insn/memory.h"

namespace cohort::emu {

namespace tensor_pipe_family {
namespace {

enum Operand : uint32_t {
  kD,
  kDOffset,
  kA,  // A descriptor, or an address with its offset.
  kAOffset,
  kB,
  kDescriptor,
  kScaleA,
  kScaleAOffset,
  kScaleB,
  kScaleBOffset,
  kEnable,
  kScaleC,
  kDisabled,  // Four or eight registers.
  kOperands = kDisabled + 8,
};
enum Flags : uint8_t { kAInTensor = 0x10 };

uint32_t value32(const Warp& w, uint32_t o, uint32_t lane) {
  return o == kNoOperand ? 0 : w.word(o)[lane];
}
uint64_t value64(const Warp& w, uint32_t o, uint32_t lane) {
  const uint32_t* v = w.word(o) + size_t{2} * lane;
  return v[0] | uint64_t{v[1]} << 32;
}

// Reports every rule that is broken. False when any is.
template <class T>
bool is_legal(Warp& w, const Insn& i, uint32_t lane, const char* what, const Decoded<T>& decoded) {
  for (const FieldFault& f : decoded.faults) {
    w.machine->report(w, i, 1u << lane, FaultCode::descriptor,
                      std::string(what) + ", " + f.field + ": " + f.wanted + " is wanted, not " +
                          std::to_string(f.got));
  }
  return decoded.is_legal();
}

bool refuse(Warp& w, const Insn& i, uint32_t lane, FaultCode code, std::string note) {
  w.machine->report(w, i, 1u << lane, code, std::move(note));
  return false;
}

// ---- mma

class MmaReader {
 public:
  MmaReader(Warp& w, const Insn& i, uint32_t lane)
      : w_(w), i_(i), lane_(lane), o_(w.kernel->extra.data() + i.list) {}

  // False after a fault.
  bool read(TensorProduct& p) {
    p.form.kind = static_cast<MmaKind>(i_.mode);
    p.form.cta_group = i_.bytes;
    p.form.block = i_.order;
    for (const std::string& t : w_.kernel->targets) {
      p.form.has_k96 = p.form.has_k96 || t.starts_with("sm_103");
    }
    const auto shape = decode_instruction(p.form, value32(w_, o_[kDescriptor], lane_));
    p.shape = shape.value;
    bool ok = is_legal(w_, i_, lane_, "instruction descriptor", shape);
    p.a_in_tensor = (i_.flags & kAInTensor) != 0;
    if (!p.a_in_tensor) {
      ok &= operand(p, value64(w_, o_[kA], lane_), "descriptor of A", p.shape.a, p.shape.major_a,
                    p.a);
    }
    ok &=
        operand(p, value64(w_, o_[kB], lane_), "descriptor of B", p.shape.b, p.shape.major_b, p.b);
    if (!ok) return false;
    p.d = address(kD);
    p.accumulate = (*w_.word(o_[kEnable]) >> lane_ & 1) != 0;
    p.scale_c = static_cast<uint8_t>(o_[kScaleC]);
    for (uint32_t m = 0; m < 8; ++m) p.disabled[m] = value32(w_, o_[kDisabled + m], lane_);
    if (p.a_in_tensor) p.a_cell = address(kA);
    if (has_scales(p.form.kind)) {
      p.scale_a = scale_address(kScaleA);
      p.scale_b = scale_address(kScaleB);
    }
    return is_modelled(p) && is_inside(p);
  }

 private:
  [[nodiscard]] TensorCell address(uint32_t which) const {
    return tensor_cell(value32(w_, o_[which], lane_) + o_[which + 1]);
  }
  // Libraries carry the scale's id in the two upper bits (CUTLASS, make_runtime_instr_desc).
  [[nodiscard]] TensorCell scale_address(uint32_t which) const {
    TensorCell c = address(which);
    c.lane &= 0x3FFF;
    return c;
  }

  bool operand(const TensorProduct& p, uint64_t bits, const char* what, MmaOperand type,
               Major major, SharedDescriptor& out) {
    const auto decoded = decode_tcgen05_descriptor(bits);
    out = decoded.value;
    bool ok = is_legal(w_, i_, lane_, what, decoded);
    if (!can_lie(p.form.kind, type, major, out.swizzle)) {
      ok = refuse(w_, i_, lane_, FaultCode::descriptor,
                  std::string(what) + ": this type cannot lie so with this swizzle");
    }
    return ok;
  }

  bool is_modelled(const TensorProduct& p) {
    if (p.shape.k == 96) {
      return refuse(w_, i_, lane_, FaultCode::misuse, "not modelled: K = 96 has no public model");
    }
    if (p.a_in_tensor && p.layout() == TensorLayout::b) {
      return refuse(w_, i_, lane_, FaultCode::misuse,
                    "not modelled: A in tensor memory with M = 128 and cta_group::2");
    }
    const bool small = bits_of(p.shape.a) < 8 &&
                       (p.form.kind == MmaKind::f8f6f4 || p.form.kind == MmaKind::mxf8f6f4);
    if (p.a_in_tensor && small) {
      return refuse(w_, i_, lane_, FaultCode::misuse,
                    "not modelled: A of 4 or 6 bits in tensor memory");
    }
    return true;
  }

  bool is_inside(const TensorProduct& p) {
    const uint32_t lanes = 1u << lane_;
    const uint8_t g = p.form.cta_group;
    const bool quarters = p.layout() == TensorLayout::f;
    if (p.d.lane != 0 && !(quarters && p.d.lane == 16)) {
      return refuse(w_, i_, lane_, FaultCode::tensor_lanes,
                    "D begins at lane 0" + std::string(quarters ? " or 16" : "") + ", not " +
                        std::to_string(p.d.lane));
    }
    if (p.a_in_tensor && p.a_cell.lane != p.d.lane) {
      return refuse(w_, i_, lane_, FaultCode::tensor_lanes, "A begins at the lane of D");
    }
    if (!check_columns(w_, i_, lanes, g, p.d.column, p.columns_d())) return false;
    if (p.a_in_tensor && !check_columns(w_, i_, lanes, g, p.a_cell.column, p.columns_a())) {
      return false;
    }
    if (!has_scales(p.form.kind)) return true;
    return check_columns(w_, i_, lanes, g, p.scale_a.column, p.columns_scale_a()) &&
           check_columns(w_, i_, lanes, g, p.scale_b.column, p.columns_scale_b());
  }

  Warp& w_;
  const Insn& i_;
  uint32_t lane_;
  const uint32_t* o_;
};

Next mma(Warp& w, const Insn& i, uint32_t lanes) {
  if (!take_cta_group(w, i, lanes, i.bytes)) return Next::stop;
  for (uint32_t left = lanes; left != 0; left &= left - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(left));
    TensorProduct p;
    if (!MmaReader(w, i, lane).read(p)) return Next::stop;
    const PipeIssue issue =
        begin_pipe(w, i, lane, i.bytes, {PipeStep::Op::mma, i.bytes, p.step_shape()});
    enqueue(issue, [issue, p](Machine& machine) {
      multiply(issue, p);
      end_pipe(issue);
      ++machine.effects;
    });
  }
  return Next::go;
}

// Puts an address into two operands of the list.
void take_address(Build& b, int operand, uint32_t* words, uint32_t which) {
  b.address(operand);
  words[which] = b.insn.a;
  words[which + 1] = static_cast<uint32_t>(b.insn.imm);
}

MmaKind kind_of(const Build& b) {
  constexpr struct {
    const char* name;
    MmaKind kind;
  } kKinds[] = {{"kind::f16", MmaKind::f16},           {"kind::tf32", MmaKind::tf32},
                {"kind::f8f6f4", MmaKind::f8f6f4},     {"kind::i8", MmaKind::i8},
                {"kind::mxf8f6f4", MmaKind::mxf8f6f4}, {"kind::mxf4", MmaKind::mxf4},
                {"kind::mxf4nvf4", MmaKind::mxf4nvf4}};
  for (const auto& k : kKinds) {
    if (b.has(k.name)) return k.kind;
  }
  return MmaKind::f16;
}

void make_mma(Build& b) {
  uint32_t words[kOperands];
  std::fill(std::begin(words), std::end(words), kNoOperand);
  const MmaKind kind = kind_of(b);
  b.insn.mode = static_cast<uint8_t>(kind);
  b.insn.bytes = b.has("cta_group::2") ? 2 : 1;
  b.insn.order = b.has("block16") || b.has("scale_vec::4X") ? 16 : 32;
  take_address(b, 0, words, kD);
  const bool a_in_tensor = b.is_address(1);
  if (a_in_tensor) {
    take_address(b, 1, words, kA);
  } else {
    words[kA] = b.src(1, Ty::b64);
  }
  words[kB] = b.src(2, Ty::b64);
  words[kDescriptor] = b.src(3, Ty::b32);
  int next = 4;
  if (has_scales(kind)) {
    take_address(b, next++, words, kScaleA);
    take_address(b, next++, words, kScaleB);
  }
  const int masks = b.parts(next);
  if (masks > 1) {
    if (has_scales(kind) || masks != 4 * b.insn.bytes) {
      b.refuse("disable-output-lane has four masks for each CTA");
    }
    for (int j = 0; j < masks && j < 8; ++j) {
      words[kDisabled + static_cast<uint32_t>(j)] = b.part_src(next, j, Ty::b32);
    }
    ++next;
  }
  words[kEnable] = b.pred_src(next++);
  words[kScaleC] = 0;
  if (next < b.operands()) {
    int64_t scale = 0;
    const bool may = kind == MmaKind::f16 || kind == MmaKind::tf32;
    if (!b.constant(next, &scale) || scale < 0 || scale > 15 || !may) {
      b.refuse("scale-input-d is a constant from 0 to 15, of kind::f16 and kind::tf32");
    }
    words[kScaleC] = static_cast<uint32_t>(scale);
  }
  b.insn.flags = a_in_tensor ? kAInTensor : 0;
  b.insn.list = b.extra(words, kOperands);
  b.set(mma);
}

// ---- cp. a, imm: where to. b: descriptor. mode: a CopyShape. bytes: cta_group.

Next cp(Warp& w, const Insn& i, uint32_t lanes) {
  if (!take_cta_group(w, i, lanes, i.bytes)) return Next::stop;
  for (uint32_t left = lanes; left != 0; left &= left - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(left));
    TensorCopy c;
    c.shape = static_cast<CopyShape>(i.mode);
    c.to = tensor_cell(value32(w, i.a, lane) + static_cast<uint32_t>(i.imm));
    const auto from = decode_tcgen05_descriptor(value64(w, i.b, lane));
    if (!is_legal(w, i, lane, "descriptor of the source", from)) return Next::stop;
    c.from = from.value;
    const bool small = c.shape == CopyShape::x4x256b;
    if (c.to.lane >= (small ? 32u : 1u)) {
      refuse(w, i, lane, FaultCode::tensor_lanes,
             "the lane of the address is " + std::to_string(c.to.lane));
      return Next::stop;
    }
    if (!check_columns(w, i, 1u << lane, i.bytes, c.to.column, extent_of(c.shape).bytes / 4)) {
      return Next::stop;
    }
    const PipeStep::Op op = small ? PipeStep::Op::cp_4x256b : PipeStep::Op::cp;
    const PipeIssue issue = begin_pipe(w, i, lane, i.bytes, {op, i.bytes, 0});
    enqueue(issue, [issue, c](Machine& machine) {
      copy(issue, c);
      end_pipe(issue);
      ++machine.effects;
    });
  }
  return Next::go;
}
void make_cp(Build& b) {
  const CopyShape shape = b.has("128x256b")        ? CopyShape::x128x256b
                          : b.has("128x128b")      ? CopyShape::x128x128b
                          : b.has("warpx2::02_13") ? CopyShape::x64x128b_02_13
                          : b.has("warpx2::01_23") ? CopyShape::x64x128b_01_23
                          : b.has("warpx4")        ? CopyShape::x32x128b_warpx4
                                                   : CopyShape::x4x256b;
  b.insn.mode = static_cast<uint8_t>(shape);
  b.insn.bytes = b.has("cta_group::2") ? 2 : 1;
  b.address(0);
  b.insn.b = b.src(1, Ty::b64);
  b.set(cp);
}

// ---- commit. a, imm, flags, window: the mbarrier. b: mask of CTAs. bytes: cta_group.

// Arrives at the mbarrier at that offset of a CTA's shared memory. False after a fault.
bool arrive_at(Machine& m, const PipeIssue& issue, uint32_t rank, uint32_t offset) {
  const Warp& w = *issue.warp;
  Touch by = Machine::touch(w, *issue.insn, 1u << issue.lane);
  by.kind = Kind::barrier;
  const Cluster& cluster = *w.cta->cluster;
  if (rank >= cluster.size) {
    m.report(w, *issue.insn, 1u << issue.lane, FaultCode::bounds,
             "the cluster has no CTA " + std::to_string(rank));
    return false;
  }
  Cta& cta = *m.ctas[cluster.first_cta + rank];
  // A CTA that ended without a wait for its own commit: nobody is left to care.
  if (cta.ended && &cta == w.cta) return true;
  Mbarrier* barrier = find_mbarrier(m, cta, offset, by);
  if (barrier == nullptr) return false;
  if (issue.has_op) {
    m.events->access(
        w.who(*issue.insn, 1u << issue.lane),
        Box{Space::shared, Proxy::generic, Kind::barrier, cta.index, offset, kMbarrierBytes},
        Scope::cluster);
    m.events->publish(issue.op, barrier->sync, 0);
  }
  return arrive(m, cta, *barrier, 1, by);
}

Next commit(Warp& w, const Insn& i, uint32_t lanes) {
  if (!take_cta_group(w, i, lanes, i.bytes)) return Next::stop;
  alignas(64) uint64_t address[32];
  if (!find_addresses(w, i, lanes, kMbarrierBytes, Kind::barrier, address)) return Next::stop;
  for (uint32_t left = lanes; left != 0; left &= left - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(left));
    const uint32_t one = 1u << lane;
    if (address[lane] >> 32 != kSharedWindow >> 32) {
      report_bad_lane(w, i, {}, address, lane, kMbarrierBytes, Kind::barrier);
      return Next::stop;
    }
    if (!has_begun(w, lane)) {
      w.machine->report(w, i, one, FaultCode::commit_empty,
                        "this thread began no operation of the tensor core");
    }
    PipeIssue issue{&w, &i, lane, i.bytes, false, {0}};
    if (w.machine->events != nullptr) {
      issue.has_op = true;
      issue.op = w.machine->events->begin(w.who(i, one), Agent::tensor_commit,
                                          {PipeStep::Op::mma, i.bytes, 0});
    }
    const auto at = static_cast<uint32_t>(address[lane]);
    const uint32_t rank = at >> kRankShift;
    if (rank >= w.cta->cluster->size) {
      report_bad_lane(w, i, {}, address, lane, kMbarrierBytes, Kind::barrier);
      return Next::stop;
    }
    const uint32_t mask = i.b == kNoOperand ? 1u << rank : value32(w, i.b, lane) & 0xFFFF;
    const uint32_t offset = at & ((1u << kRankShift) - 1);
    enqueue(issue, [issue, mask, offset](Machine& machine) {
      for (uint32_t rest = mask; rest != 0 && !machine.stopped; rest &= rest - 1) {
        const auto to = static_cast<uint32_t>(std::countr_zero(rest));
        if (!arrive_at(machine, issue, to, offset)) machine.stopped = true;
      }
      if (issue.has_op) machine.events->end(issue.op);
    });
  }
  return Next::go;
}
void make_commit(Build& b) {
  b.insn.bytes = b.has("cta_group::2") ? 2 : 1;
  b.address(0);
  take_space(b);
  if (b.has("multicast::cluster")) b.insn.b = b.src(1, Ty::u16);
  b.set(commit);
}

#define GROUP ".{cta_group::1,cta_group::2}"
#define KEEP "[.{collector::a::fill,collector::a::use,collector::a::lastuse,collector::a::discard}]"

constexpr Record kRecords[] = {
    {"tcgen05.mma" GROUP ".{kind::f16,kind::tf32,kind::f8f6f4,kind::i8}" KEEP,
     "[d], a | [a], b, descriptor[, disabled lanes], enable-d[, scale-d]", make_mma},
    {"tcgen05.mma" GROUP ".kind::mxf8f6f4.block_scale[.{scale_vec::1X,block32}]" KEEP,
     "[d], a | [a], b, descriptor, [scales of a], [scales of b], enable-d", make_mma},
    {"tcgen05.mma" GROUP ".kind::mxf4.block_scale[.{scale_vec::2X,block32}]" KEEP,
     "[d], a | [a], b, descriptor, [scales of a], [scales of b], enable-d", make_mma},
    {"tcgen05.mma" GROUP
     ".kind::mxf4nvf4.block_scale.{scale_vec::2X,scale_vec::4X,block16,block32}" KEEP,
     "[d], a | [a], b, descriptor, [scales of a], [scales of b], enable-d", make_mma},
    {"tcgen05.cp" GROUP ".{128x256b,4x256b,128x128b}", "[t], descriptor", make_cp},
    {"tcgen05.cp" GROUP ".64x128b.{warpx2::02_13,warpx2::01_23}", "[t], descriptor", make_cp},
    {"tcgen05.cp" GROUP ".32x128b.warpx4", "[t], descriptor", make_cp},
    {"tcgen05.commit" GROUP ".mbarrier::arrive::one[.shared::cluster].b64", "[bar]", make_commit},
    {"tcgen05.commit" GROUP ".mbarrier::arrive::one[.shared::cluster].multicast::cluster.b64",
     "[bar], mask", make_commit},
};

}  // namespace
}  // namespace tensor_pipe_family

const Family kTensorPipe = {"Tensor core", tensor_pipe_family::kRecords,
                            static_cast<int>(std::size(tensor_pipe_family::kRecords))};

}  // namespace cohort::emu
