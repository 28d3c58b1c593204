#include "ptx/lexer.h"

#include <array>

namespace cohort::ptx {

namespace {

constexpr uint8_t kNameChar = 1;
constexpr uint8_t kNameBegin = 2;
constexpr uint8_t kDigit = 4;
constexpr uint8_t kMark = 8;

constexpr std::array<uint8_t, 256> make_classes() {
  std::array<uint8_t, 256> c{};
  for (int i = 'a'; i <= 'z'; ++i) c[static_cast<size_t>(i)] = kNameChar | kNameBegin;
  for (int i = 'A'; i <= 'Z'; ++i) c[static_cast<size_t>(i)] = kNameChar | kNameBegin;
  for (int i = '0'; i <= '9'; ++i) c[static_cast<size_t>(i)] = kNameChar | kDigit;
  for (const char m : std::string_view("_$")) c[static_cast<uint8_t>(m)] = kNameChar | kNameBegin;
  c[uint8_t{'%'}] = kNameBegin | kMark;
  for (const char m : std::string_view("()[]{}<>,;:=+-*/!~&|^?@")) {
    c[static_cast<uint8_t>(m)] = kMark;
  }
  return c;
}
constexpr std::array<uint8_t, 256> kClasses = make_classes();

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

bool has(char c, int classes) { return (kClasses[static_cast<uint8_t>(c)] & classes) != 0; }

}  // namespace

bool is_name_char(char c) { return has(c, kNameChar); }

const char* Lexer::skip_comment() {
  if (at_[1] == '/') {
    while (at_ < end_ && *at_ != '\n') ++at_;
    return nullptr;
  }
  for (at_ += 2; at_ < end_; ++at_) {
    if (*at_ == '\n') {
      ++line_;
      line_begin_ = at_ + 1;
    } else if (*at_ == '*' && at_ + 1 < end_ && at_[1] == '/') {
      at_ += 2;
      return nullptr;
    }
  }
  return "a comment that does not end";
}

const char* Lexer::skip_space() {
  for (; at_ < end_;) {
    const char c = *at_;
    if (c == '\n') {
      ++line_;
      line_begin_ = ++at_;
    } else if (is_space(c)) {
      ++at_;
    } else if (c == '/' && at_ + 1 < end_ && (at_[1] == '/' || at_[1] == '*')) {
      if (const char* fault = skip_comment()) return fault;
    } else {
      break;
    }
  }
  return nullptr;
}

void Lexer::skip_line() {
  while (at_ < end_ && *at_ != '\n') ++at_;
}

void Lexer::take_word(Token& t) {
  t.kind = Token::Kind::word;
  const char* begin = at_++;
  while (at_ < end_ && has(*at_, kNameChar)) ++at_;
  t.text = {begin, static_cast<size_t>(at_ - begin)};
}

void Lexer::take_dotted(Token& t) {
  t.kind = Token::Kind::dotted;
  const char* begin = at_++;
  while (at_ < end_) {
    if (has(*at_, kNameChar)) {
      ++at_;
    } else if (*at_ == ':' && at_ + 2 < end_ && at_[1] == ':' && has(at_[2], kNameChar)) {
      at_ += 2;
    } else {
      break;
    }
  }
  t.text = {begin, static_cast<size_t>(at_ - begin)};
}

void Lexer::take_string(Token& t) {
  t.kind = Token::Kind::string;
  const char* begin = ++at_;
  while (at_ < end_ && *at_ != '"' && *at_ != '\n') at_ += *at_ == '\\' && at_ + 1 < end_ ? 2 : 1;
  if (at_ > end_) at_ = end_;
  t.text = {begin, static_cast<size_t>(at_ - begin)};
  if (at_ < end_ && *at_ == '"') {
    ++at_;
  } else {
    t.kind = Token::Kind::bad;
    t.fault = "a string that does not end on its line";
  }
}

// One token for a whole run: a binary file is one finding and not a million.
void Lexer::take_bad(Token& t) {
  t.kind = Token::Kind::bad;
  t.fault = *at_ == '#' ? "a line of a preprocessor" : "bytes that PTX does not have";
  const char* begin = at_;
  if (*at_ == '#') {
    skip_line();
  } else {
    do {
      ++at_;
    } while (at_ < end_ && !has(*at_, kNameChar | kNameBegin | kMark) && *at_ != '.' &&
             *at_ != '"' && !is_space(*at_));
  }
  t.text = {begin, static_cast<size_t>(at_ - begin)};
}

Token Lexer::next() {
  Token t;
  t.fault = skip_space();
  t.place = {line_, static_cast<uint32_t>(at_ - line_begin_) + 1};
  if (at_ >= end_) return t;
  const char c = *at_;
  const char after = at_ + 1 < end_ ? at_[1] : '\0';
  if (has(c, kDigit) || (c == '.' && has(after, kDigit))) {
    at_ = take_number(at_, end_, t);
  } else if (has(c, kNameBegin) && (c != '%' || has(after, kNameChar))) {
    take_word(t);
  } else if (c == '.' && has(after, kNameChar)) {
    take_dotted(t);
  } else if (c == '"') {
    take_string(t);
  } else if (has(c, kMark)) {
    t.kind = Token::Kind::mark;
    t.text = {at_++, 1};
  } else {
    take_bad(t);
  }
  return t;
}

std::string_view Lexer::opcode(const Token& word) {
  while (at_ + 1 < end_ && *at_ == '.' && has(at_[1], kNameChar)) {
    Token ignored;
    take_dotted(ignored);
  }
  return {word.text.data(), static_cast<size_t>(at_ - word.text.data())};
}

bool Lexer::at_colon() {
  if (at_ < end_ && *at_ != ':' && *at_ != '/' && !is_space(*at_)) return false;
  // A label's colon may stand apart. What is skipped here would be skipped by next() as well.
  static_cast<void>(skip_space());
  return at_ < end_ && *at_ == ':' && !(at_ + 1 < end_ && at_[1] == ':');
}

}  // namespace cohort::ptx
