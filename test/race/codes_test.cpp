// Every code and every rule has its words: unique, and in docs/emulator/rules.md.
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "emu/fault.h"
#include "emu/rules.h"

namespace {

using cohort::emu::FaultCode;
using cohort::emu::kFaultCodes;

std::string page() {
  std::ifstream in(std::string(COHORT_SOURCE_DIR) + "/docs/emulator/rules.md");
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

// The text below "### code", up to the next heading.
std::string entry(const std::string& text, const std::string& code) {
  const size_t begin = text.find("\n### " + code + "\n");
  if (begin == std::string::npos) return {};
  return text.substr(begin + 1, text.find("\n##", begin + 4) - begin);
}

TEST(Codes, EachHasAnEntryWithItsTitleAndAFix) {
  const std::string text = page();
  ASSERT_FALSE(text.empty());
  std::set<std::string> codes;
  for (int c = 0; c < kFaultCodes; ++c) {
    const auto code = static_cast<FaultCode>(c);
    const std::string name(cohort::emu::code_of(code));
    EXPECT_TRUE(codes.insert(name).second) << name << " twice";
    EXPECT_EQ(name.rfind("K-", 0), 0U);
    const std::string found = entry(text, name);
    ASSERT_FALSE(found.empty()) << name << " has no entry";
    // The title is the beginning of the entry's first sentence.
    std::string title(cohort::emu::title_of(code));
    EXPECT_NE(found.find(title.substr(1)), std::string::npos) << name << ": " << title;
    EXPECT_NE(found.find("Fix: "), std::string::npos) << name;
    // What the race checker finds has an example.
    if (code <= FaultCode::uninitialised) {
      EXPECT_NE(found.find("```"), std::string::npos) << name;
    }
  }
  size_t entries = 0;
  for (size_t at = text.find("\n### K-"); at != std::string::npos;
       at = text.find("\n### K-", at + 1)) {
    ++entries;
  }
  EXPECT_EQ(entries, codes.size()) << "an entry of no code";
}

TEST(Rules, StandInThePageAndInOneProfile) {
  const std::string text = page();
  const cohort::emu::Rules strict = cohort::emu::strict_rules();
  const cohort::emu::Rules practice = cohort::emu::practice_rules();
  for (const cohort::emu::RuleLine& line : cohort::emu::kRuleLines) {
    EXPECT_NE(text.find("| `" + std::string(line.name) + "` |"), std::string::npos) << line.name;
    EXPECT_FALSE(line.reason.empty());
    EXPECT_TRUE(line.by == "race" || line.by == "machine") << line.name;
    EXPECT_FALSE(strict.*line.member) << line.name;
    EXPECT_TRUE(practice.*line.member) << line.name;
  }
}

TEST(FaultLists, FoldWhatIsAlike) {
  cohort::emu::FaultList list;
  cohort::emu::Fault f;
  f.has_earlier = f.has_place = true;
  f.now.pc = 1;
  f.earlier.pc = 2;
  list.fault(f);
  f.offset = 64;
  f.count = 3;
  list.fault(f);
  ASSERT_EQ(list.faults().size(), 1U);
  EXPECT_EQ(list.faults()[0].count, 4U);
  EXPECT_EQ(list.faults()[0].offset, 0U) << "the first one stands for all";
  cohort::emu::Fault other = f;
  other.code = FaultCode::proxy;
  list.fault(other);
  other = f;
  other.now.pc = 3;
  list.fault(other);
  other = f;
  other.earlier.pc = 3;
  list.fault(other);
  other = f;
  other.space = cohort::emu::Space::global;
  list.fault(other);
  EXPECT_EQ(list.faults().size(), 5U);
}

}  // namespace
