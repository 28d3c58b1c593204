// Module level: the header, and what stands between functions.
#include <algorithm>

#include "ptx/reader.h"

namespace cohort::ptx {

namespace {

// "9.5" -> 9, 5. The lexer takes it for a decimal float.
bool split_version(std::string_view text, uint32_t& major, uint32_t& minor) {
  const size_t point = text.find('.');
  if (point == std::string_view::npos || point == 0 || point > 3 || text.size() - point > 4 ||
      text.size() == point + 1) {
    return false;
  }
  const auto number = [](std::string_view digits, uint32_t& n) {
    n = 0;
    for (const char c : digits) {
      if (c < '0' || c > '9') return false;
      n = n * 10 + static_cast<uint32_t>(c - '0');
    }
    return true;
  };
  return number(text.substr(0, point), major) && number(text.substr(point + 1), minor);
}

}  // namespace

void Reader::read_version() {
  advance();
  if (t_.kind != Token::Kind::f64 || !split_version(t_.text, m_.version_major, m_.version_minor)) {
    wanted("a version like 9.0");
    return;
  }
  advance();
}

void Reader::read_target() {
  advance();
  do {
    const Text name = take_name("a target like sm_100a");
    if (name == 0) return;
    m_.targets.push_back(name);
  } while (take(','));
}

void Reader::read_address_size() {
  advance();
  if (t_.kind != Token::Kind::integer || (t_.value != 32 && t_.value != 64)) {
    wanted("32 or 64");
    return;
  }
  m_.address_size = static_cast<uint32_t>(t_.value);
  advance();
}

void Reader::read_header() {
  if (t_.is_dotted(".version")) {
    read_version();
  } else {
    wanted(".version at the beginning");
  }
  if (t_.is_dotted(".target")) {
    read_target();
  } else {
    wanted(".target after .version");
  }
  if (t_.is_dotted(".address_size")) read_address_size();
}

Linkage Reader::take_linkage() {
  constexpr std::pair<std::string_view, Linkage> kLinkages[] = {
      {".visible", Linkage::visible},
      {".extern", Linkage::external},
      {".weak", Linkage::weak},
      {".common", Linkage::common},
  };
  for (const auto& [word, linkage] : kLinkages) {
    if (!t_.is_dotted(word)) continue;
    advance();
    return linkage;
  }
  return Linkage::none;
}

// What stands between the parentheses, without space: ".managed" is attribute(.managed).
Text Reader::take_attribute() {
  const Place place = t_.place;
  advance();
  if (!expect('(', "after .attribute")) return 0;
  std::string text;
  int64_t depth = 0;
  while (!at_end() && !(depth == 0 && t_.is(')'))) {
    if (t_.is('(')) ++depth;
    if (t_.is(')')) --depth;
    if (t_.is(';') || t_.is('{') || t_.is('}') || t_.kind == Token::Kind::string) break;
    text += t_.text;
    advance();
  }
  if (!expect(')', "after the attribute")) return 0;
  return intern(text, place);
}

void Reader::read_numbers(Directive& directive, size_t least, size_t most) {
  const auto begins_number = [&] {
    return t_.kind == Token::Kind::integer || t_.is('(') || t_.is('-') || t_.is_word("WARP_SZ");
  };
  if (least == 0 && !begins_number()) return;
  do {
    int64_t n = 0;
    if (!read_integer(n, "a number")) return;
    directive.numbers.push_back(n);
  } while (directive.numbers.size() < most && take(','));
  if (directive.numbers.size() < least) wanted("another number");
}

void Reader::read_pragma(std::vector<Directive>& pragmas) {
  Directive d{.name = intern(t_.text, t_.place)};
  advance();
  do {
    if (t_.kind != Token::Kind::string) {
      wanted("a string");
      skip_statement();
      return;
    }
    d.strings.push_back(intern(t_.text, t_.place));
    advance();
  } while (take(','));
  end_statement();
  pragmas.push_back(std::move(d));
}

void Reader::read_alias() {
  advance();
  Alias alias;
  for (uint32_t* which : {&alias.alias, &alias.aliasee}) {
    if (which == &alias.aliasee && !expect(',', "between the names")) return skip_statement();
    const Place place = t_.place;
    const Text name = take_name("the name of a function");
    if (name == 0) return skip_statement();
    const Symbol* s = symbols_.find(name);
    if (s == nullptr || s->kind != Symbol::Kind::function) {
      name_finding(place, m_.texts[name], "a declared function", "no function of that name");
    } else {
      *which = s->index;
    }
  }
  end_statement();
  m_.items.push_back({Item::Kind::alias, static_cast<uint32_t>(m_.aliases.size())});
  m_.aliases.push_back(alias);
}

void Reader::module_statement() {
  constexpr std::pair<std::string_view, Space> kSpaces[] = {
      {".global", Space::global}, {".const", Space::constant}, {".shared", Space::shared}};
  nesting_ = 0;
  const Linkage linkage = take_linkage();
  if (t_.is_dotted(".entry") || t_.is_dotted(".func")) {
    const bool is_entry = t_.is_dotted(".entry");
    advance();
    read_function(is_entry, linkage);
    return;
  }
  for (const auto& [word, space] : kSpaces) {
    if (!t_.is_dotted(word)) continue;
    advance();
    read_variables(space, linkage);
    return;
  }
  if (linkage != Linkage::none) {
    wanted("a function or a variable after its linkage");
  } else if (t_.is_dotted(".alias")) {
    return read_alias();
  } else if (t_.is_dotted(".pragma")) {
    m_.items.push_back({Item::Kind::pragma, static_cast<uint32_t>(m_.pragmas.size())});
    read_pragma(m_.pragmas);
    if (m_.items.back().index == m_.pragmas.size()) m_.items.pop_back();
    return;
  } else if (t_.is_dotted(".file")) {
    return read_file();
  } else if (t_.is_dotted(".loc")) {
    return read_location();
  } else if (t_.is_dotted(".section")) {
    return skip_section();
  } else if (t_.is('@') && lexer_.following() == '@') {
    lexer_.skip_line();  // @@DWARF, debug information of PTX 2
    return advance();
  } else if (take(';')) {
    return;
  } else {
    wanted("a function, a variable or a directive of a module");
  }
  if (t_.is('}')) advance();
  skip_statement();
}

}  // namespace cohort::ptx
