// Hostile texts: every limit is a finding, and no text takes more than linear time or memory.
#include <gtest/gtest.h>

#include "ptx/helpers.h"

namespace cohort::ptx {
namespace {

std::string repeated(std::string_view part, size_t n) {
  std::string text;
  text.reserve(part.size() * n);
  for (size_t i = 0; i < n; ++i) text += part;
  return text;
}

TEST(Limits, EachIsAFinding) {
  struct Case {
    const char* what;
    std::string text;
    Limits limits;
  };
  const std::string ok = kernel_text("nop;");
  for (const Case& c : {
           Case{"bytes of text", ok, {.bytes = static_cast<int64_t>(ok.size()) - 1}},
           {"bytes of a name", kernel_text("bra " + repeated("x", 100) + ";"), {.name_bytes = 99}},
           {"names", kernel_text("a; b; c; d; e; f;"), {.names = 12}},
           {"declarations", kernel_text(".reg .b32 x0; .reg .b32 x1;"), {.declarations = 8}},
           {"instructions", kernel_text("nop; nop; nop;"), {.instructions = 2}},
           {"operands of one instruction", kernel_text("x {1,2,3};"), {.operands = 2}},
           {"registers of one name", kernel_text(".reg .b32 q<2147483649>;"), {}},
           {"nested scopes", kernel_text("{{{{ }}}}"), {.depth = 4}},
           {"bytes of initialisers",
            module_text(".global .b8 x[4] = {1,2,3,4};"),
            {.image_bytes = 3}},
           {"bytes of initialisers",
            module_text(".global .b8 x[2][1099511627776] = {{1},{1}};"),
            {}},
       }) {
    const std::string said = said_of(c.text, c.limits);
    EXPECT_NE(said.find("E-LIMIT: wanted at most"), std::string::npos) << said;
    EXPECT_NE(said.find(std::string(c.what) + ", got more"), std::string::npos) << said;
  }
  EXPECT_TRUE(static_cast<bool>(parse(ok, {.limits = {.bytes = static_cast<int64_t>(ok.size())}})));
}

TEST(Limits, NestingOfEveryKindIsBounded) {
  const size_t deep = 100000;
  for (const std::string& text :
       {repeated("{", deep), "x " + repeated("{", deep), "x " + repeated("(", deep),
        "x " + repeated("-", deep), "x " + repeated("!", deep),
        "x 1" + repeated("?1:1", deep) + ";", "x 1" + repeated("?1", deep),
        "x " + repeated("(.s64)", deep), "x %p1" + repeated("|%p1", deep) + ";",
        "x 1" + repeated("+(1", deep), "x " + repeated("[1,", deep),
        ".local .b32 y[" + repeated("(", deep)}) {
    const std::string said = said_of(kernel_text(text));
    EXPECT_NE(said.find("E-LIMIT"), std::string::npos) << text.substr(0, 20) << "\n" << said;
  }
  EXPECT_NE(said_of(module_text(".global .u32 x = " + repeated("-", deep))).find("E-LIMIT"),
            std::string::npos);
  EXPECT_NE(said_of(module_text(".global .u32 x[2] = " + repeated("{", deep))).find("E-PTX"),
            std::string::npos);
}

// A quadratic step anywhere would run into the test's timeout by far.
TEST(Limits, LongTextsTakeLinearTime) {
  const size_t n = 200000;
  std::string labels, ranges, functions, references;
  for (size_t i = 0; i < n; ++i) {
    const std::string number = std::to_string(i);
    labels += "L" + number + ": bra L" + std::to_string(n - 1 - i) + ";\n";
    ranges += ".reg .b32 r" + number + "_<9>;\n";
    functions += ".func f" + number + "(.param .b32 a) { .reg .b32 %r<4>; x %r1; }\n";
    references += "{ bra L; }\n";
  }
  EXPECT_TRUE(static_cast<bool>(parse(kernel_text(labels))));
  EXPECT_TRUE(static_cast<bool>(parse(kernel_text(ranges))));
  EXPECT_TRUE(static_cast<bool>(parse(module_text(functions))));
  EXPECT_TRUE(static_cast<bool>(parse(kernel_text(references + "L:"))));
  EXPECT_TRUE(static_cast<bool>(
      parse(kernel_text(repeated("{", 50) + references + "L:" + repeated("}", 50)))));
  EXPECT_FALSE(parse(kernel_text(references)));
  EXPECT_FALSE(parse(kernel_text(repeated("x %q;\n", n))));
  EXPECT_FALSE(parse(kernel_text(repeated("x\n", n))));
  EXPECT_FALSE(parse(repeated("\x01 ", n)));
  EXPECT_FALSE(parse(repeated("}", n)));
  EXPECT_FALSE(parse(module_text(repeated(".func f() { }\n", n))));
  EXPECT_TRUE(static_cast<bool>(parse(kernel_text(repeated("{ .reg .b32 x; x x; }\n", n)))));
  EXPECT_TRUE(static_cast<bool>(parse(kernel_text(repeated(".loc 1 1 1\n.loc 1 2 1\n", n)))));
  EXPECT_TRUE(static_cast<bool>(parse(
      module_text(".global .b8 t[" + std::to_string(n) + "] = {" + repeated("1,", n) + "};"))));
  EXPECT_TRUE(static_cast<bool>(
      parse(module_text(".section .debug_info {" + repeated(".b8 1\n", n) + "}"))));
}

TEST(Limits, EveryPrefixOfATextIsReadWithoutACrash) {
  const std::string text = kernel_text(
      "@!%p1 ld.shared::cta.v2.b32 {%r1,_}, [s+4*2];\n{ .reg .pred q; L: setp.eq.s32 q|%p1, %r1, "
      "0x1fU, !%p2; @q bra L; }\nP: .callprototype (.param .b32 _) _ (.param .b32 _);\n.loc 1 2 3, "
      "function_name a+4, inlined_at 1 2 3\ncall (n), %rd1, (n, 5), P; x [%rd1, {%r1, 2}], "
      "0f00000000, -1.5e3, (1+2)*3, %tid.x;",
      ".file 1 \"a\"\n.shared .b32 s[4]; .global .u64 a[2] = {0xff(s), generic(s)+4};\n");
  EXPECT_TRUE(static_cast<bool>(parse(text))) << parse(text).findings().text();
  int refused = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const std::string part = text.substr(0, i);
    refused += parse(part) ? 0 : 1;
    std::string damaged = text;
    damaged[i] = static_cast<char>(damaged[i] ^ 5);
    static_cast<void>(parse(damaged));
    damaged.erase(i, 1);
    static_cast<void>(parse(damaged));
  }
  EXPECT_GT(refused, static_cast<int>(text.size()) * 9 / 10);
}

}  // namespace
}  // namespace cohort::ptx
