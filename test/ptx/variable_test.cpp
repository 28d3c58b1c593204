// Variables: sizes, alignment, linkage, initialisers.
#include <gtest/gtest.h>

#include <cstring>

#include "ptx/helpers.h"

namespace cohort::ptx {
namespace {

// The first variable of a module with this statement.
Variable variable(const std::string& statement) {
  const Module m = read(module_text(statement));
  return m.variables.empty() ? Variable{} : m.variables[0];
}

template <class T>
std::vector<T> values(const Variable& v) {
  std::vector<T> all(v.image.size() / sizeof(T));
  std::memcpy(all.data(), v.image.data(), v.image.size());
  return all;
}

TEST(Variables, SizesAndAlignment) {
  const Module m = read(module_text(
      ".global .u32 a;\n.shared .align 1024 .b8 b[49152];\n.const .f64 c[3][5];\n.global .v4 .f32 "
      "d[2];\n.global .align 2 .v2 .b8 e;\n.global .b128 f;\n.shared .b32 g[2], h;"));
  const int64_t bytes[] = {4, 49152, 120, 32, 2, 16, 8, 4};
  const uint32_t alignment[] = {4, 1024, 8, 16, 2, 16, 4, 4};
  ASSERT_EQ(m.variables.size(), 8u);
  for (size_t i = 0; i < 8; ++i) {
    EXPECT_EQ(m.variables[i].bytes, bytes[i]) << i;
    EXPECT_EQ(m.variables[i].alignment, alignment[i]) << i;
  }
  EXPECT_EQ(m.variables[2].extents, (std::vector<int64_t>{3, 5}));
}

TEST(Variables, Linkage) {
  const Module m = read(module_text(
      ".extern .shared .align 1024 .b8 s[];\n.visible .global .attribute(.managed) .u32 m;\n.weak "
      ".global .u32 w;\n.common .global .u32 c;\n.extern .global .u32 x;\n.extern .global .u32 x;\n"
      ".global .texref t;"));
  ASSERT_EQ(m.variables.size(), 6u);
  EXPECT_EQ(m.variables[0].linkage, Linkage::external);
  EXPECT_TRUE(m.variables[0].is_unsized);
  EXPECT_EQ(m.variables[0].bytes, 0);
  EXPECT_EQ(m.texts[m.variables[1].attribute], ".managed");
  EXPECT_EQ(m.variables[2].linkage, Linkage::weak);
  EXPECT_EQ(m.variables[3].linkage, Linkage::common);
  EXPECT_EQ(m.variables[5].type, Type::texref);
}

TEST(Variables, OfAFunction) {
  const Module m = read_kernel(
      ".local .align 16 .b8 __local_depot0[32];\n.shared .align 8 .b8 demoted[264];\nmov.b64 %rd1, "
      "__local_depot0;\n{ .shared .b32 demoted; x demoted; }\nx demoted;");
  const Function& f = m.functions[0];
  EXPECT_EQ(f.variables[Statement(m, 0).operand(1).index].space, Space::local);
  EXPECT_EQ(f.variables[Statement(m, 1).operand(0).index].bytes, 4);
  EXPECT_EQ(f.variables[Statement(m, 2).operand(0).index].bytes, 264);
}

TEST(Images, Integers) {
  EXPECT_EQ(values<uint32_t>(variable(".global .u32 x = 7;")), (std::vector<uint32_t>{7}));
  EXPECT_EQ(values<int16_t>(variable(".const .s16 x[4] = {-1, 2, 0x7fff};")),
            (std::vector<int16_t>{-1, 2, 32767}));
  EXPECT_EQ(values<uint8_t>(variable(".global .b8 x[3] = {104, 0x1ff, 1+2*3};")),
            (std::vector<uint8_t>{104, 255, 7}));
  EXPECT_EQ(values<uint64_t>(variable(".global .b128 x[2] = {-2, 18446744073709551615};")),
            (std::vector<uint64_t>{UINT64_MAX - 1, UINT64_MAX, UINT64_MAX, 0}));
  const Variable inferred = variable(".global .u32 x[] = {1, 2, 3};");
  EXPECT_EQ(inferred.bytes, 12);
  EXPECT_FALSE(inferred.is_unsized);
}

TEST(Images, Floats) {
  EXPECT_EQ(values<float>(variable(".global .f32 x[4] = {1.5, 0f3f800000, -2, 3U};")),
            (std::vector<float>{1.5f, 1, -2, 3}));
  EXPECT_EQ(values<double>(variable(".global .f64 x[3] = {0.1, 0d3FF0000000000000, -1e300};")),
            (std::vector<double>{0.1, 1, -1e300}));
  EXPECT_EQ(values<uint16_t>(variable(".global .f16 x = 0x3c00;")),
            (std::vector<uint16_t>{0x3c00}));
  // A NaN keeps its payload.
  EXPECT_EQ(values<uint32_t>(variable(".global .f32 x = 0f7f812345;")),
            (std::vector<uint32_t>{0x7f812345}));
}

TEST(Images, ExtentsAndVectorsNest) {
  const Variable v = variable(".global .u32 x[2][3] = {{1, 2}, {3}};");
  EXPECT_EQ(values<uint32_t>(v), (std::vector<uint32_t>{1, 2, 0, 3}));
  const Variable w = variable(".global .v2 .u8 x[] = {{1, 2}, {}, {5}};");
  EXPECT_EQ(values<uint8_t>(w), (std::vector<uint8_t>{1, 2, 0, 0, 5}));
  EXPECT_EQ(w.bytes, 6);
  EXPECT_EQ(values<uint32_t>(variable(".global .v4 .u32 x = {1, 2, 3, 4};")).size(), 4u);
}

TEST(Images, Addresses) {
  const Module m = read(module_text(
      ".func f();\n.global .u32 x;\n.global .u64 a[4] = {x+4, generic(x)+8, f, 5};\n.global .u8 "
      "b[2] = {0xff(x), 0xff00(generic(x)+1)};"));
  const std::vector<Relocation>& r = m.variables[1].relocations;
  ASSERT_EQ(r.size(), 3u);
  EXPECT_EQ(r[0].symbol, 0u);
  EXPECT_EQ(r[0].addend, 4);
  EXPECT_FALSE(r[0].is_generic);
  EXPECT_TRUE(r[1].is_generic);
  EXPECT_EQ(r[1].offset, 8);
  EXPECT_EQ(r[1].addend, 8);
  EXPECT_TRUE(r[2].is_function);
  EXPECT_EQ(values<uint64_t>(m.variables[1]).at(3), 5u);
  const std::vector<Relocation>& b = m.variables[2].relocations;
  ASSERT_EQ(b.size(), 2u);
  EXPECT_EQ(b[0].mask, 0xffu);
  EXPECT_EQ(b[0].bytes, 1u);
  EXPECT_EQ(b[1].mask, 0xff00u);
  EXPECT_EQ(b[1].addend, 1);
}

TEST(Images, WhatIsWrongWithOne) {
  for (const char* bad :
       {".global .u32 x = {3};", ".global .u32 x[2] = {1, 2, 3};", ".global .u32 x[2] = 3;",
        ".global .u32 x[2][2] = {1, 2, 3, 4};", ".global .u32 x = 1.5;", ".global .pred x = 1;",
        ".shared .u32 x = 3;", ".global .u64 x = y;", ".global .u16 x = x;",
        ".global .b8 x[4] = \"abc\";", ".global .u32 x[2] = {1, 2;", ".global .f32 x = ;"}) {
    EXPECT_NE(said_of(module_text(bad)).find("E-"), std::string::npos) << bad;
  }
}

TEST(Variables, WhatIsWrongWithOne) {
  for (const char* bad : {".global x;",
                          ".global .u32 .u32 x;",
                          ".global .align 3 .u32 x;",
                          ".global .u32 x[-1];",
                          ".global .u32 x[][];",
                          ".global .u32 x[4][];",
                          ".global .u32;",
                          ".global .u32 5;",
                          ".global .q32 x;",
                          ".global .u32 x",
                          ".global .u32 x[1;",
                          ".const[2] .u32 x;",
                          ".global .u64 x[4611686018427387904];",
                          ".global .align 0 .u32 x;",
                          ".global .u8 x[2][2][2][2][2][2][2][2][2][2][2][2][2][2][2][2][2];",
                          ".entry k(.param .u32 a { }",
                          ".entry k(.u32 a) { }",
                          ".entry k(.reg .b32 r[3]) { }",
                          ".entry k(.param .u64 .ptr .align 3 p) { }",
                          ".entry k(.reg .align 8 .b32 r) { }",
                          ".common .alias a, b;",
                          ".foo 3;",
                          "}"}) {
    EXPECT_NE(said_of(module_text(bad)).find("E-PTX"), std::string::npos) << bad;
  }
}

}  // namespace
}  // namespace cohort::ptx
