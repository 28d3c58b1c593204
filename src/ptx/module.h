// A PTX module as plain data, every name resolved. Opcodes and modifiers are texts here: which
// instructions exist is for the reader of a module to know.
//
// Indices: a Text counts in Module::texts; those of functions and module variables count in the
// module, all others in their Function. kNone means "none".
#pragma once

#include <cstdint>
#include <vector>

#include "ptx/texts.h"

namespace cohort::ptx {

/// Where something stands in the text: 1-based; columns count bytes.
struct Place {
  uint32_t line = 0;
  uint32_t column = 0;
};

enum class Space : uint8_t { reg, param, local, shared, global, constant };

/// Types that a declaration may have. Instructions have others, which are modifiers.
enum class Type : uint8_t {
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
  f32,
  f64,
  pred,
  texref,
  samplerref,
  surfref,
};

enum class Linkage : uint8_t { none, visible, external, weak, common };

/// `symbol` in an initialiser: `bytes` bytes at `offset` of the image are set to it.
struct Relocation {
  int64_t offset = 0;
  int64_t addend = 0;
  uint32_t bytes = 0;
  uint32_t symbol = kNone;
  bool is_function = false;
  bool is_generic = false;  ///< generic(symbol): its generic address
  uint64_t mask = 0;        ///< 0xff00(symbol): only these bits, moved down; 0 when there is none
};

struct Variable {
  Text name = 0;
  Space space = Space::param;
  Type type = Type::b32;
  uint8_t vector = 1;  ///< 2, 4 or 8 for .v2, .v4, .v8
  Linkage linkage = Linkage::none;
  bool is_unsized = false;  ///< `name[]` without an initialiser; its first extent counts as 0
  bool is_pointer = false;  ///< .ptr: a kernel parameter that points to ...
  Space pointer_space = Space::param;  ///< ... this space; param when none was given
  uint32_t pointer_alignment = 0;      ///< 0 when none was given
  uint32_t alignment = 0;              ///< in bytes; the natural one when none was given
  Text attribute = 0;                  ///< what stands in .attribute( )
  int64_t bytes = 0;
  std::vector<int64_t> extents;  ///< of an array; empty for a scalar or a vector
  bool has_image = false;
  std::vector<uint8_t> image;  ///< first bytes of the value; the others are 0
  std::vector<Relocation> relocations;
  Place place;
};

/// .maxntid 128, 1, 1 or .pragma "nounroll".
struct Directive {
  Text name = 0;  ///< with its dot
  std::vector<int64_t> numbers;
  std::vector<Text> strings;
};

/// .reg .b32 %r<10>. A name without <N> has is_range false and count 1.
struct RegisterDeclaration {
  Text name = 0;
  Type type = Type::b32;
  uint8_t vector = 1;
  bool is_range = false;
  uint32_t count = 1;
  Place place;
};

/// A register that is used: element `element` of a declaration.
struct Register {
  uint32_t declaration = 0;
  uint32_t element = 0;
};

enum class OperandKind : uint8_t {
  sink,               ///< _
  reg,                ///< `index`: Function::registers; `value`: what is added to it
  special,            ///< `index`: the text of a special register, "%tid"
  integer,            ///< `value`
  f32,                ///< 0f3f800000; `value`: its 32 bits
  f64,                ///< 0d... or a decimal literal; `value`: its 64 bits
  module_variable,    ///< `index`: Module::variables; `value`: what is added to its address
  function_variable,  ///< `index`: Function::variables; `value`: as above
  function,           ///< `index`: Module::functions
  label,              ///< `index`: Function::labels
  branch_targets,     ///< `index`: Function::branch_targets
  call_targets,       ///< `index`: Function::call_targets
  prototype,          ///< `index`: Function::prototypes
  address,            ///< [base + value, children...]
  element,            ///< base[child + value]: an element of an array
  vector,             ///< {children}
  pair,               ///< child|child
  list,               ///< (children)
  unresolved,         ///< within the parser only
};

struct Operand {
  OperandKind kind = OperandKind::sink;
  OperandKind base = OperandKind::integer;  ///< of address and element; integer: `value` alone
  bool is_negated = false;                  ///< !%p
  bool is_minus = false;                    ///< -%r
  bool is_unsigned = false;                 ///< of an integer: 5U, or too large for 63 bits
  uint32_t index = kNone;
  uint32_t first = 0;  ///< children: Function::operands[first ... first + count)
  uint32_t count = 0;
  Text selector = 0;  ///< "x" of %tid.x
  int64_t value = 0;
};

struct Opcode {
  Text text = 0;                ///< "ld.shared::cta.v4.b32"
  std::vector<Text> modifiers;  ///< "ld", "shared::cta", "v4", "b32"
};

/// .loc: the source line of the instructions that follow it.
struct Location {
  uint32_t file = 0;
  uint32_t line = 0;
  uint32_t column = 0;
  Text function_name = 0;  ///< the label in .debug_str; 0 when not inlined
  uint32_t function_offset = 0;
  uint32_t inlined_file = 0;  ///< where the inlined function was called
  uint32_t inlined_line = 0;
  uint32_t inlined_column = 0;

