// Operands of the instruction that is being decoded.
#include <bit>

#include "emu/decoder.h"
#include "emu/machine.h"
#include "emu/special.h"
#include "ptx/type.h"

namespace cohort::emu {

using ptx::OperandKind;

namespace {

bool is_float(Ty type) { return type == Ty::f32 || type == Ty::f64; }

// The bits of a constant as a value of the type.
uint64_t constant_bits(const ptx::Operand& o, Ty type) {
  const auto value = static_cast<uint64_t>(o.value);
  if (o.kind == OperandKind::f32 && type == Ty::f64) {
    return std::bit_cast<uint64_t>(
        static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(value))));
  }
  if (o.kind == OperandKind::f64 && bytes_of(type) <= 4) {
    return std::bit_cast<uint32_t>(static_cast<float>(std::bit_cast<double>(value)));
  }
  if (o.kind == OperandKind::integer && is_float(type)) {
    const auto number = static_cast<double>(o.value);
    return type == Ty::f64 ? std::bit_cast<uint64_t>(number)
                           : std::bit_cast<uint32_t>(static_cast<float>(number));
  }
  return value;
}

bool is_number(const ptx::Operand& o) {
  return o.kind == OperandKind::integer || o.kind == OperandKind::f32 || o.kind == OperandKind::f64;
}

Next negate_predicate(Warp& w, const Insn& i, uint32_t lanes) {
  uint32_t* d = w.word(i.d);
  *d = (*d & ~lanes) | (~*w.word(i.a) & lanes);
  return Next::go;
}

}  // namespace

const ptx::Operand* Decoder::peek(int i) const {
  if (i < 0 || static_cast<uint32_t>(i) >= i_->count) return nullptr;
  return &e_->function->operands[i_->first + static_cast<uint32_t>(i)];
}

const ptx::Operand* Decoder::operand(int i) {
  const ptx::Operand* o = peek(i);
  if (o == nullptr) refuse("an operand is missing");
  return o;
}

const ptx::Operand* Decoder::part(const ptx::Operand& o, int j) const {
  if (o.kind != OperandKind::vector && o.kind != OperandKind::pair) return j == 0 ? &o : nullptr;
  if (static_cast<uint32_t>(j) >= o.count) return nullptr;
  return &e_->function->operands[o.first + static_cast<uint32_t>(j)];
}

ptx::Type Decoder::type_of_register(uint32_t index) const {
  const ptx::Function& f = *e_->function;
  return f.register_declarations[f.registers[index].declaration].type;
}

uint32_t Decoder::allocate(uint32_t bytes) {
  const uint32_t at = kernel_.words;
  kernel_.words += bytes <= 4 ? 32 : bytes * 8;
  if (int64_t{kernel_.words} * 4 > options_.register_bytes) over_limit_ = true;
  return at;
}

uint32_t Decoder::allocate_predicate() {
  if (predicates_left_ == 0) {
    next_predicate_ = allocate(4);
    predicates_left_ = 32;
  }
  --predicates_left_;
  return next_predicate_++;
}

uint32_t Decoder::word_of(uint32_t register_index) {
  uint32_t& word = e_->words[register_index];
  if (word == kNoOperand) {
    const ptx::Type type = type_of_register(register_index);
    word = type == ptx::Type::pred ? allocate_predicate() : allocate(ptx::bytes_of(type));
  }
  if (type_of_register(register_index) != ptx::Type::pred) named_.push_back(word);
  return word;
}

uint32_t Decoder::scratch(uint32_t bytes) { return allocate(bytes); }

uint32_t Decoder::pool(uint64_t value, bool wide, bool shared) {
  auto& known = pool_by_value_[shared ? 2 : wide ? 1 : 0];
  const uint64_t key = shared ? value * 2 + (wide ? 1 : 0) : value;
  const auto [at, is_new] = known.try_emplace(key, static_cast<uint32_t>(kernel_.pool.size()));
  if (is_new) {
    for (int l = 0; l < 32; ++l) {
      kernel_.pool.push_back(static_cast<uint32_t>(value));
      if (wide) kernel_.pool.push_back(static_cast<uint32_t>(value >> 32));
    }
    if (shared) kernel_.pool_shared.push_back({at->second, wide});
  }
  return at->second | kPool;
}

uint32_t Decoder::pool32(uint32_t value) { return pool(value, false, false); }
uint32_t Decoder::pool64(uint64_t value) { return pool(value, true, false); }

Storage Decoder::storage_of(const ptx::Operand& o, OperandKind kind) const {
  return kind == OperandKind::module_variable ? layout_.module_variable(o.index)
                                              : e_->variables[o.index];
}

