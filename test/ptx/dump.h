// Everything that a module says, as text, but for places. Written for comparing modules, and apart
// from the printer, whose mistakes it is to show.
#pragma once

#include <string>

#include "ptx/module.h"

namespace cohort::ptx {

class Dump {
 public:
  explicit Dump(const Module& module) : m_(module) {}

  std::string text() && {
    num(m_.version_major), num(m_.version_minor), num(m_.address_size);
    for (const Text t : m_.targets) txt(t);
    for (const File& f : m_.files) num(f.number), txt(f.name), num(f.time), num(f.size), line();
    for (const Item& i : m_.items) num(static_cast<int>(i.kind)), num(i.index), line();
    for (const Variable& v : m_.variables) variable(v);
    for (const Directive& d : m_.pragmas) directive(d);
    for (const Alias& a : m_.aliases) num(a.alias), num(a.aliasee), line();
    for (const Function& f : m_.functions) function(f);
    return std::move(out_);
  }

 private:
  template <class N>
  void num(N n) {
    out_ += std::to_string(n) + " ";
  }
  void txt(Text t) { out_ += "<" + std::string(m_.texts[t]) + "> "; }
  void line() { out_ += "\n"; }

  void variable(const Variable& v) {
    txt(v.name), num(int(v.space)), num(int(v.type)), num(v.vector), num(int(v.linkage));
    num(v.is_unsized), num(v.is_pointer), num(int(v.pointer_space)), num(v.pointer_alignment);
    num(v.alignment), txt(v.attribute), num(v.bytes), num(v.has_image);
    out_ += "[";
    for (const int64_t n : v.extents) num(n);
    out_ += "] {";
    for (const uint8_t b : v.image) num(b);
    out_ += "}";
    for (const Relocation& r : v.relocations) {
      num(r.offset), num(r.addend), num(r.bytes), num(r.symbol), num(r.is_function);
      num(r.is_generic), num(r.mask), line();
    }
    line();
  }
  void directive(const Directive& d) {
    txt(d.name);
    for (const int64_t n : d.numbers) num(n);
    for (const Text t : d.strings) txt(t);
    line();
  }
  void parameters(const std::vector<Parameter>& list) {
    for (const Parameter& p : list) num(p.is_register), num(p.index);
    line();
  }
  void operand(const Function& f, const Operand& o) {
    num(int(o.kind)), num(int(o.base)), num(o.is_negated), num(o.is_minus), num(o.is_unsigned);
    if (o.kind == OperandKind::special || o.base == OperandKind::special) {
      txt(o.index);
    } else {
      num(o.index);
    }
    txt(o.selector), num(o.value);
    operands(f, o.first, o.count);
  }
  void operands(const Function& f, uint32_t first, uint32_t count) {
    out_ += "(";
    for (uint32_t i = 0; i < count; ++i) operand(f, f.operands[first + i]);
    out_ += ")";
  }
  void location(uint32_t index) {
    if (index == kNone) return;
    const Location& l = m_.locations[index];
    num(l.file), num(l.line), num(l.column), txt(l.function_name), num(l.function_offset);
    num(l.inlined_file), num(l.inlined_line), num(l.inlined_column);
  }
  void function(const Function& f) {
    txt(f.name), num(f.is_entry), num(f.is_defined), num(int(f.linkage)), txt(f.attribute);
    parameters(f.results), parameters(f.parameters);
    for (const Directive& d : f.directives) directive(d);
    for (const RegisterDeclaration& r : f.register_declarations) {
      txt(r.name), num(int(r.type)), num(r.vector), num(r.is_range), num(r.count), line();
    }
    for (const Register& r : f.registers) num(r.declaration), num(r.element), line();
    for (const Variable& v : f.variables) variable(v);
    for (const Label& l : f.labels) txt(l.name), num(l.target), line();
    for (const auto* lists : {&f.branch_targets, &f.call_targets}) {
      for (const TargetList& t : *lists) txt(t.name), operands(f, t.first, t.count), line();
    }
    for (const Prototype& p : f.prototypes) {
      txt(p.name);
      for (const Variable& v : p.results) variable(v);
      for (const Variable& v : p.parameters) variable(v);
      for (const Directive& d : p.directives) directive(d);
    }
    for (const Directive& d : f.pragmas) directive(d);
    for (const Mark& m : f.marks) num(int(m.kind)), num(m.at), num(m.index), line();
    for (const Instruction& i : f.code) {
      const Opcode& o = m_.opcodes[i.opcode];
      txt(o.text);
      for (const Text t : o.modifiers) txt(t);
      num(i.guard), num(i.guard_negated), operands(f, i.first, i.count), location(i.location);
      line();
    }
  }

  const Module& m_;
  std::string out_;
};

inline std::string dump(const Module& module) { return Dump(module).text(); }

}  // namespace cohort::ptx
