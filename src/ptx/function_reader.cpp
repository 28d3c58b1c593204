// Functions: name, parameters, directives; the body is body_reader.cpp's.
#include <utility>

#include "ptx/reader.h"

namespace cohort::ptx {

namespace {

struct DirectiveForm {
  std::string_view name;
  size_t least;
  size_t most;
};

// Directives between the parameters and the body, and how many numbers follow each.
constexpr DirectiveForm kFunctionDirectives[] = {
    {".maxntid", 1, 3},        {".reqntid", 1, 3},         {".minnctapersm", 1, 1},
    {".maxnctapersm", 1, 1},   {".maxnreg", 1, 1},         {".reqnctapercluster", 1, 3},
    {".maxclusterrank", 1, 1}, {".explicitcluster", 0, 0}, {".blocksareclusters", 0, 0},
    {".noreturn", 0, 0},       {".abi_preserve", 1, 1},    {".abi_preserve_control", 1, 1},
};

}  // namespace

// ( .param .u32 a, .reg .b32 %b )
void Reader::read_parameters(Function& f, std::vector<Parameter>& list) {
  if (!expect('(', "before the parameters")) return;
  if (take(')')) return;
  bool good = true;
  do {
    const bool is_register = t_.is_dotted(".reg");
    if (!is_register && !t_.is_dotted(".param")) {
      wanted(".param or .reg");
      good = false;
      break;
    }
    advance();
    Variable v{.space = is_register ? Space::reg : Space::param};
    good = read_variable_head(v) && read_name_and_extents(v);
    if (!good) break;
    count_declaration(v.place);
    if (is_register) {
      if (!v.extents.empty()) syntax(v.place, "a register", "an array");
      list.push_back({true, static_cast<uint32_t>(f.register_declarations.size())});
      f.register_declarations.push_back(
          {.name = v.name, .type = v.type, .vector = v.vector, .place = v.place});
    } else {
      list.push_back({false, static_cast<uint32_t>(f.variables.size())});
      f.variables.push_back(std::move(v));
    }
  } while (take(','));
  if (take(')')) return;
  if (good) wanted("',' or ')' after a parameter");
  while (!at_end() && !t_.is(')') && !t_.is('{') && !t_.is(';')) advance();
  take(')');
}

void Reader::read_function_directives(std::vector<Directive>& directives) {
  while (t_.kind == Token::Kind::dotted) {
    if (t_.is_dotted(".pragma")) {
      read_pragma(directives);
      continue;
    }
    const DirectiveForm* form = nullptr;
    for (const DirectiveForm& f : kFunctionDirectives) {
      if (t_.text == f.name) form = &f;
    }
    if (form == nullptr) {
      wanted("a directive of a function");
      advance();
      while (t_.kind == Token::Kind::integer || t_.is(',')) advance();
      continue;
    }
    Directive d{.name = intern(t_.text, t_.place)};
    advance();
    if (form->most > 0) read_numbers(d, form->least, form->most);
    directives.push_back(std::move(d));
  }
}

bool Reader::same_signature(const Function& a, const Function& b) const {
  const auto same = [&](const std::vector<Parameter>& p, const std::vector<Parameter>& q) {
    if (p.size() != q.size()) return false;
    for (size_t i = 0; i < p.size(); ++i) {
      if (p[i].is_register != q[i].is_register) return false;
      if (p[i].is_register) continue;
      const Variable& v = a.variables[p[i].index];
      const Variable& w = b.variables[q[i].index];
      if (v.bytes != w.bytes || v.is_unsized != w.is_unsized) return false;
    }
    return true;
  };
  return a.is_entry == b.is_entry && same(a.results, b.results) && same(a.parameters, b.parameters);
}

uint32_t Reader::place_function(const Function& f, bool has_body) {
  const auto next = static_cast<uint32_t>(m_.functions.size());
  const Symbol* s = symbols_.find(f.name);
  if (s != nullptr && s->kind == Symbol::Kind::function) {
    const Function& earlier = m_.functions[s->index];
    if (has_body && earlier.is_defined) {
      name_finding(f.place, m_.texts[f.name], "one body for each function",
                   "a second; the first is at " + where(earlier.place));
    } else if (!same_signature(f, earlier)) {
      name_finding(f.place, m_.texts[f.name],
                   "the parameters of its declaration at " + where(earlier.place), "others");
    }
    return s->index;
  }
  declare(Symbol::Kind::function, f.name, next, f.place);
  m_.functions.emplace_back();
  return next;
}

void Reader::declare_parameters(const Function& f) {
  for (const auto* list : {&f.results, &f.parameters}) {
    for (const Parameter& p : *list) {
      if (p.is_register) {
        const RegisterDeclaration& r = f.register_declarations[p.index];
        declare(Symbol::Kind::registers, r.name, p.index, r.place);
      } else {
        const Variable& v = f.variables[p.index];
        declare(Symbol::Kind::function_variable, v.name, p.index, v.place);
      }
    }
  }
}

void Reader::read_function(bool is_entry, Linkage linkage) {
  Function f;
  f.is_entry = is_entry;
  f.linkage = linkage;
  if (t_.is_dotted(".attribute")) f.attribute = take_attribute();
  if (t_.is('(')) read_parameters(f, f.results);
  if (is_entry && !f.results.empty()) syntax(t_.place, "an .entry without results", "some");
  f.place = t_.place;
  f.name = take_name("the name of a function");
  if (t_.is('(')) read_parameters(f, f.parameters);
  read_function_directives(f.directives);
  const bool has_body = t_.is('{');
  if (f.name == 0) {
    skip_statement();
    return;
  }
  const uint32_t index = place_function(f, has_body);
  m_.items.push_back({has_body ? Item::Kind::definition : Item::Kind::declaration, index});
  if (has_body) {
    f.is_defined = true;
    read_body(f);
  } else {
    end_statement();
  }
  if (stopped_ || m_.functions[index].is_defined) return;
  m_.functions[index] = std::move(f);
}

void Reader::read_body(Function& f) {
  f_ = &f;
  location_ = kNone;
  open_scope();
  declare_parameters(f);
  const Place begin = t_.place;
  const uint32_t outside = symbols_.depth() - 1;
  advance();
  while (!at_end() && symbols_.depth() > outside) {
    if (t_.is('{')) {
      if (symbols_.depth() >= options_.limits.depth) {
        limit(t_.place, "nested scopes", options_.limits.depth);
        break;
      }
      mark(Mark::Kind::open, kNone);
      open_scope();
      advance();
    } else if (t_.is('}')) {
      close_scope();
      if (symbols_.depth() > outside) mark(Mark::Kind::close, kNone);
      advance();
    } else {
      body_statement();
    }
  }
  if (symbols_.depth() > outside) {
    syntax(t_.place, "'}' that ends the body begun at " + where(begin), "the end of the text");
    while (symbols_.depth() > outside) close_scope();
  }
  report_open_references();
  declaration_base_ += f.register_declarations.size();
  f_ = nullptr;
}

}  // namespace cohort::ptx
