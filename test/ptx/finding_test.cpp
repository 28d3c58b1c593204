// What is said of faulty texts: codes, places, all at once.
#include <gtest/gtest.h>

#include "ptx/helpers.h"

namespace cohort::ptx {
namespace {

int64_t count(const std::string& text) {
  const Result<Module> module = parse(text);
  return module ? 0 : module.findings().total();
}

TEST(Findings, OneOfEachKindWithItsPlace) {
  struct Case {
    const char* statements;
    const char* said;
  };
  for (const Case& c : {
           Case{"add.s32 %r1, %r2, 3\nret;",
                "E-PTX: wanted ';' after the statement, got the end of the line [t:5:20]"},
           {"add.s32 %r1 %r2;", "E-PTX: wanted ';' after the statement, got '%r2' [t:5:13]"},
           {"mov.b32 %r1, %q5;",
            "E-SYMBOL %q5: wanted a declared register, got none of that name [t:5:14]"},
           {"mov.b32 %r1, %r10;",
            "E-SYMBOL %r10: wanted a declared register, got none of that name [t:5:14]"},
           {"bra nowhere;",
            "E-SYMBOL nowhere: wanted a declared name, got none of that name [t:5:5]"},
           {"L: nop;\nL: nop;",
            "E-SYMBOL L: wanted a name that is new in its scope, got one that is declared at t:5:1 "
            "[t:6:1]"},
           {".reg .b32 x;\nx: nop;",
            "E-SYMBOL x: wanted a name that is new in its scope, got one that is declared at "
            "t:5:11 [t:6:1]"},
           {".reg .b32 %r3;",
            "E-SYMBOL %r3: wanted a name that is new in its scope, got one that is declared at "
            "t:4:54 [t:5:11]"},
           {".reg .b32 q2;\n.reg .b32 q<4>;",
            "E-SYMBOL q2: wanted a name that is new in its scope, got one that is declared at "
            "t:5:11 [t:6:11]"},
           {".reg .b32 n;",
            "E-SYMBOL n: wanted a name that is new in its scope, got one that is declared at "
            "t:4:39 [t:5:11]"},
           {"@%p9 ret;",
            "E-SYMBOL %p9: wanted a declared predicate after '@', got none of that name [t:5:2]"},
           {"@ ;", "E-PTX: wanted a predicate after '@', got ';' [t:5:3]"},
           {"ld.b32 %r1, [z];",
            "E-SYMBOL z: wanted a declared name in an address, got none of that name [t:5:14]"},
           {"ld.b32 %r1, [%rd1;", "E-PTX: wanted ']' after an address, got ';' [t:5:18]"},
           {"x {%r1, %r2;", "E-PTX: wanted '}' after a vector, got ';' [t:5:12]"},
           {"x 99999999999999999999;", "E-PTX: got an integer of more than 64 bits [t:5:3]"},
           {".reg .b32 %z<x>;", "E-PTX: wanted the number of registers, got 'x' [t:5:14]"},
           {".frob 3;", "E-PTX: wanted a directive of a body, got '.frob' [t:5:1]"},
           {"nop;\n# 1 \"x\"\n", "E-PTX: got a line of a preprocessor [t:6:1]"},
           {"nop; \x01\x02", "E-PTX: got bytes that PTX does not have [t:5:6]"},
       }) {
    const std::string said = said_of_kernel(c.statements);
    EXPECT_EQ(said.substr(0, said.find('\n')), c.said) << c.statements;
  }
}

TEST(Findings, ManyAtOnceAndNoneFollowsFromAnother) {
  const std::string said = said_of_kernel(
      "mov.b32 %q1, 5;\nadd.s32 %q1, %q1, 3;\nadd.s32 %r1, %r2, %r3\nadd.s32 %r1, , 3;\nbra "
      "X;\nbra "
      "X;\nld.b32 %r1, [%r2;\nmov.b32 %r1, 2;\n{ L: nop; }\nbra L;");
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 5) << said;
  for (const char* place :
       {"[t:5:9]", "[t:7:22]", "[t:8:14]", "[t:9:5]", "[t:11:17]", "[t:14:5]"}) {
    EXPECT_NE(said.find(place), std::string::npos) << place << "\n" << said;
  }
}

TEST(Findings, UnknownRegisterTakesItsSelectorAlong) {
  EXPECT_EQ(said_of_kernel("mov.b32 %r1, %q.x;"),
            "E-SYMBOL %q: wanted a declared register, got none of that name [t:5:14]");
}

TEST(Findings, BodyThatDoesNotEnd) {
  const std::string said = said_of(module_text(".entry k() {\n{ ret;\n}\n"));
  EXPECT_EQ(
      said,
      "E-PTX: wanted '}' that ends the body begun at t:4:12, got the end of the text [t:7:1]");
}

TEST(Findings, ReadingGoesOnBehindAFault) {
  EXPECT_EQ(count(module_text(".entry a( { }\n.entry b() { frob; }\n.entry c() { x %z; }")), 2);
  EXPECT_EQ(count(module_text(".global .x y;\n.global .u32 q[;\n.entry c() { x %z; }")), 3);
}

TEST(Findings, NamesAreClippedAndPrintable) {
  const std::string long_name(5000, 'y');
  EXPECT_LT(said_of_kernel("bra " + long_name + ";").size(), 200u);
  EXPECT_EQ(said_of_kernel("x \"a\xff\x1b[31m\n;").find('\x1b'), std::string::npos);
}

TEST(Findings, FirstHundredAreKeptAndAllAreCounted) {
  std::string text;
  for (int i = 0; i < 5000; ++i) text += "bra L" + std::to_string(i) + ";\n";
  const Result<Module> module = parse(kernel_text(text));
  ASSERT_FALSE(module);
  EXPECT_EQ(module.findings().size(), 100);
  EXPECT_EQ(module.findings().total(), 5000);
}

TEST(Findings, KindTellsFaultsFromLimits) {
  EXPECT_EQ(parse("x").findings().kind(), ErrorKind::file);
  const Result<Module> module = parse(kernel_text("nop;"), {.limits = {.instructions = 0}});
  ASSERT_FALSE(module);
  EXPECT_EQ(module.findings().kind(), ErrorKind::limit);
}

}  // namespace
}  // namespace cohort::ptx
