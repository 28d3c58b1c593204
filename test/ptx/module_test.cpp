// The header, functions and their directives, source lines.
#include <gtest/gtest.h>

#include "ptx/helpers.h"

namespace cohort::ptx {
namespace {

std::string_view name(const Module& m, Text t) { return m.texts[t]; }

TEST(Header, VersionTargetAddressSize) {
  for (const int minor : {0, 1, 2, 3, 4, 5}) {
    for (const char* target :
         {"sm_90a", "sm_100a", "sm_100f", "sm_103a", "sm_103f", "sm_107a", "sm_107f", "sm_120"}) {
      const Module m = read(".version 9." + std::to_string(minor) + "\n.target " + target +
                            ", debug\n.address_size 64\n");
      EXPECT_EQ(m.version_major, 9u);
      EXPECT_EQ(m.version_minor, static_cast<uint32_t>(minor));
      ASSERT_EQ(m.targets.size(), 2u);
      EXPECT_EQ(name(m, m.targets[0]), target);
      EXPECT_EQ(m.address_size, 64u);
    }
  }
  EXPECT_EQ(read(".version 8.10 .target sm_90").version_minor, 10u);
  EXPECT_EQ(read(".version 8.10 .target sm_90").address_size, 32u);
}

TEST(Header, MustBeThere) {
  EXPECT_NE(said_of("").find("wanted .version at the beginning"), std::string::npos);
  EXPECT_NE(said_of(".version 9.0").find("wanted .target after .version"), std::string::npos);
  for (const char* bad :
       {".version 9 .target sm_90", ".version 9.0.1 .target sm_90", ".version 9000.0 .target sm_90",
        ".version x .target sm_90", ".version 1e3 .target sm_90", ".version 9.0 .target 90",
        ".version 9.0 .target sm_90 .address_size 16", ".version 9.0 .target sm_90 .version 9.0"}) {
    EXPECT_NE(said_of(bad).find("E-PTX"), std::string::npos) << bad;
  }
}

TEST(Functions, DirectivesWithTheirNumbers) {
  const Module m = read(module_text(
      ".visible .entry k(.param .u64 .ptr .global .align 16 p)\n.maxntid 128, 1, 1\n.reqntid "
      "32\n.minnctapersm 2\n.maxnreg 168\n.explicitcluster\n.reqnctapercluster 2, 1, "
      "1\n.blocksareclusters\n.maxclusterrank 8\n.pragma \"nounroll\";\n{ .pragma \"a\", "
      "\"b\"; ret; }\n.weak .func f() .noreturn .abi_preserve 4 .abi_preserve_control 1;"));
  const Function& f = m.functions[0];
  EXPECT_TRUE(f.is_entry);
  EXPECT_EQ(f.linkage, Linkage::visible);
  ASSERT_EQ(f.directives.size(), 9u);
  EXPECT_EQ(name(m, f.directives[0].name), ".maxntid");
  EXPECT_EQ(f.directives[0].numbers, (std::vector<int64_t>{128, 1, 1}));
  EXPECT_EQ(f.directives[1].numbers, (std::vector<int64_t>{32}));
  EXPECT_TRUE(f.directives[4].numbers.empty());
  EXPECT_EQ(name(m, f.directives[8].strings.at(0)), "nounroll");
  ASSERT_EQ(f.pragmas.size(), 1u);
  EXPECT_EQ(f.pragmas[0].strings.size(), 2u);
  const Variable& p = f.variables[f.parameters[0].index];
  EXPECT_TRUE(p.is_pointer);
  EXPECT_EQ(p.pointer_space, Space::global);
  EXPECT_EQ(p.pointer_alignment, 16u);
  EXPECT_EQ(p.alignment, 8u);
  EXPECT_FALSE(m.functions[1].is_entry);
  EXPECT_FALSE(m.functions[1].is_defined);
  EXPECT_EQ(m.functions[1].directives.size(), 3u);
}

TEST(Functions, DeclaredThenDefinedIsOne) {
  const Module m = read(module_text(
      ".func (.param .b32 r) f(.param .b32 a);\n.entry k() { call f; }\n.visible .func (.param "
      ".b32 z) f(.param .b32 x) { ret; }\n.func (.param .b32 q) f(.param .b32 y);"));
  ASSERT_EQ(m.functions.size(), 2u);
  EXPECT_TRUE(m.functions[0].is_defined);
  EXPECT_EQ(m.functions[0].linkage, Linkage::visible);
  EXPECT_EQ(m.items.size(), 4u);
  EXPECT_EQ(Statement(m, 0).operand(0).index, 0u);
}

TEST(Functions, MayCallThemselves) {
  const Module m = read(module_text(".func f() { call f; ret; }"));
  EXPECT_EQ(Statement(m, 0).operand(0).kind, OperandKind::function);
}

TEST(Functions, ContradictionsAreFindings) {
  EXPECT_NE(said_of(module_text(".func f() { }\n.func f() { }")).find("one body"),
            std::string::npos);
  EXPECT_NE(said_of(module_text(".func f(.param .b32 a);\n.func f(.param .b64 a) { }"))
                .find("wanted the parameters of its declaration at t:4:7, got others [t:5:7]"),
            std::string::npos);
  EXPECT_NE(said_of(module_text(".func f();\n.entry f() { }")).find("E-SYMBOL f"),
            std::string::npos);
  EXPECT_NE(said_of(module_text(".entry (.param .b32 r) f() { }")).find("without results"),
            std::string::npos);
}

TEST(Functions, ParametersOfEverySize) {
  const Module m = read(module_text(
      ".entry k(.param .u8 a, .param .s8 b, .param .b16 c, .param .f64 d, .param .align 64 .b8 "
      "map[128], .param .align 4 .b8 s[3][5]) { ld.param.u8 _, [a]; ld.param.b64 _, [map+120]; }"));
  const Function& f = m.functions[0];
  const int64_t bytes[] = {1, 1, 2, 8, 128, 15};
  for (size_t i = 0; i < 6; ++i) EXPECT_EQ(f.variables[f.parameters[i].index].bytes, bytes[i]) << i;
  EXPECT_EQ(f.variables[4].alignment, 64u);
}

TEST(Functions, NamesOfMoreThanAKilobyte) {
  const std::string name_text = "_ZN" + std::string(5000, 'x') + "_param_0";
  const Module m =
      read(module_text(".entry k" + name_text + "(.param .u32 " + name_text +
                       ") { .reg .b32 %r<2>; ld.param.u32 %r1, [" + name_text + "+4]; }"));
  EXPECT_EQ(name(m, m.functions[0].variables[0].name), name_text);
  EXPECT_EQ(Statement(m, 0).operand(1).value, 4);
}

TEST(Functions, Aliases) {
  const Module m =
      read(module_text(".visible .func f() { ret; }\n.visible .func g();\n.alias g, f;"));
  ASSERT_EQ(m.aliases.size(), 1u);
  EXPECT_EQ(m.aliases[0].alias, 1u);
  EXPECT_EQ(m.aliases[0].aliasee, 0u);
  EXPECT_NE(said_of(module_text(".alias g, f;")).find("wanted a declared function"),
            std::string::npos);
}

TEST(Lines, LocationsHoldForWhatFollows) {
  const Module m = read(module_text(
      ".file 1 \"a.cu\"\n.file 2 \"b.cuh\", 1700000000, 4096\n.entry k() { nop;\n.loc 1 10 3\nnop; "
      "nop;\n.loc\t2 5 1, function_name $L__info_string0, inlined_at 1 11 7\nnop;\n.loc 2 6 2, "
      "function_name $L__info_string1+8, inlined_at 2 5 1\n}\n.entry l() { nop; }\n"
      ".section .debug_str\n{\n$L__info_string0:\n.b8 102,0\n}\n"));
  const Function& f = m.functions[0];
  EXPECT_EQ(f.code[0].location, kNone);
  EXPECT_EQ(m.locations[f.code[1].location].line, 10u);
  EXPECT_EQ(f.code[1].location, f.code[2].location);
  const Location& l = m.locations[f.code[3].location];
  EXPECT_EQ(l.file, 2u);
  EXPECT_EQ(name(m, l.function_name), "$L__info_string0");
  EXPECT_EQ(l.inlined_file, 1u);
  EXPECT_EQ(l.inlined_line, 11u);
  EXPECT_EQ(l.inlined_column, 7u);
  EXPECT_EQ(m.functions[1].code[0].location, kNone);
  ASSERT_EQ(m.files.size(), 2u);
  EXPECT_EQ(name(m, m.files[1].name), "b.cuh");
  EXPECT_EQ(m.files[1].size, 4096u);
}

TEST(Lines, InstructionsKnowTheirPlace) {
  const Module m = read_kernel("nop;\n  @%p1 add.s32 %r1, %r2, 3;\nL: ret;");
  EXPECT_EQ(m.functions[0].code[1].place.line, 6u);
  EXPECT_EQ(m.functions[0].code[1].place.column, 8u);
  EXPECT_EQ(m.functions[0].code[2].place.column, 4u);
}

TEST(Sections, AreSkipped) {
  const Module m = read(module_text(
      "\t.section\t.debug_info\n\t{\n.b32 1\n.b8 2,3\n.b64 $L__x+4\n.b32 a-b\n{ \"}\" }\t}\n"
      "@@DWARF .byte 0x2b, 0x00\n.section .debug_loc { }\n.entry k() { ret; }"));
  EXPECT_EQ(m.functions.size(), 1u);
  EXPECT_NE(said_of(module_text(".section .debug_info { .b8 1")).find("ends the section"),
            std::string::npos);
}

}  // namespace
}  // namespace cohort::ptx
