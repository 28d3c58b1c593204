// Instructions: guards, opcodes, every form of operand.
#include <gtest/gtest.h>

#include <bit>

#include "ptx/helpers.h"

namespace cohort::ptx {
namespace {

using K = OperandKind;

TEST(Operands, OpcodeIsInternedWholeAndInParts) {
  const Module m = read_kernel(
      "ld.shared::cta.v4.b32 {%r1,%r2,%r3,%r4},[%r5];\nld.shared::cta.v4.b32 "
      "{%r1,%r2,%r3,%r4}, [%r5+16];\nret;");
  const Statement a(m, 0), b(m, 1), c(m, 2);
  EXPECT_EQ(a.instruction.opcode, b.instruction.opcode);
  EXPECT_NE(a.instruction.opcode, c.instruction.opcode);
  EXPECT_EQ(a.opcode(), "ld.shared::cta.v4.b32");
  const Opcode& o = m.opcodes[a.instruction.opcode];
  ASSERT_EQ(o.modifiers.size(), 4u);
  EXPECT_EQ(a.text(o.modifiers[0]), "ld");
  EXPECT_EQ(a.text(o.modifiers[1]), "shared::cta");
  EXPECT_EQ(a.text(o.modifiers[2]), "v4");
  EXPECT_EQ(a.text(o.modifiers[3]), "b32");
  EXPECT_EQ(c.instruction.count, 0u);
}

TEST(Operands, ModifiersMayStandApart) {
  const Module m = read_kernel("add /* x */ .s32\n .sat%r1,%r2,3;");
  EXPECT_EQ(Statement(m, 0).opcode(), "add.s32.sat");
  EXPECT_EQ(Statement(m, 0).instruction.count, 3u);
}

TEST(Operands, GluedToTheOpcode) {
  const Module m = read_kernel(
      "mov.b32%r1,%r2;st.global.v2.b32[%rd1],{%r1,%r2};mov.b64{%r1,%r2},%rd1;@%p1 "
      "bra L;@!%p1\tbra L;L:neg.s32%r1,%r1;");
  EXPECT_EQ(Statement(m, 0).opcode(), "mov.b32");
  EXPECT_EQ(Statement(m, 1).operand(0).kind, K::address);
  EXPECT_EQ(Statement(m, 2).operand(0).kind, K::vector);
  EXPECT_EQ(Statement(m, 4).operand(0).kind, K::label);
  EXPECT_EQ(m.functions[0].labels[0].target, 5u);
}

TEST(Operands, Guards) {
  const Module m = read_kernel("@%p1 ret;\n@!%p2 ret;\n@ ! %p2 ret;\nret;");
  const Function& f = m.functions[0];
  ASSERT_EQ(f.code.size(), 4u);
  EXPECT_EQ(f.registers[f.code[0].guard].element, 1u);
  EXPECT_FALSE(f.code[0].guard_negated);
  EXPECT_EQ(f.registers[f.code[1].guard].element, 2u);
  EXPECT_TRUE(f.code[1].guard_negated);
  EXPECT_EQ(f.code[1].guard, f.code[2].guard);
  EXPECT_EQ(f.code[3].guard, kNone);
}

TEST(Operands, RegistersAreNumberedInTheOrderOfUse) {
  const Module m = read_kernel("add.s32 %r7, %r2, %r7;\nmov.b64 %rd1, %rd0;");
  const Function& f = m.functions[0];
  ASSERT_EQ(f.registers.size(), 4u);
  EXPECT_EQ(f.registers[0].element, 7u);
  EXPECT_EQ(f.registers[1].element, 2u);
  EXPECT_EQ(f.register_declarations[f.registers[0].declaration].type, Type::b32);
  EXPECT_EQ(f.register_declarations[f.registers[2].declaration].type, Type::b64);
  const Statement s(m, 0);
  EXPECT_EQ(s.operand(0).index, s.operand(2).index);
  EXPECT_EQ(s.register_of(s.operand(1)), "%r2");
}

TEST(Operands, Immediates) {
  const Module m = read_kernel(
      "x %r1, -5, 5U, 0f00000000, 0d3FF0000000000000, 1.5, -2.5, -9223372036854775808, "
      "0xFFFFFFFFFFFFFFFF, WARP_SZ;");
  const Statement s(m, 0);
  EXPECT_EQ(s.operand(1).kind, K::integer);
  EXPECT_EQ(s.operand(1).value, -5);
  EXPECT_FALSE(s.operand(1).is_unsigned);
  EXPECT_TRUE(s.operand(2).is_unsigned);
  EXPECT_EQ(s.operand(3).kind, K::f32);
  EXPECT_EQ(s.operand(3).value, 0);
  EXPECT_EQ(s.operand(4).kind, K::f64);
  EXPECT_EQ(s.operand(5).value, std::bit_cast<int64_t>(1.5));
  EXPECT_EQ(s.operand(6).value, std::bit_cast<int64_t>(-2.5));
  EXPECT_EQ(s.operand(7).value, INT64_MIN);
  EXPECT_FALSE(s.operand(7).is_unsigned);
  EXPECT_EQ(s.operand(8).value, -1);
  EXPECT_TRUE(s.operand(8).is_unsigned);
  EXPECT_EQ(s.operand(9).value, 32);
}

TEST(Operands, Addresses) {
  const Module m = read_kernel(
      "x [%rd1];\nx [%rd1+8];\nx [%rd1+-8];\nx [%rd1-8];\nx [s];\nx [s+72];\nx [n];\nx [64];\nx "
      "[%rd1 + 4*(2+1)];\nx [s-4+2];",
      ".shared .align 16 .b8 s[128];\n");
  const auto at = [&](size_t i) { return Statement(m, i).operand(0); };
  EXPECT_EQ(at(0).base, K::reg);
  EXPECT_EQ(at(0).value, 0);
  EXPECT_EQ(at(1).value, 8);
  EXPECT_EQ(at(2).value, -8);
  EXPECT_EQ(at(3).value, -8);
  EXPECT_EQ(at(4).base, K::module_variable);
  EXPECT_EQ(at(4).index, 0u);
  EXPECT_EQ(at(5).value, 72);
  EXPECT_EQ(at(6).base, K::function_variable);
  EXPECT_EQ(m.functions[0].variables[at(6).index].space, Space::param);
  EXPECT_EQ(at(7).base, K::integer);
  EXPECT_EQ(at(7).value, 64);
  EXPECT_EQ(at(8).value, 12);
  EXPECT_EQ(at(9).value, -2);
}

TEST(Operands, TensorFormsHaveCoordinatesInBrackets) {
  const Module m = read_kernel(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.tile "
      "[%r1], [%rd1, {%r2, -3}], [%r3], 0x3, %rd2;");
  const Statement s(m, 0);
  ASSERT_EQ(s.instruction.count, 5u);
  const Operand& tensor = s.operand(1);
  EXPECT_EQ(tensor.kind, K::address);
  EXPECT_EQ(tensor.base, K::reg);
  ASSERT_EQ(tensor.count, 1u);
  const Operand& coordinates = s.child(tensor, 0);
  EXPECT_EQ(coordinates.kind, K::vector);
  EXPECT_EQ(s.register_of(s.child(coordinates, 0)), "%r2");
  EXPECT_EQ(s.child(coordinates, 1).value, -3);
  EXPECT_EQ(s.operand(2).base, K::reg);
  EXPECT_EQ(s.operand(3).value, 3);
}

TEST(Operands, VectorsWithSinks) {
  const Module m = read_kernel("x {%r1, _, 5, s+4}, _;", ".shared .b32 s;\n");
  const Statement s(m, 0);
  const Operand& v = s.operand(0);
  ASSERT_EQ(v.count, 4u);
  EXPECT_EQ(s.child(v, 0).kind, K::reg);
  EXPECT_EQ(s.child(v, 1).kind, K::sink);
  EXPECT_EQ(s.child(v, 2).value, 5);
  EXPECT_EQ(s.child(v, 3).kind, K::module_variable);
  EXPECT_EQ(s.child(v, 3).value, 4);
  EXPECT_EQ(s.operand(1).kind, K::sink);
}

TEST(Operands, PairsAndNegatedPredicates) {
  const Module m = read_kernel(
      "elect.sync %r1|%p1, -1;\nsetp.eq.and.s32 %p1|%p2, %r1, 0, !%p0;\nelect.sync _|%p1, "
      "-1;\nx -%r1, -%r2.b0;");
  const Statement s(m, 0), t(m, 1), u(m, 2), v(m, 3);
  EXPECT_EQ(s.operand(0).kind, K::pair);
  EXPECT_EQ(s.register_of(s.child(s.operand(0), 0)), "%r1");
  EXPECT_EQ(s.register_of(s.child(s.operand(0), 1)), "%p1");
  EXPECT_TRUE(t.operand(3).is_negated);
  EXPECT_EQ(t.register_of(t.operand(3)), "%p0");
  EXPECT_EQ(u.child(u.operand(0), 0).kind, K::sink);
  EXPECT_TRUE(v.operand(0).is_minus);
  EXPECT_EQ(v.text(v.operand(1).selector), "b0");
}

TEST(Operands, SpecialRegisters) {
  const Module m = read_kernel(
      "x %tid.x, %ctaid.z, %laneid, %envreg31, %cluster_ctarank, %clock64, %pm7_64, %pm0;");
  const Statement s(m, 0);
  EXPECT_EQ(s.operand(0).kind, K::special);
  EXPECT_EQ(s.text(s.operand(0).index), "%tid");
  EXPECT_EQ(s.text(s.operand(0).selector), "x");
  EXPECT_EQ(s.operand(2).selector, 0u);
  for (size_t i = 0; i < 8; ++i) EXPECT_EQ(s.operand(i).kind, K::special) << i;
  for (const char* none : {"%envreg32", "%envreg", "%tidx", "%pm8", "%envreg01", "%envreg-1"}) {
    EXPECT_NE(said_of_kernel("x " + std::string(none) + ";").find("E-"), std::string::npos) << none;
  }
}

TEST(Operands, RegistersWithAnOffset) {
  const Module m = read_kernel("x %r1+1, %r2+-1;");
  const Statement s(m, 0);
  EXPECT_EQ(s.register_of(s.operand(0)), "%r1");
  EXPECT_EQ(s.operand(0).value, 1);
  EXPECT_EQ(s.operand(1).value, -1);
}

TEST(Operands, ElementsOfArraysAndAddressesOfVariables) {
  const Module m = read_kernel("x s[3], s[%r1], s[%r1+2], s+8, s-8, s;", ".shared .b32 s[16];\n");
  const Statement s(m, 0);
  EXPECT_EQ(s.operand(0).kind, K::element);
  EXPECT_EQ(s.operand(0).value, 3);
  EXPECT_EQ(s.operand(0).count, 0u);
  EXPECT_EQ(s.register_of(s.child(s.operand(1), 0)), "%r1");
  EXPECT_EQ(s.operand(2).value, 2);
  EXPECT_EQ(s.operand(3).kind, K::module_variable);
  EXPECT_EQ(s.operand(3).value, 8);
  EXPECT_EQ(s.operand(4).value, -8);
  EXPECT_EQ(s.operand(5).value, 0);
}

TEST(Operands, VectorRegistersAndTheirElements) {
  const Module m = read_kernel(
      ".reg .v4 .b32 v<3>; .reg .v2 .f32 w; .reg .b128 q;\nmov.b32 v1.x, %r1;\nmov.v2.f32 w, "
      "{%f1, %f2};\nmov.b128 q, {%rd1, %rd2};\nmov.b128 {%rd1, _}, q;");
  const Function& f = m.functions[0];
  const Statement s(m, 0);
  EXPECT_EQ(s.register_of(s.operand(0)), "v1");
  EXPECT_EQ(s.text(s.operand(0).selector), "x");
  const auto declaration = [&](const Statement& t) {
    return f.register_declarations[f.registers[t.operand(0).index].declaration];
  };
  EXPECT_EQ(declaration(s).vector, 4);
  EXPECT_EQ(declaration(Statement(m, 1)).vector, 2);
  EXPECT_EQ(declaration(Statement(m, 2)).type, Type::b128);
}

TEST(Operands, ConstantExpressions) {
  struct Case {
    const char* text;
    int64_t value;
  };
  for (const Case& c : {Case{"(1+2)*3<<1", 18},
                        {"1+2*3", 7},
                        {"-1>>1", -1},
                        {"7/2-7 % 2", 2},
                        {"~0", -1},
                        {"!5", 0},
                        {"5>3?7:8", 7},
                        {"0?1:0?2:3", 3},
                        {"1<2&&2<=2||0", 1},
                        {"6&3|8^1", 11},
                        {"3==3", 1},
                        {"3!=3", 0},
                        {"4>=5", 0},
                        {"(.s64)-1", -1},
                        {"(.u64)-1>0", 1},
                        {"1<<64", 0},
                        {"0x8000000000000000>>63", 1},
                        {"- - 3", 3},
                        {"WARP_SZ*2", 64}}) {
    const Module m = read_kernel("x " + std::string(c.text) + ";");
    EXPECT_EQ(Statement(m, 0).operand(0).kind, K::integer) << c.text;
    EXPECT_EQ(Statement(m, 0).operand(0).value, c.value) << c.text;
  }
  const Module m = read_kernel("x 1.5+0.25, 3.0*-2.0, 1.0/4.0, 1.0-2.0;");
  const double wanted[] = {1.75, -6, 0.25, -1};
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(Statement(m, 0).operand(i).value, std::bit_cast<int64_t>(wanted[i])) << i;
  }
  for (const char* bad : {"1/0", "1%(2-2)", "1+", "(1", "1?2", "1.5<<2", "0f3f800000+1", "~1.5",
                          "(.u32)1", "1.5?2:3"}) {
    EXPECT_NE(said_of_kernel("x " + std::string(bad) + ";").find("E-PTX"), std::string::npos)
        << bad;
  }
}

TEST(Operands, QuotientOfTheSmallestIntegerDoesNotTrap) {
  const Module m = read_kernel("x -9223372036854775808/-1, -9223372036854775808 % (-1);");
  EXPECT_EQ(Statement(m, 0).operand(0).value, INT64_MIN);
  EXPECT_EQ(Statement(m, 0).operand(1).value, 0);
}

}  // namespace
}  // namespace cohort::ptx
