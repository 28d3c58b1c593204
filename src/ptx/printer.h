// The printer's inside: print.cpp has modules and functions, print_variable.cpp declarations,
// print_operand.cpp operands.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ptx/module.h"

namespace cohort::ptx {

class Printer {
 public:
  explicit Printer(const Module& module) : m_(module) {}
  [[nodiscard]] std::string print() &&;

 private:
  void header();
  void item(const Item& item);
  void function_head(const Function& f);
  void parameters(const Function& f, const std::vector<Parameter>& list);
  void body(const Function& f);
  void mark(const Function& f, const Mark& mark);
  void targets(const Function& f, const TargetList& list, std::string_view directive);
  void prototype(const Prototype& p);
  void directive(const Directive& d);
  void location(uint32_t index);
  void instruction(const Function& f, const Instruction& i);

  void variable(const Variable& v);
  void variable_head(const Variable& v);
  void registers(const RegisterDeclaration& r);
  void image(const Variable& v);
  void image_level(const Variable& v, const std::vector<int64_t>& extents, size_t level,
                   int64_t first, size_t& relocation);
  void image_value(const Variable& v, int64_t position, size_t& relocation);

  void operand(const Function& f, const Operand& o);
  void operands(const Function& f, uint32_t first, uint32_t count, std::string_view between);
  /// What a name says: register, variable, label, ...
  void name(const Function& f, OperandKind kind, uint32_t index, Text selector);
  void register_name(const Function& f, uint32_t index);
  void offset(int64_t value);
  void number(int64_t value);
  void bits(uint64_t value, int digits, std::string_view prefix);
  void text(Text text) { out_ += m_.texts[text]; }

  const Module& m_;
  std::string out_;
};

}  // namespace cohort::ptx
