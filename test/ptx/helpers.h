// What the tests of this room share: texts around a body, and what reading them says.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "ptx/dump.h"
#include "ptx/parse.h"
#include "ptx/print.h"

namespace cohort::ptx {

/// A module with these statements at its level.
inline std::string module_text(std::string_view statements) {
  return ".version 9.0\n.target sm_100a\n.address_size 64\n" + std::string(statements);
}

/// A module with one kernel; its statements begin on line 5.
inline std::string kernel_text(std::string_view statements, std::string_view before = {}) {
  return module_text(std::string(before) +
                     ".entry k(.param .u64 out, .param .u32 n) { .reg .b32 %r<10>; "
                     ".reg .b64 %rd<5>; .reg .pred %p<3>; .reg .f32 %f<4>;\n" +
                     std::string(statements) + "\n}\n");
}

/// The module. Fails the test when there is none, or when its own text reads as another module.
inline Module read(const std::string& text) {
  Result<Module> module = parse(text, {.name = "t"});
  if (!module) {
    ADD_FAILURE() << module.findings().text() << "\n" << text;
    return {};
  }
  const std::string printed = print(*module);
  const Result<Module> again = parse(printed, {.name = "printed"});
  EXPECT_TRUE(static_cast<bool>(again)) << again.findings().text() << "\n" << printed;
  if (again) {
    EXPECT_EQ(dump(*module), dump(*again)) << printed;
    EXPECT_EQ(print(*again), printed);
  }
  return *std::move(module);
}

inline Module read_kernel(std::string_view statements, std::string_view before = {}) {
  return read(kernel_text(statements, before));
}

/// The findings as text; empty, and a failure of the test, when there are none.
inline std::string said_of(const std::string& text, const Limits& limits = {}) {
  const Result<Module> module = parse(text, {.name = "t", .limits = limits});
  if (module) {
    ADD_FAILURE() << "accepted: " << text.substr(0, 200);
    return {};
  }
  return std::string(module.findings().text());
}

inline std::string said_of_kernel(std::string_view statements) {
  return said_of(kernel_text(statements));
}

/// The i-th instruction of the last function, and parts of it.
struct Statement {
  const Module& module;
  const Function& function;
  const Instruction& instruction;

  Statement(const Module& m, size_t i)
      : module(m), function(m.functions.back()), instruction(m.functions.back().code.at(i)) {}

  std::string opcode() const { return text(module.opcodes[instruction.opcode].text); }
  std::string text(Text t) const { return std::string(module.texts[t]); }
  const Operand& operand(size_t i) const {
    EXPECT_LT(i, instruction.count);
    return function.operands.at(instruction.first + i);
  }
  const Operand& child(const Operand& o, size_t i) const {
    EXPECT_LT(i, o.count);
    return function.operands.at(o.first + i);
  }
  /// "%r3"
  std::string register_of(const Operand& o) const {
    const Register r = function.registers.at(o.index);
    const RegisterDeclaration& d = function.register_declarations.at(r.declaration);
    return text(d.name) + (d.is_range ? std::to_string(r.element) : "");
  }
};

}  // namespace cohort::ptx
