// Operands.
#include <array>

#include "ptx/printer.h"

namespace cohort::ptx {

void Printer::number(int64_t value) { out_ += std::to_string(value); }

void Printer::bits(uint64_t value, int digits, std::string_view prefix) {
  out_ += prefix;
  for (int i = digits - 1; i >= 0; --i) out_ += "0123456789abcdef"[value >> (4 * i) & 15];
}

void Printer::offset(int64_t value) {
  if (value == 0) return;
  out_ += "+";
  number(value);
}

void Printer::register_name(const Function& f, uint32_t index) {
  const Register& r = f.registers[index];
  const RegisterDeclaration& d = f.register_declarations[r.declaration];
  text(d.name);
  if (d.is_range) out_ += std::to_string(r.element);
}

void Printer::name(const Function& f, OperandKind kind, uint32_t index, Text selector) {
  switch (kind) {
    case OperandKind::reg:
      register_name(f, index);
      break;
    case OperandKind::special:
      text(index);
      break;
    case OperandKind::module_variable:
      text(m_.variables[index].name);
      break;
    case OperandKind::function_variable:
      text(f.variables[index].name);
      break;
    case OperandKind::function:
      text(m_.functions[index].name);
      break;
    case OperandKind::label:
      text(f.labels[index].name);
      break;
    case OperandKind::branch_targets:
      text(f.branch_targets[index].name);
      break;
    case OperandKind::call_targets:
      text(f.call_targets[index].name);
      break;
    case OperandKind::prototype:
      text(f.prototypes[index].name);
      break;
    default:
      out_ += "_";
      break;
  }
  if (selector == 0) return;
  out_ += ".";
  text(selector);
}

void Printer::operands(const Function& f, uint32_t first, uint32_t count,
                       std::string_view between) {
  for (uint32_t i = 0; i < count; ++i) {
    if (i > 0) out_ += between;
    operand(f, f.operands[first + i]);
  }
}

void Printer::operand(const Function& f, const Operand& o) {
  if (o.is_negated) out_ += "!";
  if (o.is_minus) out_ += "-";
  switch (o.kind) {
    case OperandKind::integer:
      if (o.is_unsigned) {
        out_ += std::to_string(static_cast<uint64_t>(o.value)) + "U";
      } else {
        number(o.value);
      }
      break;
    case OperandKind::f32:
      bits(static_cast<uint64_t>(o.value), 8, "0f");
      break;
    case OperandKind::f64:
      bits(static_cast<uint64_t>(o.value), 16, "0d");
      break;
    case OperandKind::address:
      out_ += "[";
      if (o.base == OperandKind::integer) {
        number(o.value);
      } else {
        name(f, o.base, o.index, o.selector);
        offset(o.value);
      }
      if (o.count > 0) out_ += ", ";
      operands(f, o.first, o.count, ", ");
      out_ += "]";
      break;
    case OperandKind::element:
      name(f, o.base, o.index, 0);
      out_ += "[";
      operands(f, o.first, o.count, "");
      if (o.count == 0) number(o.value);
      if (o.count != 0) offset(o.value);
      out_ += "]";
      break;
    case OperandKind::vector:
    case OperandKind::list:
      out_ += o.kind == OperandKind::vector ? "{" : "(";
      operands(f, o.first, o.count, ", ");
      out_ += o.kind == OperandKind::vector ? "}" : ")";
      break;
    case OperandKind::pair:
      operands(f, o.first, o.count, "|");
      break;
    default:
      name(f, o.kind, o.index, o.selector);
      offset(o.value);
      break;
  }
}

}  // namespace cohort::ptx
