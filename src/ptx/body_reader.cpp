// Statements of a body: instructions, labels, declarations.
#include <utility>

#include "ptx/reader.h"

namespace cohort::ptx {

void Reader::mark(Mark::Kind kind, size_t index) {
  f_->marks.push_back({kind, static_cast<uint32_t>(f_->code.size()), static_cast<uint32_t>(index)});
}

void Reader::body_statement() {
  nesting_ = 0;
  if (t_.kind == Token::Kind::word) {
    read_instruction(false, kNone, false);
  } else if (t_.kind == Token::Kind::dotted) {
    body_directive();
  } else if (t_.is('@')) {
    read_guarded();
  } else if (!take(';')) {
    wanted("a statement");
    advance();
    skip_statement();
  }
}

// @p or @!p before an instruction.
void Reader::read_guarded() {
  if (lexer_.following() == '@') {
    lexer_.skip_line();  // @@DWARF
    return advance();
  }
  advance();
  const bool negated = take('!');
  uint32_t guard = kNone;
  if (t_.kind == Token::Kind::word) {
    const Found found = look_up(t_.text);
    const bool is_register =
        found.symbol != nullptr && (found.symbol->kind == Symbol::Kind::registers ||
                                    found.symbol->kind == Symbol::Kind::range);
    if (is_register) {
      guard = use_register(found);
    } else if (found.symbol == nullptr || found.symbol->kind != Symbol::Kind::unknown) {
      name_finding(t_.place, t_.text, "a declared predicate after '@'", "none of that name");
    }
    advance();
  } else {
    wanted("a predicate after '@'");
  }
  if (t_.kind == Token::Kind::word) return read_instruction(true, guard, negated);
  wanted("an instruction after its guard");
  skip_statement();
}

uint32_t Reader::opcode_number(std::string_view text, Place place) {
  const Text id = intern(text, place);
  if (id >= opcode_of_text_.size()) opcode_of_text_.resize(m_.texts.size(), kNone);
  if (opcode_of_text_[id] != kNone) return opcode_of_text_[id];
  Opcode opcode{.text = id, .modifiers = {}};
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find('.', begin), text.size());
    opcode.modifiers.push_back(intern(text.substr(begin, end - begin), place));
    begin = end + 1;
  }
  const auto number = static_cast<uint32_t>(m_.opcodes.size());
  opcode_of_text_[id] = number;
  m_.opcodes.push_back(std::move(opcode));
  return number;
}

void Reader::read_instruction(bool guarded, uint32_t guard, bool guard_negated) {
  const Place place = t_.place;
  const std::string_view word = t_.text;
  std::string_view opcode = lexer_.opcode(t_);
  if (!guarded && opcode.size() == word.size() && lexer_.at_colon()) {
    return read_label(word, place);
  }
  t_.text = opcode;
  advance();
  std::string apart;  // modifiers may stand apart
  while (t_.kind == Token::Kind::dotted) {
    if (apart.empty()) apart = opcode;
    apart += t_.text;
    advance();
  }
  if (!apart.empty()) opcode = apart;
  if (++instructions_ > options_.limits.instructions) {
    return limit(place, "instructions", options_.limits.instructions);
  }
  scratch_.clear();
  operands_ = 0;
  if (!t_.is(';')) {
    do {
      if (read_operand()) continue;
      skip_statement();
      return;
    } while (take(','));
  }
  const auto count = static_cast<uint32_t>(scratch_.size());
  const uint32_t first = settle(0);
  f_->code.push_back({.opcode = opcode_number(opcode, place),
                      .guard = guard,
                      .guard_negated = guard_negated,
                      .first = first,
                      .count = count,
                      .location = location_,
                      .place = place});
  end_statement();
}

// name: which may also name what follows on its line.
void Reader::read_label(std::string_view word, Place place) {
  const Text name = intern(word, place);
  advance();
  advance();
  if (t_.is_dotted(".branchtargets") || t_.is_dotted(".calltargets") ||
      t_.is_dotted(".callprototype")) {
    return read_named_directive(name, place);
  }
  if (!declare(Symbol::Kind::label, name, static_cast<uint32_t>(f_->labels.size()), place)) return;
  mark(Mark::Kind::label, f_->labels.size());
  f_->labels.push_back({name, static_cast<uint32_t>(f_->code.size())});
}

void Reader::read_named_directive(Text name, Place place) {
  const bool of_calls = t_.is_dotted(".calltargets");
  const bool is_prototype = t_.is_dotted(".callprototype");
  advance();
  if (is_prototype) return read_prototype(name, place);
  read_targets(name, place, of_calls);
}

