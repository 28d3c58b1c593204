// PTX text as tokens, one at a time.
#pragma once

#include <cstdint>
#include <string_view>

#include "ptx/module.h"

namespace cohort::ptx {

struct Token {
  enum class Kind : uint8_t {
    end,
    word,     ///< a name, with its % or $
    dotted,   ///< .name or .name::name, with its dot
    integer,  ///< `value`
    f32,      ///< `value`: the bits
    f64,      ///< `value`: the bits
    string,   ///< `text`: what stands between the quotes
    mark,     ///< one character: text[0]
    bad,      ///< nothing that PTX has; `fault` says why
  };
  Kind kind = Kind::end;
  bool is_unsigned = false;
  Place place;
  std::string_view text;
  uint64_t value = 0;
  const char* fault = nullptr;  ///< what is wrong with it; null when nothing is

  [[nodiscard]] bool is(char c) const { return kind == Kind::mark && text[0] == c; }
  [[nodiscard]] bool is_word(std::string_view w) const { return kind == Kind::word && text == w; }
  [[nodiscard]] bool is_dotted(std::string_view w) const {
    return kind == Kind::dotted && text == w;
  }
};

class Lexer {
 public:
  explicit Lexer(std::string_view text)
      : at_(text.data()), end_(text.data() + text.size()), line_begin_(text.data()) {}

  [[nodiscard]] Token next();
  /// The character right after the last token, 0 at the end.
  [[nodiscard]] char following() const { return at_ < end_ ? *at_ : '\0'; }
  /// Takes all modifiers that follow the last token, which is the word of an opcode, without a gap.
  /// Returns the whole opcode.
  [[nodiscard]] std::string_view opcode(const Token& word);
  /// True when the last token is followed by one colon, which makes it a label.
  [[nodiscard]] bool at_colon();
  void skip_line();
  void stop() { at_ = end_; }

 private:
  /// Skips space and comments. Returns the fault of a comment that does not end.
  const char* skip_space();
  const char* skip_comment();
  void take_word(Token& t);
  void take_dotted(Token& t);
  void take_string(Token& t);
  void take_bad(Token& t);

  const char* at_;
  const char* end_;
  const char* line_begin_;
  uint32_t line_ = 1;
};

/// Takes the number at `at`; sets kind, value, fault. Returns where it ends. In number.cpp.
const char* take_number(const char* at, const char* end, Token& t);

/// True for what may stand inside a name.
[[nodiscard]] bool is_name_char(char c);

}  // namespace cohort::ptx
