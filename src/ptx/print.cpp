// Modules, functions and statements.
#include "ptx/print.h"

#include <utility>

#include "ptx/printer.h"

namespace cohort::ptx {

namespace {

std::string_view name_of(Linkage linkage) {
  switch (linkage) {
    case Linkage::visible:
      return ".visible ";
    case Linkage::external:
      return ".extern ";
    case Linkage::weak:
      return ".weak ";
    case Linkage::common:
      return ".common ";
    default:
      return "";
  }
}

}  // namespace

std::string print(const Module& module) { return Printer(module).print(); }

std::string Printer::print() && {
  header();
  for (const Item& i : m_.items) item(i);
  return std::move(out_);
}

void Printer::header() {
  out_ += ".version " + std::to_string(m_.version_major) + "." + std::to_string(m_.version_minor);
  out_ += "\n.target ";
  for (size_t i = 0; i < m_.targets.size(); ++i) {
    if (i > 0) out_ += ", ";
    text(m_.targets[i]);
  }
  out_ += "\n.address_size " + std::to_string(m_.address_size) + "\n";
  for (const File& f : m_.files) {
    out_ += ".file " + std::to_string(f.number) + " \"";
    text(f.name);
    out_ += "\"";
    if (f.has_stamp) out_ += ", " + std::to_string(f.time) + ", " + std::to_string(f.size);
    out_ += "\n";
  }
}

void Printer::item(const Item& item) {
  switch (item.kind) {
    case Item::Kind::variable:
      out_ += name_of(m_.variables[item.index].linkage);
      variable(m_.variables[item.index]);
      out_ += ";\n";
      break;
    case Item::Kind::declaration:
      function_head(m_.functions[item.index]);
      out_ += ";\n";
      break;
    case Item::Kind::definition:
      function_head(m_.functions[item.index]);
      out_ += "{\n";
      body(m_.functions[item.index]);
      out_ += "}\n";
      break;
    case Item::Kind::alias:
      out_ += ".alias ";
      text(m_.functions[m_.aliases[item.index].alias].name);
      out_ += ", ";
      text(m_.functions[m_.aliases[item.index].aliasee].name);
      out_ += ";\n";
      break;
    case Item::Kind::pragma:
      directive(m_.pragmas[item.index]);
      break;
  }
}

void Printer::function_head(const Function& f) {
  out_ += name_of(f.linkage);
  out_ += f.is_entry ? ".entry " : ".func ";
  if (f.attribute != 0) {
    out_ += ".attribute(";
    text(f.attribute);
    out_ += ") ";
  }
  if (!f.results.empty()) {
    parameters(f, f.results);
    out_ += " ";
  }
  text(f.name);
  parameters(f, f.parameters);
  out_ += "\n";
  for (const Directive& d : f.directives) directive(d);
}

void Printer::parameters(const Function& f, const std::vector<Parameter>& list) {
  out_ += "(";
  for (size_t i = 0; i < list.size(); ++i) {
    if (i > 0) out_ += ", ";
    if (list[i].is_register) {
      registers(f.register_declarations[list[i].index]);
    } else {
      variable(f.variables[list[i].index]);
    }
  }
  out_ += ")";
}

void Printer::directive(const Directive& d) {
  text(d.name);
  for (size_t i = 0; i < d.numbers.size(); ++i) {
    out_ += i == 0 ? " " : ", ";
    number(d.numbers[i]);
  }
  for (size_t i = 0; i < d.strings.size(); ++i) {
    out_ += i == 0 ? " \"" : ", \"";
    text(d.strings[i]);
    out_ += "\"";
  }
  out_ += d.strings.empty() ? "\n" : ";\n";
}

void Printer::body(const Function& f) {
  size_t next_mark = 0;
  uint32_t location_now = kNone;
  for (size_t i = 0; i <= f.code.size(); ++i) {
    for (; next_mark < f.marks.size() && f.marks[next_mark].at == i; ++next_mark) {
      mark(f, f.marks[next_mark]);
    }
    if (i == f.code.size()) break;
    const Instruction& instruction_now = f.code[i];
    if (instruction_now.location != location_now) {
      location_now = instruction_now.location;
      location(location_now);
    }
    instruction(f, instruction_now);
  }
}

void Printer::mark(const Function& f, const Mark& mark) {
  switch (mark.kind) {
    case Mark::Kind::open:
      out_ += "{\n";
      break;
    case Mark::Kind::close:
      out_ += "}\n";
      break;
    case Mark::Kind::registers:
      registers(f.register_declarations[mark.index]);
      out_ += ";\n";
      break;
    case Mark::Kind::variable:
      out_ += name_of(f.variables[mark.index].linkage);
      variable(f.variables[mark.index]);
      out_ += ";\n";
      break;
    case Mark::Kind::label:
      text(f.labels[mark.index].name);
      out_ += ":\n";
      break;
    case Mark::Kind::branch_targets:
      targets(f, f.branch_targets[mark.index], ".branchtargets");
      break;
    case Mark::Kind::call_targets:
      targets(f, f.call_targets[mark.index], ".calltargets");
      break;
    case Mark::Kind::prototype:
      prototype(f.prototypes[mark.index]);
      break;
    case Mark::Kind::pragma:
      directive(f.pragmas[mark.index]);
      break;
  }
}

void Printer::targets(const Function& f, const TargetList& list, std::string_view directive) {
  text(list.name);
  out_ += ": ";
  out_ += directive;
  out_ += " ";
  operands(f, list.first, list.count, ", ");
  out_ += ";\n";
}

void Printer::prototype(const Prototype& p) {
  const auto list = [&](const std::vector<Variable>& variables) {
    out_ += "(";
    for (size_t i = 0; i < variables.size(); ++i) {
      if (i > 0) out_ += ", ";
      variable(variables[i]);
    }
    out_ += ")";
  };
  text(p.name);
  out_ += ": .callprototype ";
  if (!p.results.empty()) list(p.results);
  out_ += " _ ";
  list(p.parameters);
  for (const Directive& d : p.directives) {
    out_ += " ";
    directive(d);
  }
  out_ += ";\n";
}

void Printer::location(uint32_t index) {
  const Location& l = m_.locations[index];
  out_ += ".loc " + std::to_string(l.file) + " " + std::to_string(l.line) + " " +
          std::to_string(l.column);
  if (l.function_name != 0) {
    out_ += ", function_name ";
    text(l.function_name);
    if (l.function_offset != 0) out_ += "+" + std::to_string(l.function_offset);
  }
  if (l.inlined_file != 0 || l.inlined_line != 0 || l.inlined_column != 0) {
    out_ += ", inlined_at " + std::to_string(l.inlined_file) + " " +
            std::to_string(l.inlined_line) + " " + std::to_string(l.inlined_column);
  }
  out_ += "\n";
}

void Printer::instruction(const Function& f, const Instruction& i) {
  if (i.guard != kNone) {
    out_ += i.guard_negated ? "@!" : "@";
    register_name(f, i.guard);
    out_ += " ";
  }
  text(m_.opcodes[i.opcode].text);
  if (i.count > 0) out_ += " ";
  operands(f, i.first, i.count, ", ");
  out_ += ";\n";
}

}  // namespace cohort::ptx
