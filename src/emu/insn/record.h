// The instruction table: one record per form of an instruction, and what its maker may ask for.
//
// A pattern is an opcode with alternatives "{u16,u32}" and optional parts "[.sat]". Each record
// stands beside its handlers in isa_FAMILY.cpp; that file is compiled for each ISA level, so
// records of all levels are equal but for the addresses of handlers.
#pragma once

#include <cstdint>
#include <string_view>

#include "emu/kernel.h"

namespace cohort::emu {

/// Types of operands, as the last modifiers of an opcode name them.
enum class Ty : uint8_t {
  none,
  b8,
  b16,
  b32,
  b64,
  b128,
  u8,
  u16,
  u32,
  u64,
  s8,
  s16,
  s32,
  s64,
  f16,
  f16x2,
  bf16,
  bf16x2,
  f32,
  f32x2,
  f64,
  pred,
  u16x2,
  s16x2,
  tf32,
  e4m3x2,
  e5m2x2,
  e2m3x2,
  e3m2x2,
  e2m1x2,
  ue8m0x2,
  e4m3x4,
  e5m2x4,
  e2m3x4,
  e3m2x4,
  e2m1x4,
};

/// The type that a modifier names, or none.
[[nodiscard]] Ty type_of(std::string_view modifier);
/// Bytes of a value of the type; 1 of a predicate.
[[nodiscard]] uint32_t bytes_of(Ty type);

/// One instruction that is being decoded. Whatever is asked for and is not there becomes a finding
/// about the instruction, and the answer is a harmless one.
class Build {
 public:
  virtual ~Build() = default;

  Insn insn;

  /// Whether the opcode has that modifier.
  [[nodiscard]] virtual bool has(std::string_view modifier) const = 0;
  /// The i-th modifier from the end: 0 is the last.
  [[nodiscard]] virtual std::string_view modifier(int from_end) const = 0;
  /// The type among the last modifiers: 0 is the last modifier.
  [[nodiscard]] virtual Ty type(int from_end = 0) const = 0;
  /// How many operands there are.
  [[nodiscard]] virtual int operands() const = 0;

  /// The register that operand i is; at least `bytes` wide, or as wide when `exact`.
  virtual uint32_t dst(int i, uint32_t bytes) = 0;
  /// A register or a constant of the type. A float type takes 0f and decimal constants.
  virtual uint32_t src(int i, Ty type) = 0;
  /// A predicate that is written; kNoOperand for "_".
  virtual uint32_t pred_dst(int i) = 0;
  /// A predicate that is read; "!" costs an instruction before this one.
  virtual uint32_t pred_src(int i) = 0;
  /// Parts of a pair "d|p": 0 or 1. A lone operand is part 0. kNoOperand when absent or "_".
  virtual uint32_t pair_dst(int i, int part, uint32_t bytes) = 0;
  virtual uint32_t pair_pred_dst(int i, int part) = 0;
  /// Operand i as an address: insn.a (kNoOperand: none) and insn.imm. Bit 0 of insn.flags: the
  /// register has 64 bits.
  virtual void address(int i) = 0;
  /// Number of parts of a vector operand; 1 of any other.
  [[nodiscard]] virtual int parts(int i) const = 0;
  /// Part j of a vector operand. A sink "_" among destinations is kNoOperand.
  virtual uint32_t part_dst(int i, int j, uint32_t bytes) = 0;
  virtual uint32_t part_src(int i, int j, Ty type) = 0;
  virtual uint32_t part_pred_src(int i, int j) = 0;
  /// Bytes of the register that part j is, 0 of a constant or sink.
  [[nodiscard]] virtual uint32_t part_width(int i, int j) const = 0;
  /// An integer constant.
  virtual bool constant(int i, int64_t* value) = 0;
  [[nodiscard]] virtual bool is_constant(int i) const = 0;
  [[nodiscard]] virtual bool is_sink(int i) const = 0;
  [[nodiscard]] virtual bool is_address(int i) const = 0;
  [[nodiscard]] virtual bool is_predicate(int i) const = 0;
  /// A constant of the pool.
  virtual uint32_t pool32(uint32_t value) = 0;
  virtual uint32_t pool64(uint64_t value) = 0;
  /// A register that no name of the text has.
  virtual uint32_t scratch(uint32_t bytes) = 0;
  /// Puts `insn` before this instruction, under the same guard.
  virtual void before(const Insn& insn) = 0;
  /// Keeps operands beyond those of Insn; returns Insn::list.
  virtual uint32_t extra(const uint32_t* words, int count) = 0;
  /// Operand i as the place that a branch goes to, a list of such places, or a call.
  virtual void branch(int i) = 0;
  virtual void branch_table(int i) = 0;
  virtual void call() = 0;
  /// ret: to the end of a function that was called, or the end of the lanes.
  virtual void leave() = 0;
  /// The form is one that no record means: says why.
  virtual void refuse(std::string_view why) = 0;

  void set(Handler all, Handler some, Handler one) {
    insn.all = all;
    insn.some = some;
    insn.one = one;
  }
  void set(Handler handler) { set(handler, handler, handler); }
};

struct Record {
  const char* pattern;
  const char* operands;  ///< as the PTX text writes them: "d, a, b[, c]"
  void (*make)(Build& build);
};

/// The records of a file.
struct Family {
  const char* name;
  const Record* records;
  int count;
};

struct Families {
  const Family* const* list;
  int count;
};

namespace v1 {
extern const Families kFamilies;
}
namespace v3 {
extern const Families kFamilies;
}
namespace v4 {
extern const Families kFamilies;
}

/// The table of the best level of this processor.
[[nodiscard]] const Families& families();

}  // namespace cohort::emu