uint32_t Decoder::address_constant(const Storage& storage, int64_t addend, uint32_t bytes) {
  const bool wide = bytes > 4;
  const uint64_t at = storage.offset + static_cast<uint64_t>(addend);
  switch (storage.kind) {
    case Storage::Kind::shared:
      return pool(at, wide, true);
    case Storage::Kind::local:
      return pool(wide ? kLocalWindow + at : at, wide, false);
    case Storage::Kind::parameter:
      return pool(wide ? kParamWindow + at : at, wide, false);
    case Storage::Kind::buffer: {
      if (!wide) refuse("an address of global memory has 64 bits");
      const auto word = static_cast<uint32_t>(kernel_.pool.size());
      kernel_.pool.resize(kernel_.pool.size() + 64);
      kernel_.pool_buffers.push_back({word, static_cast<uint32_t>(storage.offset), addend});
      return word | kPool;
    }
    case Storage::Kind::none:
      break;
  }
  refuse("a variable that has no place: it is declared elsewhere");
  return pool64(0);
}

uint32_t Decoder::special_of(const ptx::Operand& o, uint32_t bytes) {
  std::string name(text(o.index));
  if (o.selector != 0) name.append(".").append(text(o.selector));
  const SpecialFacts* facts = find_special(name);
  if (facts == nullptr) {
    refuse("special register " + name);
    return pool64(0);
  }
  const bool wide = facts->wide;
  if (wide != (bytes > 4)) refuse(name + " has another size");
  if (facts->read != nullptr) {
    Insn read;
    read.d = allocate(wide ? 8 : 4);
    read.all = read.some = read.one = facts->read;
    before(read);
    return read.d;
  }
  const auto [at, is_new] = specials_.try_emplace(name, 0);
  if (is_new) {
    at->second = allocate(wide ? 8 : 4);
    kernel_.specials.push_back({name, at->second, wide});
  }
  return at->second;
}

uint32_t Decoder::dst_of(const ptx::Operand& o, uint32_t bytes) {
  if (o.kind == OperandKind::sink) return allocate(bytes);
  if (o.kind != OperandKind::reg || o.is_negated || o.is_minus) {
    refuse("the result is no register");
    return allocate(bytes);
  }
  const ptx::Type type = type_of_register(o.index);
  const uint32_t size = ptx::bytes_of(type);
  if (type == ptx::Type::pred || (size <= 4 ? 4 : size) != (bytes <= 4 ? 4 : bytes)) {
    refuse("a register of another size");
    return allocate(bytes);
  }
  return word_of(o.index);
}

uint32_t Decoder::src_of(const ptx::Operand& o, Ty type) {
  const uint32_t bytes = bytes_of(type);
  const uint32_t dummy = bytes <= 4 ? pool32(0) : pool64(0);
  if (o.is_negated || o.is_minus) {
    refuse("a sign before a register");
    return dummy;
  }
  switch (o.kind) {
    case OperandKind::reg: {
      const ptx::Type have = type_of_register(o.index);
      const uint32_t size = ptx::bytes_of(have);
      if (have == ptx::Type::pred || (size <= 4 ? 4 : size) != (bytes <= 4 ? 4 : bytes)) {
        refuse("a register of another size");
        return dummy;
      }
      return word_of(o.index);
    }
    case OperandKind::integer:
    case OperandKind::f32:
    case OperandKind::f64: {
      const uint64_t bits = constant_bits(o, type);
      if (bytes > 8) break;
      return bytes > 4 ? pool64(bits) : pool32(static_cast<uint32_t>(bits));
    }
    case OperandKind::special:
      return special_of(o, bytes);
    case OperandKind::module_variable:
    case OperandKind::function_variable:
      return address_constant(storage_of(o, o.kind), o.value, bytes);
    default:
      break;
  }
  refuse("an operand that is neither register nor constant");
  return dummy;
}

uint32_t Decoder::pred_dst_of(const ptx::Operand& o) {
  if (o.kind == OperandKind::sink) return kNoOperand;
  if (o.kind == OperandKind::reg && type_of_register(o.index) == ptx::Type::pred) {
    return word_of(o.index);
  }
  refuse("the result is no predicate");
  return kNoOperand;
}

uint32_t Decoder::pred_src_of(const ptx::Operand& o) {
  if (o.kind == OperandKind::integer) {
    return pool32((o.value != 0) != o.is_negated ? 0xFFFFFFFF : 0);
  }
  if (o.kind != OperandKind::reg || type_of_register(o.index) != ptx::Type::pred) {
    refuse("an operand that is no predicate");
    return pool32(0);
  }
  if (!o.is_negated) return word_of(o.index);
  Insn negate;
  negate.d = allocate_predicate();
  negate.a = word_of(o.index);
  negate.all = negate.some = negate.one = negate_predicate;
  before(negate);
  return negate.d;
}

uint32_t Decoder::dst(int i, uint32_t bytes) {
  const ptx::Operand* o = operand(i);
  return o == nullptr ? kNoOperand : dst_of(*o, bytes);
}
uint32_t Decoder::src(int i, Ty type) {
  const ptx::Operand* o = operand(i);
  return o == nullptr ? pool64(0) : src_of(*o, type);
}
uint32_t Decoder::pred_dst(int i) {
  const ptx::Operand* o = operand(i);
  return o == nullptr ? kNoOperand : pred_dst_of(*o);
}
uint32_t Decoder::pred_src(int i) {
  const ptx::Operand* o = operand(i);
  return o == nullptr ? pool32(0) : pred_src_of(*o);
}

