// Tokens, findings and names of the parser.
#include "ptx/reader.h"

#include <algorithm>

namespace cohort::ptx {

namespace {

constexpr size_t kShownBytes = 60;

std::string shown(std::string_view text) {
  if (text.size() <= kShownBytes) return std::string(text);
  return std::string(text.substr(0, kShownBytes)) + "...";
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

Reader::Reader(std::string_view text, const ParseOptions& options)
    : options_(options), lexer_(text) {
  if (static_cast<int64_t>(text.size()) > options_.limits.bytes) {
    limit({1, 1}, "bytes of text", options_.limits.bytes);
  }
  advance();
}

void Reader::advance() {
  last_end_ = {t_.place.line, t_.place.column + static_cast<uint32_t>(t_.text.size())};
  for (;;) {
    t_ = lexer_.next();
    if (t_.fault != nullptr) syntax(t_.place, {}, t_.fault);
    if (t_.kind != Token::Kind::bad) return;
  }
}

bool Reader::take(char c) {
  if (!t_.is(c)) return false;
  advance();
  return true;
}

bool Reader::take_word(std::string_view word) {
  if (!t_.is_word(word)) return false;
  advance();
  return true;
}

bool Reader::expect(char c, std::string_view where) {
  if (take(c)) return true;
  if (has_room()) {
    wanted("'" + std::string(1, c) + "' " + std::string(where));
  } else {
    wanted({});
  }
  return false;
}

void Reader::end_statement() {
  if (take(';')) return;
  if (stopped_) return;
  const bool at_line_end = t_.place.line != last_end_.line;
  if (at_line_end) {
    syntax(last_end_, "';' after the statement", "the end of the line");
  } else {
    wanted("';' after the statement");
    skip_statement();
  }
}

void Reader::skip_statement() {
  int64_t depth = 0;
  while (!at_end()) {
    if (t_.is('{')) ++depth;
    if (t_.is('}') && depth-- == 0) return;
    const bool ends = depth == 0 && (t_.is(';') || t_.is('}'));
    const bool was_brace = t_.is('}');
    advance();
    if (ends && !(was_brace && (t_.is(',') || t_.is(';')))) return;
  }
}

void Reader::stop() {
  stopped_ = true;
  lexer_.stop();
  t_ = {.kind = Token::Kind::end, .place = t_.place, .text = {}};
}

std::string Reader::where(Place place) const {
  return std::string(options_.name) + ":" + std::to_string(place.line) + ":" +
         std::to_string(place.column);
}

std::string Reader::token_text() const {
  if (at_end()) return "the end of the text";
  if (t_.kind == Token::Kind::string) return "a string";
  return "'" + shown(t_.text) + "'";
}

void Reader::wanted(std::string_view what, std::string_view hint) {
  syntax(t_.place, what, has_room() ? token_text() : std::string(), hint);
}

// The list keeps the first findings only; the others are counted without making their text.
void Reader::syntax(Place place, std::string_view what, std::string_view got,
                    std::string_view hint) {
  if (stopped_) return;
  if (!has_room()) {
    findings_.add({.code = "E-PTX"});
    return;
  }
  findings_.add({.code = "E-PTX",
                 .wanted = std::string(what),
                 .got = std::string(got),
                 .where = where(place),
                 .hint = std::string(hint)});
}

void Reader::name_finding(Place place, std::string_view name, std::string_view what,
                          std::string_view got) {
  if (stopped_) return;
  if (!has_room()) {
    findings_.add({.code = "E-SYMBOL"});
    return;
  }
  findings_.add({.code = "E-SYMBOL",
                 .op = shown(name),
                 .wanted = std::string(what),
                 .got = std::string(got),
                 .where = where(place)});
}

void Reader::limit(Place place, std::string_view what, int64_t most) {
  if (stopped_) return;
  limit_passed_ = true;
  findings_.add({.code = "E-LIMIT",
                 .wanted = "at most " + std::to_string(most) + " " + std::string(what),
                 .got = "more",
                 .where = where(place)});
  stop();
}

Text Reader::intern(std::string_view text, Place place) {
  if (static_cast<int64_t>(text.size()) > options_.limits.name_bytes) {
    limit(place, "bytes of a name", options_.limits.name_bytes);
    return 0;
  }
  const Text id = m_.texts.intern(text);
  if (m_.texts.size() > options_.limits.names) limit(place, "names", options_.limits.names);
  return id;
}

Text Reader::take_name(std::string_view what) {
  if (t_.kind != Token::Kind::word) {
    wanted(what);
    return 0;
  }
  const Text name = intern(t_.text, t_.place);
  advance();
  return name;
}

void Reader::count_declaration(Place place) {
  if (++declarations_ > options_.limits.declarations) {
    limit(place, "declarations", options_.limits.declarations);
  }
}

bool Reader::declare(Symbol::Kind kind, Text name, uint32_t index, Place place, uint32_t count) {
  count_declaration(place);
  const Symbol* earlier = symbols_.declare(
      {.kind = kind, .name = name, .index = index, .count = count, .place = place});
  if (earlier == nullptr && kind != Symbol::Kind::range) {
    // An element of a range of the same scope has the name already.
    const Found range = look_up_range(m_.texts[name]);
    if (range.symbol != nullptr && range.symbol->scope == symbols_.depth()) earlier = range.symbol;
  }
  if (earlier == nullptr) return true;
  if (earlier->kind == Symbol::Kind::unknown) return false;
  name_finding(place, m_.texts[name], "a name that is new in its scope",
               "one that is declared at " + where(earlier->place));
  return false;
}

Reader::Found Reader::look_up_range(std::string_view word) const {
  size_t digits = word.size();
  while (digits > 1 && is_digit(word[digits - 1])) --digits;
  // Ten digits hold every element; a name may end in more.
  if (digits == word.size() || word.size() - digits > 10) return {};
  uint64_t element = 0;
  for (const char c : word.substr(digits)) element = element * 10 + static_cast<uint64_t>(c - '0');
  const Text prefix = m_.texts.find(word.substr(0, digits));
  if (prefix == kNone) return {};
  for (const Symbol* s = symbols_.find_range(prefix); s != nullptr; s = symbols_.outer(*s)) {
    if (element < s->count) return {s, static_cast<uint32_t>(element)};
  }
  return {};
}

Reader::Found Reader::look_up(std::string_view word) const {
  const Text name = m_.texts.find(word);
  const Symbol* exact = name == kNone ? nullptr : symbols_.find(name);
  const Found range = look_up_range(word);
  if (range.symbol != nullptr && (exact == nullptr || exact->scope < range.symbol->scope)) {
    return range;
  }
  return {exact, 0};
}

uint32_t Reader::use_register(const Found& found) {
  const auto next = static_cast<uint32_t>(f_->registers.size());
  const uint64_t key = (declaration_base_ + found.symbol->index) << 32 | found.element;
  const uint32_t number = used_registers_.find_or_add(key, next);
  if (number != next) return number;
  f_->registers.push_back({found.symbol->index, found.element});
  return next;
}

void Reader::open_scope() { symbols_.open(); }

void Reader::close_scope() {
  // A range that came after a register which is one of its elements.
  std::vector<std::pair<Symbol, Place>> twice;
  symbols_.each_of_scope([&](const Symbol& s) {
    if (s.kind == Symbol::Kind::range || s.kind == Symbol::Kind::unknown) return;
    const Found range = look_up_range(m_.texts[s.name]);
    if (range.symbol == nullptr || range.symbol->scope != symbols_.depth()) return;
    const Place a = range.symbol->place;
    const bool later = a.line != s.place.line ? a.line > s.place.line : a.column > s.place.column;
    if (later) twice.emplace_back(s, a);
  });
  for (const auto& [s, place] : twice) {
    name_finding(place, m_.texts[s.name], "a name that is new in its scope",
                 "one that is declared at " + where(s.place));
  }
  symbols_.close([&](const Reference& r, const Symbol& s) {
    Operand& o = f_->operands[r.operand];
    o.index = s.index;
    o.kind = s.kind == Symbol::Kind::label            ? OperandKind::label
             : s.kind == Symbol::Kind::branch_targets ? OperandKind::branch_targets
             : s.kind == Symbol::Kind::call_targets   ? OperandKind::call_targets
                                                      : OperandKind::prototype;
  });
}

void Reader::report_open_references() {
  const auto before = [](Place a, Place b) {
    return a.line != b.line ? a.line < b.line : a.column < b.column;
  };
  std::vector<Reference> open = symbols_.take_open_references();
  std::sort(open.begin(), open.end(), [&](const Reference& a, const Reference& b) {
    return a.name != b.name ? a.name < b.name : before(a.place, b.place);
  });
  const auto same = [](const Reference& a, const Reference& b) { return a.name == b.name; };
  open.erase(std::unique(open.begin(), open.end(), same), open.end());
  std::sort(open.begin(), open.end(),
            [&](const Reference& a, const Reference& b) { return before(a.place, b.place); });
  for (const Reference& r : open) {
    name_finding(r.place, m_.texts[r.name], "a declared name", "none of that name");
  }
}

Result<Module> parse(std::string_view text, const ParseOptions& options) {
  return Reader(text, options).read();
}

Result<Module> Reader::read() {
  read_header();
  while (!at_end()) module_statement();
  if (findings_.empty()) return std::move(m_);
  return findings_.take(limit_passed_ ? ErrorKind::limit : ErrorKind::file);
}

}  // namespace cohort::ptx
