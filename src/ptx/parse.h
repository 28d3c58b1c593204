// The door of this room: PTX text in, a module or findings out.
#pragma once

#include <cstdint>
#include <string_view>

#include <cohort/status.h>

#include "ptx/module.h"

namespace cohort::ptx {

/// What a text may hold. Time is linear in its bytes, and so is memory, whatever it says.
struct Limits {
  int64_t bytes = int64_t{64} << 20;        ///< of the text
  int64_t name_bytes = 64 << 10;            ///< of one name, opcode or string
  int64_t names = 4 << 20;                  ///< distinct names and opcodes
  int64_t declarations = 1 << 20;           ///< functions, variables, parameters, registers
  int64_t instructions = 8 << 20;           ///< of all functions
  int64_t operands = 4096;                  ///< of one instruction, parts of vectors included
  int64_t registers = int64_t{1} << 31;     ///< N of a register %r<N>, which costs nothing
  int64_t depth = 64;                       ///< of scopes, expressions, operands, initialisers
  int64_t image_bytes = int64_t{64} << 20;  ///< of all initialisers
};

struct ParseOptions {
  std::string_view name = "ptx";  ///< stands before line and column in findings: "k.ptx:12:7"
  Limits limits;
};

/// Reads a module. Failure lists every finding: kind `file` (the text is no PTX that holds
/// together) or `limit`. Throws only std::bad_alloc.
[[nodiscard]] Result<Module> parse(std::string_view text, const ParseOptions& options = {});

}  // namespace cohort::ptx
