// A kernel as the machine runs it: decoded once, immutable, shared by all runs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ptx/module.h"

namespace cohort::emu {

struct Warp;
struct Insn;

/// What the loop of a warp does after a handler.
enum class Next : uint8_t {
  go,     ///< The next instruction.
  yield,  ///< The next instruction, after others had a turn: a poll that found nothing.
  again,  ///< The same instruction, once anything in the machine has changed (Warp::cur.wait).
  park,   ///< The same instruction, with Fragment::resumed, once somebody called wake().
  stop,   ///< The run ends: a fault was reported.
};

/// Executes an instruction for some lanes, at least one.
using Handler = Next (*)(Warp& warp, const Insn& insn, uint32_t lanes);

/// What the loop of a warp does itself.
enum class Flow : uint8_t {
  none,
  branch,    ///< To `target`.
  table,     ///< brx.idx: to extra[list + index].
  exit,      ///< The lanes end.
  together,  ///< The handler waits for the live lanes of the mask `members`, or kAllLanes.
};

/// Bit 31 of an operand: it stands in the pool of constants, not in the registers.
inline constexpr uint32_t kPool = 0x80000000;
inline constexpr uint32_t kNoOperand = 0xFFFFFFFF;
/// Insn::members of .aligned instructions.
inline constexpr uint32_t kAllLanes = 0xFFFFFFFE;
/// Insn::flags of instructions with an address.
inline constexpr uint8_t kWideAddress = 1;  ///< The register `a` has 64 bits.
inline constexpr uint8_t kOwnShared = 2;    ///< `imm` counts from the CTA's own window.
/// Insn::flags of Flow::together: any instruction with the same handler will do.
inline constexpr uint8_t kMeetAnywhere = 4;

/// What an access does beside moving bytes.
enum class MemoryOrder : uint8_t { weak, relaxed, acquire, release, both };

/// One decoded instruction. Operands are word offsets: 32 words of a register of at most 32 bits,
/// 64 or 128 of a wider one, one word (a bit a lane) of a predicate.
struct Insn {
  Handler all = nullptr;   ///< When all 32 lanes execute it.
  Handler some = nullptr;  ///< Two lanes or more.
  Handler one = nullptr;   ///< One lane.
  uint32_t d = kNoOperand;
  uint32_t a = kNoOperand;
  uint32_t b = kNoOperand;
  uint32_t c = kNoOperand;
  uint32_t e = kNoOperand;
  uint32_t guard = kNoOperand;
  uint32_t target = 0;  ///< Of branches; free for handlers of others.
  uint32_t members = kNoOperand;
  uint32_t list = 0;  ///< Kernel::extra: further operands.
  uint16_t count = 0;
  Flow flow = Flow::none;
  bool guard_negated = false;
  uint8_t bytes = 0;   ///< Memory: of one element. Free for handlers of others.
  uint8_t flags = 0;   ///< As the family says.
  uint8_t mode = 0;    ///< As the family says.
  uint8_t scope = 0;   ///< A Scope.
  uint8_t order = 0;   ///< A MemoryOrder.
  uint8_t window = 0;  ///< Bits 32 up of an address that names none: see machine.h. 0: generic.
  int64_t imm = 0;
};

/// Where an instruction came from.
struct Source {
  uint32_t line = 0;  ///< Of the PTX text.
  uint32_t file = 0;  ///< .loc; Kernel::files. 0: none.
  uint32_t file_line = 0;
  uint32_t opcode = 0;  ///< Kernel::opcodes.
};

/// A parameter of the kernel in its block of argument bytes.
struct ParameterSlot {
  std::string name;
  uint32_t offset = 0;
  uint32_t bytes = 0;
  bool is_pointer = false;
};

/// A .global or .const variable of the module: a buffer of the run.
struct ModuleBuffer {
  std::string name;
  uint64_t bytes = 0;
  std::vector<uint8_t> image;
  std::vector<ptx::Relocation> relocations;  ///< Of the module's variables.
  uint32_t variable = 0;                     ///< Module::variables.
  bool read_only = false;
};

/// A place of the constant pool that holds the address of a module buffer, known at launch.
struct BufferAddress {
  uint32_t word = 0;  ///< Of 64 words.
  uint32_t buffer = 0;
  int64_t addend = 0;
};

/// A place of the constant pool that holds an address of the CTA's own shared memory.
struct SharedAddress {
  uint32_t word = 0;
  bool wide = false;  ///< 64 words, not 32.
};

/// A special register that is the same for the whole run of a thread.
struct SpecialSlot {
  std::string name;  ///< "%tid.x"
  uint32_t word = 0;
  bool wide = false;
};

struct Kernel {
  std::string name;
  const void* module = nullptr;  ///< Kernels of one module share its variables. Never followed.
  std::vector<Insn> code;
  std::vector<Source> source;  ///< As many as code.
  std::vector<std::string> opcodes;
  std::vector<std::string> files;
  std::vector<uint32_t> extra;
  /// Words of the registers that instruction i names: uses[use_begin[i]] to uses[use_begin[i + 1]].
  std::vector<uint32_t> uses;
  std::vector<uint32_t> use_begin = {0};
  std::vector<uint32_t> pool;
  std::vector<BufferAddress> pool_buffers;
  std::vector<SharedAddress> pool_shared;
  std::vector<SpecialSlot> specials;
  std::vector<ParameterSlot> parameters;
  std::vector<ModuleBuffer> buffers;
  uint32_t words = 0;            ///< Of the registers of a warp, predicates included.
  uint32_t parameter_bytes = 0;  ///< Of the argument block.
  uint64_t shared_bytes = 0;     ///< Static, reserved bytes included.
  uint32_t dynamic_alignment = 16;
  uint64_t local_bytes = 0;                  ///< Of a thread.
  uint32_t max_threads[3] = {0, 0, 0};       ///< .maxntid; 0: none
  uint32_t required_threads[3] = {0, 0, 0};  ///< .reqntid
  uint32_t required_cluster[3] = {0, 0, 0};  ///< .reqnctapercluster
  uint32_t registers = 0;                    ///< .maxnreg, or 0.
  std::vector<std::string> targets;
};

}  // namespace cohort::emu
