// Texts that compilers wrote for our own kernels: they are read, and printed as themselves.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "ptx/helpers.h"

namespace cohort::ptx {
namespace {

namespace fs = std::filesystem;

std::string content(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

std::string data(const std::string& name) {
  return content(fs::path(COHORT_SOURCE_DIR) / "test/ptx/data" / name);
}

size_t instructions(const Module& m, std::string_view opcode) {
  size_t n = 0;
  for (const Function& f : m.functions) {
    for (const Instruction& i : f.code) n += m.texts[m.opcodes[i.opcode].text] == opcode;
  }
  return n;
}

TEST(Data, EveryTextHasItsSourceAndIsRead) {
  int texts = 0;
  for (const auto& entry : fs::directory_iterator(fs::path(COHORT_SOURCE_DIR) / "test/ptx/data")) {
    if (entry.path().extension() != ".ptx") continue;
    ++texts;
    EXPECT_TRUE(fs::exists(fs::path(entry.path()).replace_extension(".cu"))) << entry.path();
    const Module m = read(content(entry.path()));
    EXPECT_FALSE(m.functions.empty()) << entry.path();
  }
  EXPECT_EQ(texts, 3);
}

TEST(Data, CallsAndTables) {
  const Module m = read(data("calls.ptx"));
  EXPECT_EQ(instructions(m, "call.uni"), 4u);
  EXPECT_EQ(instructions(m, "call"), 1u);
  std::set<std::string> names;
  for (const Variable& v : m.variables) names.insert(std::string(m.texts[v.name]));
  for (const char* name : {"table", "counter", "greeting", "functions", "dynamic"}) {
    EXPECT_TRUE(names.contains(name)) << name;
  }
  const Function& kernel = m.functions.back();
  EXPECT_EQ(kernel.parameters.size(), 5u);
  EXPECT_EQ(kernel.variables[kernel.parameters[0].index].bytes, 164);
  EXPECT_NE(kernel.code.back().location, kNone);
}

TEST(Data, ScopesOfInlineAssembly) {
  const Module m = read(data("pipeline.ptx"));
  EXPECT_GE(instructions(m, "elect.sync"), 2u);
  EXPECT_GE(instructions(m, "tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale.block32"), 1u);
  EXPECT_EQ(instructions(m, "tcgen05.ld.sync.aligned.32x32b.x8.b32"), 1u);
  const Function& f = m.functions.back();
  size_t again = 0;
  for (const Label& l : f.labels) again += m.texts[l.name] == "again";
  EXPECT_GE(again, 2u);
  const bool inlined = std::any_of(m.locations.begin(), m.locations.end(),
                                   [](const Location& l) { return l.inlined_line != 0; });
  EXPECT_TRUE(inlined);
}

}  // namespace
}  // namespace cohort::ptx