uint32_t Decoder::pair_dst(int i, int which, uint32_t bytes) {
  const ptx::Operand* o = operand(i);
  const ptx::Operand* p = o == nullptr ? nullptr : part(*o, which);
  if (p == nullptr || p->kind == OperandKind::sink) return kNoOperand;
  return dst_of(*p, bytes);
}
uint32_t Decoder::pair_pred_dst(int i, int which) {
  const ptx::Operand* o = operand(i);
  const ptx::Operand* p = o == nullptr ? nullptr : part(*o, which);
  return p == nullptr ? kNoOperand : pred_dst_of(*p);
}

void Decoder::address(int i) {
  const ptx::Operand* o = operand(i);
  if (o == nullptr) return;
  if (o->kind != OperandKind::address || o->count != 0) {
    refuse("an operand that is no address");
    return;
  }
  insn.imm = o->value;
  if (o->base == OperandKind::reg) {
    const uint32_t size = ptx::bytes_of(type_of_register(o->index));
    if (size != 4 && size != 8) refuse("an address has 32 or 64 bits");
    insn.a = word_of(o->index);
    if (size == 8) insn.flags |= kWideAddress;
    return;
  }
  if (o->base == OperandKind::integer) {
    insn.a = kNoOperand;
    return;
  }
  const Storage storage = storage_of(*o, o->base);
  if (storage.kind == Storage::Kind::buffer) {
    insn.a = address_constant(storage, o->value, 8);
    insn.imm = 0;
    insn.flags |= kWideAddress;
    return;
  }
  const uint64_t at = storage.offset + static_cast<uint64_t>(o->value);
  insn.a = kNoOperand;
  switch (storage.kind) {
    case Storage::Kind::shared:
      insn.flags |= kOwnShared;
      insn.imm = static_cast<int64_t>(kSharedWindow + at);
      break;
    case Storage::Kind::local:
      insn.imm = static_cast<int64_t>(kLocalWindow + at);
      break;
    case Storage::Kind::parameter:
      insn.imm = static_cast<int64_t>(kParamWindow + at);
      break;
    default:
      refuse("a variable that has no place: it is declared elsewhere");
  }
}

int Decoder::parts(int i) const {
  const ptx::Operand* o = peek(i);
  if (o == nullptr) return 0;
  return o->kind == OperandKind::vector ? static_cast<int>(o->count) : 1;
}
uint32_t Decoder::part_dst(int i, int j, uint32_t bytes) {
  const ptx::Operand* o = operand(i);
  const ptx::Operand* p = o == nullptr ? nullptr : part(*o, j);
  if (p == nullptr) refuse("a vector of another length");
  if (p == nullptr || p->kind == OperandKind::sink) return kNoOperand;
  return dst_of(*p, bytes);
}
uint32_t Decoder::part_src(int i, int j, Ty type) {
  const ptx::Operand* o = operand(i);
  const ptx::Operand* p = o == nullptr ? nullptr : part(*o, j);
  if (p == nullptr) {
    refuse("a vector of another length");
    return pool64(0);
  }
  return src_of(*p, type);
}
uint32_t Decoder::part_pred_src(int i, int j) {
  const ptx::Operand* o = operand(i);
  const ptx::Operand* p = o == nullptr ? nullptr : part(*o, j);
  return p == nullptr ? pool32(0) : pred_src_of(*p);
}
uint32_t Decoder::part_width(int i, int j) const {
  const ptx::Operand* o = peek(i);
  const ptx::Operand* p = o == nullptr ? nullptr : part(*o, j);
  if (p == nullptr || p->kind != OperandKind::reg) return 0;
  const uint32_t size = ptx::bytes_of(type_of_register(p->index));
  return size < 4 ? 4 : size;
}

bool Decoder::is_constant(int i) const {
  const ptx::Operand* o = peek(i);
  return o != nullptr && is_number(*o);
}
bool Decoder::is_address(int i) const {
  const ptx::Operand* o = peek(i);
  return o != nullptr && o->kind == OperandKind::address;
}
bool Decoder::is_sink(int i) const {
  const ptx::Operand* o = peek(i);
  return o != nullptr && o->kind == OperandKind::sink;
}
bool Decoder::is_predicate(int i) const {
  const ptx::Operand* o = peek(i);
  return o != nullptr && o->kind == OperandKind::reg &&
         type_of_register(o->index) == ptx::Type::pred;
}
bool Decoder::constant(int i, int64_t* value) {
  const ptx::Operand* o = operand(i);
  if (o == nullptr || o->kind != OperandKind::integer) {
    refuse("an operand that is no integer constant");
    return false;
  }
  *value = o->value;
  return true;
}

}  // namespace cohort::emu
