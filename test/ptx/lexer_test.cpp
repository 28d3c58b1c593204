// Tokens, and where they stand.
#include "ptx/lexer.h"

#include <gtest/gtest.h>

#include <bit>
#include <string>
#include <vector>

namespace cohort::ptx {
namespace {

std::vector<Token> tokens(std::string_view text) {
  Lexer lexer(text);
  std::vector<Token> all;
  for (;;) {
    all.push_back(lexer.next());
    if (all.back().kind == Token::Kind::end || all.size() > 1000) return all;
  }
}

Token number(std::string_view text) {
  const std::vector<Token> all = tokens(text);
  EXPECT_EQ(all.size(), 2u) << text;
  EXPECT_EQ(all[0].text, text);
  return all[0];
}

TEST(Lexer, LinesAndColumnsBeginAtOne) {
  const std::vector<Token> all = tokens("a\n  // x\n\t.b /* y\n z */ c\r\n[");
  ASSERT_EQ(all.size(), 5u);
  const uint32_t wanted[][2] = {{1, 1}, {3, 2}, {4, 7}, {5, 1}, {5, 2}};
  for (size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i].place.line, wanted[i][0]) << i;
    EXPECT_EQ(all[i].place.column, wanted[i][1]) << i;
  }
}

TEST(Lexer, NamesTakeTheirFirstCharacterOnly) {
  const std::vector<Token> all = tokens("%r1%p2 $L__BB0_1 _x a%b");
  ASSERT_EQ(all.size(), 7u);
  const char* wanted[] = {"%r1", "%p2", "$L__BB0_1", "_x", "a", "%b"};
  for (size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(all[i].kind, Token::Kind::word);
    EXPECT_EQ(all[i].text, wanted[i]);
  }
}

TEST(Lexer, DottedNamesHoldDoubleColons) {
  const std::vector<Token> all = tokens(".mbarrier::complete_tx::bytes .x: .y::[");
  ASSERT_EQ(all.size(), 8u);
  EXPECT_EQ(all[0].text, ".mbarrier::complete_tx::bytes");
  EXPECT_EQ(all[1].text, ".x");
  EXPECT_TRUE(all[2].is(':'));
  EXPECT_EQ(all[3].text, ".y");
  EXPECT_TRUE(all[6].is('['));
}

TEST(Lexer, OpcodesEndWhereOperandsAreGluedOn) {
  for (const std::string_view text :
       {"ld.shared::cta.v4.b32{%r1", "ld.shared::cta.v4.b32[%r1", "ld.shared::cta.v4.b32 %r1",
        "ld.shared::cta.v4.b32%r1", "ld.shared::cta.v4.b32"}) {
    Lexer lexer(text);
    EXPECT_EQ(lexer.opcode(lexer.next()), "ld.shared::cta.v4.b32") << text;
  }
  Lexer digits("tcgen05.ld.32x32b.x8.1d;");
  EXPECT_EQ(digits.opcode(digits.next()), "tcgen05.ld.32x32b.x8.1d");
}

TEST(Lexer, IntegersOfEveryRadix) {
  struct Case {
    const char* text;
    uint64_t value;
    bool is_unsigned;
  };
  for (const Case& c : {Case{"0", 0, false},
                        {"42", 42, false},
                        {"42U", 42, true},
                        {"017", 15, false},
                        {"0x1F", 31, false},
                        {"0XfU", 15, true},
                        {"0b101", 5, false},
                        {"0B1U", 1, true},
                        {"9223372036854775807", INT64_MAX, false},
                        {"9223372036854775808", uint64_t{1} << 63, true},
                        {"18446744073709551615", UINT64_MAX, true},
                        {"0xffffffffffffffff", UINT64_MAX, true},
                        {"01777777777777777777777", UINT64_MAX, true}}) {
    const Token t = number(c.text);
    EXPECT_EQ(t.kind, Token::Kind::integer) << c.text;
    EXPECT_EQ(t.value, c.value) << c.text;
    EXPECT_EQ(t.is_unsigned, c.is_unsigned) << c.text;
    EXPECT_EQ(t.fault, nullptr) << c.text;
  }
}

TEST(Lexer, FloatsAsImagesAndInDecimal) {
  EXPECT_EQ(number("0f3F800000").kind, Token::Kind::f32);
  EXPECT_EQ(number("0f3F800000").value, std::bit_cast<uint32_t>(1.0f));
  EXPECT_EQ(number("0F00000000").value, 0u);
  EXPECT_EQ(number("0d3FF0000000000000").kind, Token::Kind::f64);
  EXPECT_EQ(number("0d3FF0000000000000").value, std::bit_cast<uint64_t>(1.0));
  for (const char* text : {"1.5", ".5", "1.", "1e3", "1.5e-3", "2E+10", "08.5"}) {
    const Token t = number(text);
    EXPECT_EQ(t.kind, Token::Kind::f64) << text;
    EXPECT_EQ(std::bit_cast<double>(t.value), std::stod(text)) << text;
    EXPECT_EQ(t.fault, nullptr) << text;
  }
}

TEST(Lexer, FaultyNumbersSaySo) {
  for (const char* text : {"18446744073709551616", "0x10000000000000000", "0x", "0b2", "12ab",
                           "089", "0f3F80000", "0f3F8000000", "0d3FF", "1e999", "5UU", "0f", "0d",
                           "99999999999999999999999999999999999999999"}) {
    EXPECT_NE(number(text).fault, nullptr) << text;
  }
}

TEST(Lexer, StringsEndOnTheirLine) {
  const std::vector<Token> all = tokens(R"("a \" b" "c)");
  EXPECT_EQ(all[0].kind, Token::Kind::string);
  EXPECT_EQ(all[0].text, R"(a \" b)");
  EXPECT_EQ(all[1].kind, Token::Kind::bad);
  EXPECT_EQ(tokens("\"a\nb\"")[0].kind, Token::Kind::bad);
  EXPECT_EQ(tokens("\"a\\")[0].kind, Token::Kind::bad);
}

TEST(Lexer, OtherBytesAreOneTokenARun) {
  const std::string zeros(1000, '\0');
  EXPECT_EQ(tokens(zeros).size(), 2u);
  EXPECT_EQ(tokens("\x80\xff\x01`")[0].kind, Token::Kind::bad);
  EXPECT_EQ(tokens("#define X 3\na").size(), 3u);
  EXPECT_EQ(tokens("#define X 3\na")[0].kind, Token::Kind::bad);
}

TEST(Lexer, CommentsMustEnd) {
  EXPECT_NE(tokens("/* a").back().fault, nullptr);
  EXPECT_NE(tokens("/*/").back().fault, nullptr);
  EXPECT_EQ(tokens("/**/").back().fault, nullptr);
  EXPECT_EQ(tokens("// a").back().fault, nullptr);
}

}  // namespace
}  // namespace cohort::ptx
