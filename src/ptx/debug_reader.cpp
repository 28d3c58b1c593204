// .file and .loc say which source line an instruction comes from; DWARF sections are skipped.
#include "ptx/reader.h"

namespace cohort::ptx {

bool Reader::take_u32(uint32_t& value, std::string_view what) {
  if (t_.kind != Token::Kind::integer || t_.value > UINT32_MAX) {
    wanted(what);
    return false;
  }
  value = static_cast<uint32_t>(t_.value);
  advance();
  return true;
}

// .file 1 "name", time, size - without a semicolon.
void Reader::read_file() {
  advance();
  File file;
  if (!take_u32(file.number, "the number of a file")) return;
  if (t_.kind != Token::Kind::string) return wanted("the name of a file");
  file.name = intern(t_.text, t_.place);
  advance();
  for (uint64_t* value : {&file.time, &file.size}) {
    if (!take(',')) break;
    if (t_.kind != Token::Kind::integer) return wanted("a number");
    *value = t_.value;
    file.has_stamp = true;
    advance();
  }
  count_declaration(t_.place);
  m_.files.push_back(file);
}

// .loc file line column [, function_name label [+ n], inlined_at file line column]
void Reader::read_location() {
  advance();
  Location l;
  if (!take_u32(l.file, "the number of a file") || !take_u32(l.line, "a line") ||
      !take_u32(l.column, "a column")) {
    return;
  }
  while (take(',')) {
    if (take_word("function_name")) {
      l.function_name = take_name("a label of a debug section");
      if (l.function_name == 0) return;
      if (take('+') && !take_u32(l.function_offset, "an offset")) return;
    } else if (take_word("inlined_at")) {
      if (!take_u32(l.inlined_file, "the number of a file") ||
          !take_u32(l.inlined_line, "a line") || !take_u32(l.inlined_column, "a column")) {
        return;
      }
    } else {
      return wanted("function_name or inlined_at");
    }
  }
  if (m_.locations.empty() || !(m_.locations.back() == l)) m_.locations.push_back(l);
  location_ = static_cast<uint32_t>(m_.locations.size() - 1);
}

// .section .debug_info { ... }
void Reader::skip_section() {
  const Place begin = t_.place;
  advance();
  while (t_.kind == Token::Kind::dotted || t_.kind == Token::Kind::word) advance();
  if (!expect('{', "before the content of a section")) return skip_statement();
  int64_t depth = 1;
  while (!at_end()) {
    if (t_.is('{')) ++depth;
    if (t_.is('}') && --depth == 0) break;
    advance();
  }
  if (!take('}')) syntax(begin, "'}' that ends the section", "the end of the text");
}

}  // namespace cohort::ptx
