// Scopes, labels, registers by range, calls, branch tables.
#include <gtest/gtest.h>

#include "ptx/helpers.h"

namespace cohort::ptx {
namespace {

using K = OperandKind;

uint32_t target(const Module& m, size_t i, size_t operand = 0) {
  const Statement s(m, i);
  EXPECT_EQ(s.operand(operand).kind, K::label);
  return s.function.labels.at(s.operand(operand).index).target;
}

uint32_t declaration(const Module& m, size_t i, size_t operand) {
  const Statement s(m, i);
  EXPECT_EQ(s.operand(operand).kind, K::reg);
  return s.function.registers.at(s.operand(operand).index).declaration;
}

TEST(Scopes, LabelsAreDeclaredAnew) {
  std::string text;
  for (int i = 0; i < 40; ++i) {
    text += "{ .reg .pred p; L: setp.ne.b32 p, %r1, 0; @p bra L; @!p bra D; nop; D: }\n";
  }
  const Module m = read_kernel(text + "ret;");
  ASSERT_EQ(m.functions[0].labels.size(), 80u);
  for (size_t i = 0; i < 40; ++i) {
    EXPECT_EQ(target(m, 4 * i + 1), 4 * i);
    EXPECT_EQ(target(m, 4 * i + 2), 4 * i + 4);
    EXPECT_NE(declaration(m, 4 * i, 0), i == 0 ? kNone : declaration(m, 4 * i - 4, 0));
  }
}

TEST(Scopes, InnermostLabelIsMeantEvenWhenItComesLater) {
  const Module m = read_kernel("L: nop;\n{ bra L; nop; L: nop; bra L; }\nbra L;\n{ { bra L; } }");
  EXPECT_EQ(target(m, 1), 3u);
  EXPECT_EQ(target(m, 4), 3u);
  EXPECT_EQ(target(m, 5), 0u);
  EXPECT_EQ(target(m, 6), 0u);
}

TEST(Scopes, LabelOfAnOuterScopeMayComeLater) {
  const Module m = read_kernel("{ { bra E; } bra E; }\nnop;\nE: ret;");
  EXPECT_EQ(target(m, 0), 3u);
  EXPECT_EQ(target(m, 1), 3u);
}

TEST(Scopes, LabelInAnInnerScopeIsNotSeen) {
  EXPECT_EQ(said_of_kernel("bra L;\n{ L: nop; }"),
            "E-SYMBOL L: wanted a declared name, got none of that name [t:5:5]");
}

TEST(Scopes, InnerRegistersHideOuterOnesFromTheirDeclarationOn) {
  const Module m =
      read_kernel(".reg .b32 x;\n{ mov.b32 x, 1; .reg .b64 x; mov.b64 x, 2; }\nmov.b32 x, 3;");
  EXPECT_EQ(declaration(m, 0, 0), declaration(m, 2, 0));
  EXPECT_NE(declaration(m, 0, 0), declaration(m, 1, 0));
}

TEST(Scopes, ShortInnerRangeLeavesTheOthersToTheOuterOne) {
  const Module m = read_kernel("{ .reg .b32 %r<3>; x %r2, %r5; }\nx %r2, %r007;");
  EXPECT_NE(declaration(m, 0, 0), declaration(m, 0, 1));
  EXPECT_EQ(declaration(m, 0, 1), declaration(m, 1, 0));
  EXPECT_EQ(Statement(m, 1).register_of(Statement(m, 1).operand(1)), "%r7");
}

TEST(Scopes, NameIsInnerWhetherOrNotItIsOfARange) {
  const Module m = read_kernel("{ .reg .b32 %r3; x %r3, %r4; { .reg .b32 %r<9>; x %r3; } }");
  EXPECT_NE(declaration(m, 0, 0), declaration(m, 0, 1));
  EXPECT_NE(declaration(m, 1, 0), declaration(m, 0, 0));
  EXPECT_NE(declaration(m, 1, 0), declaration(m, 0, 1));
}

TEST(Scopes, RangeOfTwoToThe31CostsNothing) {
  const Module m = read_kernel(".reg .b32 %big<2147483648>;\nx %big0, %big2147483647;");
  EXPECT_EQ(m.functions[0].registers.size(), 2u);
  EXPECT_EQ(m.functions[0].registers[1].element, 2147483647u);
}

TEST(Scopes, MarksTellTheOrder) {
  const Module m = read_kernel("nop;\n{ .reg .b32 a; L: nop; }\n.local .b32 z;");
  const std::vector<Mark>& marks = m.functions[0].marks;
  const auto kind = [&](size_t i) { return marks.at(marks.size() - i).kind; };
  EXPECT_EQ(kind(5), Mark::Kind::open);
  EXPECT_EQ(kind(4), Mark::Kind::registers);
  EXPECT_EQ(kind(3), Mark::Kind::label);
  EXPECT_EQ(kind(2), Mark::Kind::close);
  EXPECT_EQ(kind(1), Mark::Kind::variable);
  EXPECT_EQ(marks.at(marks.size() - 5).at, 1u);
  EXPECT_EQ(marks.back().at, 2u);
}

TEST(Scopes, NamesAreResolvedPerFunction) {
  const Module m = read(module_text(
      ".entry a() { .reg .b32 x; L: mov.b32 x, 1; bra L; }\n.entry b() { .reg .b64 y, x; mov.b64 "
      "x, 1; nop; L: bra L; }"));
  ASSERT_EQ(m.functions.size(), 2u);
  EXPECT_EQ(m.functions[0].register_declarations.size(), 1u);
  EXPECT_EQ(declaration(m, 0, 0), 1u);
  EXPECT_EQ(target(m, 2), 2u);
}

TEST(Calls, ParametersReturnsAndPrototypes) {
  const Module m = read(module_text(
      ".func (.param .b32 r) f(.param .b32 a, .param .align 16 .b8 b[164]);\n"
      ".entry k(.param .u64 p) { .reg .b32 %r<4>; .reg .b64 %rd<2>;\n"
      "{ .param .b32 a0; .param .align 16 .b8 b0[164]; .param .b32 r0;\n"
      "call.uni (r0), \n f, \n ( a0, \n b0 );\n"
      "P : .callprototype (.param .b32 _) _ (.param .b32 _, .param .align 16 .b8 _[164]) "
      ".noreturn;\n"
      "T: .calltargets f;\n"
      "call (r0), %rd1, (a0, b0), P;\ncall (r0), %rd1, (a0, b0), T; call f; }\n }"));
  const Statement s(m, 0), t(m, 1), u(m, 2), v(m, 3);
  ASSERT_EQ(s.instruction.count, 3u);
  EXPECT_EQ(s.operand(0).kind, K::list);
  EXPECT_EQ(s.operand(1).kind, K::function);
  EXPECT_EQ(s.operand(1).index, 0u);
  ASSERT_EQ(s.operand(2).count, 2u);
  const Operand& b0 = s.child(s.operand(2), 1);
  EXPECT_EQ(b0.kind, K::function_variable);
  EXPECT_EQ(s.function.variables[b0.index].bytes, 164);
  EXPECT_EQ(s.function.variables[b0.index].alignment, 16u);
  EXPECT_EQ(t.operand(1).kind, K::reg);
  EXPECT_EQ(t.operand(3).kind, K::prototype);
  ASSERT_EQ(t.function.prototypes.size(), 1u);
  EXPECT_EQ(t.function.prototypes[0].parameters.size(), 2u);
  EXPECT_EQ(t.function.prototypes[0].results.size(), 1u);
  EXPECT_EQ(t.function.prototypes[0].directives.size(), 1u);
  EXPECT_EQ(u.operand(3).kind, K::call_targets);
  EXPECT_EQ(v.operand(0).kind, K::function);
}

TEST(Calls, RegistersAndConstantsAsParameters) {
  const Module m = read(module_text(
      ".func (.reg .b32 z) h(.reg .b32 x, .param .b32 y) { add.s32 z, x, 1; ret; }\n"
      ".entry k() { .reg .b32 %r<4>; call (%r1), h, (%r2, 5); call (%r1), h, (%r2, (4)); }"));
  EXPECT_TRUE(m.functions[0].results[0].is_register);
  EXPECT_FALSE(m.functions[0].parameters[1].is_register);
  const Statement s(m, 0);
  EXPECT_EQ(s.child(s.operand(0), 0).kind, K::reg);
  EXPECT_EQ(s.child(s.operand(2), 1).value, 5);
}

TEST(Branches, TablesOfLabels) {
  const Module m = read_kernel(
      "T: .branchtargets A, B, A;\nbrx.idx %r1, T;\nA: nop;\nB: nop;\nbrx.idx %r1, "
      "U;\nU: .branchtargets B;");
  const Function& f = m.functions[0];
  ASSERT_EQ(f.branch_targets.size(), 2u);
  ASSERT_EQ(f.branch_targets[0].count, 3u);
  const Operand& second = f.operands[f.branch_targets[0].first + 1];
  EXPECT_EQ(second.kind, K::label);
  EXPECT_EQ(f.labels[second.index].target, 2u);
  EXPECT_EQ(Statement(m, 0).operand(1).kind, K::branch_targets);
  EXPECT_EQ(Statement(m, 0).operand(1).index, 0u);
  EXPECT_EQ(Statement(m, 3).operand(1).index, 1u);
}

TEST(Branches, LabelAtTheEndOfABody) {
  const Module m = read_kernel("bra E; E:");
  EXPECT_EQ(target(m, 0), 1u);
}

}  // namespace
}  // namespace cohort::ptx
