// The instruction table: no opcode has two meanings, and its documentation is true.
#include "emu/insn/table.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

#include "emu/fixture.h"

namespace cohort::emu::test {
namespace {

TEST(Pattern, MatchesWhatItStandsFor) {
  const Pattern p("ld[.weak][.{global,shared::cta}].{u8,b32}");
  EXPECT_TRUE(p.matches({"ld", "b32"}));
  EXPECT_TRUE(p.matches({"ld", "weak", "shared::cta", "u8"}));
  EXPECT_FALSE(p.matches({"ld", "shared::cta", "weak", "u8"}));
  EXPECT_FALSE(p.matches({"ld", "global"}));
  EXPECT_FALSE(p.matches({"ld", "global", "b32", "b32"}));
}

TEST(Pattern, FindsWhatTwoHaveInCommon) {
  EXPECT_EQ(Pattern::common(Pattern("add[.sat].{s32,u32}"), Pattern("add.s32")), "add.s32");
  EXPECT_EQ(Pattern::common(Pattern("add[.x][.y].z"), Pattern("add.{y,w}.z")), "add.y.z");
  EXPECT_EQ(Pattern::common(Pattern("add.sat.s32"), Pattern("add.s32")), "");
  EXPECT_EQ(Pattern::common(Pattern("add[.sat].s32"), Pattern("add[.sat].u32")), "");
}

TEST(Table, GivesNoOpcodeTwoMeanings) {
  const auto& entries = table().entries();
  ASSERT_GT(entries.size(), 100u);
  for (size_t i = 0; i < entries.size(); ++i) {
    for (size_t j = i + 1; j < entries.size(); ++j) {
      EXPECT_EQ(Pattern::common(entries[i].pattern, entries[j].pattern), "")
          << entries[i].record->pattern << " and " << entries[j].record->pattern;
    }
  }
}

TEST(Table, IsTheSameOnEachLevel) {
  const Table one(v1::kFamilies);
  for (const Families* f : {&v3::kFamilies, &v4::kFamilies}) {
    const Table other(*f);
    ASSERT_EQ(one.entries().size(), other.entries().size());
    for (size_t i = 0; i < one.entries().size(); ++i) {
      EXPECT_STREQ(one.entries()[i].record->pattern, other.entries()[i].record->pattern);
    }
  }
}

TEST(Table, IsWhatThePageSays) {
  const std::string path = std::string(COHORT_SOURCE_DIR) + "/docs/emulator/instructions.md";
  const std::string want = table_page(table());
  if (std::getenv("COHORT_UPDATE") != nullptr) std::ofstream(path) << want;
  std::ifstream in(path);
  const std::string got{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  EXPECT_EQ(got, want) << "run test_emu with COHORT_UPDATE=1";
}

TEST(Decode, NamesEveryInstructionThatIsNotModelled) {
  const std::string text = std::string(kHeader) +
                           ".visible .entry k()\n{\n.reg .b32 %r<3>;\n.reg .b64 %rd;\n"
                           "mov.u32 %r1, 1;\nfrobnicate.b32 %r2, %r1;\nadd.f8 %r2, %r1, %r1;\n"
                           "add.s32 %rd, %r1, %r1;\nmov.u32 %r2, %envreg3;\nret;\n}\n";
  auto module = ptx::parse(text);
  ASSERT_TRUE(module) << module.findings().text();
  const auto kernel = decode(*module, "k", {.name = "k.ptx"});
  ASSERT_FALSE(kernel);
  EXPECT_EQ(kernel.findings().total(), 4);
  EXPECT_EQ(kernel.findings().kind(), ErrorKind::unsupported);
  EXPECT_EQ(kernel.findings()[0].where, "k.ptx:9");
  EXPECT_EQ(kernel.findings()[0].op, "frobnicate.b32");
  EXPECT_EQ(kernel.findings()[1].where, "k.ptx:10");
  EXPECT_EQ(kernel.findings()[2].where, "k.ptx:11");
  EXPECT_EQ(kernel.findings()[3].where, "k.ptx:12");
}

TEST(Decode, WantsAnEntry) {
  auto module = ptx::parse(std::string(kHeader) + ".visible .entry k()\n{\nret;\n}\n");
  ASSERT_TRUE(module);
  EXPECT_TRUE(decode(*module, "k"));
  const auto other = decode(*module, "l");
  ASSERT_FALSE(other);
  EXPECT_EQ(other.findings().kind(), ErrorKind::mismatch);
}

}  // namespace
}  // namespace cohort::emu::test