void Reader::read_targets(Text name, Place place, bool of_calls) {
  scratch_.clear();
  operands_ = 0;
  do {
    const Place at = t_.place;
    const std::string_view word = t_.text;
    if (t_.kind != Token::Kind::word) {
      wanted(of_calls ? "the name of a function" : "a label");
      return skip_statement();
    }
    advance();
    if (!push_name(word, at)) return skip_statement();
  } while (take(','));
  TargetList list{.name = name, .count = static_cast<uint32_t>(scratch_.size())};
  list.first = settle(0);
  end_statement();
  auto& lists = of_calls ? f_->call_targets : f_->branch_targets;
  const size_t index = lists.size();
  if (!declare(of_calls ? Symbol::Kind::call_targets : Symbol::Kind::branch_targets, name,
               static_cast<uint32_t>(index), place)) {
    return;
  }
  mark(of_calls ? Mark::Kind::call_targets : Mark::Kind::branch_targets, index);
  lists.push_back(list);
}

void Reader::read_prototype(Text name, Place place) {
  Function f;
  if (t_.is('(')) read_parameters(f, f.results);
  const size_t results = f.variables.size();
  if (!take_word("_")) wanted("'_' where a function would have its name");
  if (t_.is('(')) read_parameters(f, f.parameters);
  read_function_directives(f.directives);
  end_statement();
  if (!f.register_declarations.empty()) {
    syntax(place, "parameters in .param", "a prototype with .reg");
    return;
  }
  const size_t index = f_->prototypes.size();
  if (!declare(Symbol::Kind::prototype, name, static_cast<uint32_t>(index), place)) return;
  Prototype p{.name = name, .results = {}, .parameters = {}, .directives = std::move(f.directives)};
  for (size_t i = 0; i < f.variables.size(); ++i) {
    (i < results ? p.results : p.parameters).push_back(std::move(f.variables[i]));
  }
  mark(Mark::Kind::prototype, index);
  f_->prototypes.push_back(std::move(p));
}

void Reader::body_directive() {
  constexpr std::pair<std::string_view, Space> kSpaces[] = {{".param", Space::param},
                                                            {".local", Space::local},
                                                            {".shared", Space::shared},
                                                            {".const", Space::constant},
                                                            {".global", Space::global}};
  if (t_.is_dotted(".loc")) return read_location();
  if (t_.is_dotted(".reg")) {
    advance();
    return read_registers();
  }
  if (t_.is_dotted(".pragma")) {
    mark(Mark::Kind::pragma, f_->pragmas.size());
    read_pragma(f_->pragmas);
    if (f_->marks.back().index == f_->pragmas.size()) f_->marks.pop_back();
    return;
  }
  const Linkage linkage = take_linkage();
  for (const auto& [word, space] : kSpaces) {
    if (!t_.is_dotted(word)) continue;
    advance();
    return read_variables(space, linkage);
  }
  if (t_.is_dotted(".file")) return read_file();
  if (t_.is_dotted(".section")) return skip_section();
  wanted("a directive of a body");
  advance();
  skip_statement();
}

// .reg .b32 a, %r<10>;
void Reader::read_registers() {
  Variable v{.space = Space::reg};
  if (!read_variable_head(v)) return skip_statement();
  do {
    RegisterDeclaration r{.type = v.type, .vector = v.vector, .place = t_.place};
    r.name = take_name("the name of a register");
    if (r.name == 0) return skip_statement();
    if (take('<')) {
      int64_t n = 0;
      const Place place = t_.place;
      if (t_.kind != Token::Kind::integer) {
        wanted("the number of registers");
        return skip_statement();
      }
      n = static_cast<int64_t>(t_.value);
      advance();
      if (!expect('>', "after the number of registers")) return skip_statement();
      if (n < 0 || n > options_.limits.registers) {
        return limit(place, "registers of one name", options_.limits.registers);
      }
      r.is_range = true;
      r.count = static_cast<uint32_t>(n);
    }
    const size_t index = f_->register_declarations.size();
    if (declare(r.is_range ? Symbol::Kind::range : Symbol::Kind::registers, r.name,
                static_cast<uint32_t>(index), r.place, r.count)) {
      mark(Mark::Kind::registers, index);
      f_->register_declarations.push_back(r);
    }
  } while (take(','));
  end_statement();
}

}  // namespace cohort::ptx