  bool operator==(const Location&) const = default;
};

struct Instruction {
  uint32_t opcode = 0;     ///< Module::opcodes
  uint32_t guard = kNone;  ///< Function::registers
  bool guard_negated = false;
  uint32_t first = 0;  ///< Function::operands[first ... first + count)
  uint32_t count = 0;
  uint32_t location = kNone;  ///< Module::locations
  Place place;
};

struct Label {
  Text name = 0;
  uint32_t target = 0;  ///< instruction that it stands before; may be the number of instructions
};

/// name: .branchtargets A, B; or name: .calltargets f, g;
struct TargetList {
  Text name = 0;
  uint32_t first = 0;  ///< labels or functions: Function::operands[first ... first + count)
  uint32_t count = 0;
};

struct Prototype {
  Text name = 0;
  std::vector<Variable> results;
  std::vector<Variable> parameters;
  std::vector<Directive> directives;
};

/// A formal parameter: a variable, or the declaration of a register.
struct Parameter {
  bool is_register = false;
  uint32_t index = 0;
};

/// What a body holds besides instructions, in the order of the text.
struct Mark {
  enum class Kind : uint8_t {
    open,
    close,
    registers,
    variable,
    label,
    branch_targets,
    call_targets,
    prototype,
    pragma,
  };
  Kind kind = Kind::open;
  uint32_t at = 0;  ///< the instruction that it stands before
  uint32_t index = kNone;
};

struct Function {
  Text name = 0;
  bool is_entry = false;
  bool is_defined = false;
  Linkage linkage = Linkage::none;
  Place place;
  Text attribute = 0;
  std::vector<Parameter> results;
  std::vector<Parameter> parameters;
  std::vector<Directive> directives;
  std::vector<RegisterDeclaration> register_declarations;
  std::vector<Register> registers;
  std::vector<Variable> variables;
  std::vector<Label> labels;
  std::vector<TargetList> branch_targets;
  std::vector<TargetList> call_targets;
  std::vector<Prototype> prototypes;
  std::vector<Directive> pragmas;
  std::vector<Instruction> code;
  std::vector<Operand> operands;
  std::vector<Mark> marks;
};

struct File {
  uint32_t number = 0;
  Text name = 0;
  bool has_stamp = false;
  uint64_t time = 0;
  uint64_t size = 0;
};

/// What a module holds, in the order of the text.
struct Item {
  enum class Kind : uint8_t { variable, declaration, definition, alias, pragma };
  Kind kind = Kind::variable;
  uint32_t index = 0;
};

struct Alias {
  uint32_t alias = kNone;
  uint32_t aliasee = kNone;
};

struct Module {
  Texts texts;
  uint32_t version_major = 0;
  uint32_t version_minor = 0;
  std::vector<Text> targets;   ///< "sm_100a", then options like "debug"
  uint32_t address_size = 32;  ///< 32 unless the text says 64
  std::vector<Item> items;
  std::vector<Variable> variables;
  std::vector<Function> functions;
  std::vector<Alias> aliases;
  std::vector<Directive> pragmas;
  std::vector<File> files;
  std::vector<Location> locations;
  std::vector<Opcode> opcodes;
};

}  // namespace cohort::ptx
