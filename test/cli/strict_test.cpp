// What the command refuses where it once passed on in silence, and what it leaves behind.
#include <csignal>
#include <cstdint>
#include <cstring>

#include <nlohmann/json.hpp>

#include "cli/command.h"

namespace cohort::test {
namespace {

using Json = nlohmann::json;
using Strict = Command;

// A safetensors file of the given header and `bytes` zero bytes.
std::string tensors(const std::string& header, size_t bytes) {
  std::string s(8, '\0');
  const uint64_t n = header.size();
  std::memcpy(s.data(), &n, 8);
  return s + header + std::string(bytes, '\0');
}

TEST_F(Strict, Arguments) {
  const std::string g = sample("matmul_relu");
  fails("run " + g + " --random -1", 2, "-1");
  fails("run " + g + " --random 1x", 2, "1x");
  fails("run " + g + " --random 99999999999999999999999", 2, "2^64");
  EXPECT_EQ(cohort("run " + g + " --random 18446744073709551615 --size M=2").exit, 0);
  fails("run " + g + " --random 1 --size M=8 --outputs ''", 2, "path");
  fails("run " + g + " --random 1 --size M=8 --compare reference --results ''", 2, "path");
  fails("run " + g + " --inputs ''", 2, "path");
  fails("show " + g + " --format svg --json", 2, "--json");
  fails("bogus", 2, "no command 'bogus'; there are check");
  EXPECT_EQ(cohort("bogus").err.find("subcommand"), std::string::npos);
}

TEST_F(Strict, EnvironmentVariables) {
  const std::string g = sample("matmul_relu");
  const auto plan = [&](const std::string& variables) {
    return shell(variables + " " COHORT_COMMAND " plan " + g);
  };
  for (const std::string bad : {"COHORT_THREADS=abc", "COHORT_THREADS=0", "COHORT_THREADS=4x",
                                "COHORT_THREADS=4097", "COHORT_ISA=v9"}) {
    const Said s = plan(bad);
    EXPECT_EQ(s.exit, 3) << bad;
    EXPECT_NE(s.err.find(bad.substr(0, bad.find('=')) + ": wanted"), std::string::npos) << s.err;
  }
  const Said both = plan("COHORT_ISA=v9 COHORT_THREADS=0");
  EXPECT_NE(both.err.find("COHORT_ISA"), std::string::npos);
  EXPECT_NE(both.err.find("COHORT_THREADS"), std::string::npos);
  const Said env = shell("COHORT_ISA=v9 COHORT_THREADS=0 " COHORT_COMMAND " env");
  EXPECT_EQ(env.exit, 0) << "it was asked, and says";
  EXPECT_NE(env.out.find("COHORT_ISA: wanted v1, v3 or v4, got v9"), std::string::npos) << env.out;
  EXPECT_NE(env.out.find("COHORT_THREADS: wanted 1 .. 4096, got 0"), std::string::npos) << env.out;
  const Said json = shell("COHORT_ISA=v9 " COHORT_COMMAND " env --json");
  EXPECT_NE(json.out.find("\"variables\": \"COHORT_ISA: wanted"), std::string::npos) << json.out;
  EXPECT_EQ(plan("COHORT_THREADS=2 COHORT_ISA=v1").exit, 0);
  EXPECT_EQ(plan("COHORT_THREADS= COHORT_ISA=").exit, 0);
}

TEST_F(Strict, EveryProblemOfAFileAtOnce) {
  const std::string g = sample("bf16_ends");
  const std::string header = R"({"zz":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})";
  const Said s = cohort("run " + g + " --inputs " + write("in", tensors(header, 4)));
  EXPECT_EQ(s.exit, 1);
  for (const char* want : {"E-SIZE T", "E-TENSOR x", "E-TENSOR w", "E-TENSOR zz"}) {
    EXPECT_NE(s.err.find(want), std::string::npos) << want << "\n" << s.err;
  }
}

// Who would have said T is there, with a rank that is not the graph's: that is what is wrong.
TEST_F(Strict, AnotherRankIsNoMissingSize) {
  Json g = Json::parse(cohort("sample bf16_ends").out);
  g["inputs"][0]["shape"] = {"T", "K"};
  g["inputs"][1]["shape"][2] = "K";
  g["dims"].push_back({{"name", "K"}, {"bound", 512}});
  const std::string file =
      write("rank.st", tensors(R"({"x":{"dtype":"BF16","shape":[1,4,8],"data_offsets":[0,64]},)"
                               R"("rows":{"dtype":"I32","shape":[8],"data_offsets":[64,96]}})",
                               96));
  const Said s = cohort("run " + write("g.json", g.dump()) + " --inputs " + file);
  EXPECT_EQ(1, s.exit);
  EXPECT_EQ(0u, s.err.rfind("E-SHAPE x: wanted 2 extents, the file has 3 extents\n"
                            "E-TENSOR w: the file has no such tensor\nREPRO",
                            0))
      << s.err;
}

TEST_F(Strict, ManyProblemsAreCounted) {
  std::string header = "{";
  for (int i = 0; i < 300; ++i) {
    header += (i > 0 ? ",\"z" : "\"z") + std::to_string(i) +
              R"(":{"dtype":"F32","shape":[0],"data_offsets":[0,0]})";
  }
  const std::string in = write("in", tensors(header + "}", 0));
  const Said s = cohort("run " + sample("matmul_relu") + " --size M=1 --inputs " + in);
  EXPECT_EQ(s.exit, 1);
  EXPECT_NE(s.err.find("(202 more problems)"), std::string::npos) << "2 inputs and 300 strangers";
  EXPECT_LT(s.err.size(), 10'000u);
}

// Everything that the graph needs, and what else `more` names.
std::string matmul_inputs(const std::string& b_shape, const std::string& more, size_t bytes) {
  return tensors(R"({"a":{"dtype":"BF16","shape":[1,512],"data_offsets":[0,1024]},)"
                 R"("b":{"dtype":"BF16","shape":)" +
                     b_shape + R"(,"data_offsets":[1024,263168]})" + more + "}",
                 263168 + bytes);
}

TEST_F(Strict, ShapesInFiles) {
  const std::string g = sample("matmul_relu");
  const std::string run = "run " + g + " --inputs ";
  EXPECT_EQ(cohort(run + write("good", matmul_inputs("[256,512]", "", 0))).exit, 0);
  fails(run + write("flat", matmul_inputs("[131072]", "", 0)), 1,
        "b: wanted [256, 512], the file has [131072]");
  // An output of an earlier run may be there. It is not read, and yet it must be one.
  const std::string name = nlohmann::json::parse(read_file(g))["outputs"][0]["name"];
  const auto output = [&](const std::string& shape, size_t bytes) {
    return write("output", matmul_inputs("[256,512]",
                                         ",\"" + name + R"(":{"dtype":"BF16","shape":)" + shape +
                                             R"(,"data_offsets":[263168,)" +
                                             std::to_string(263168 + bytes) + "]}",
                                         bytes));
  };
  EXPECT_EQ(cohort(run + output("[1,256]", 512)).exit, 0) << cohort(run + path("output")).err;
  fails(run + output("[1,4]", 8), 1, name + ": wanted [1, 256], the file has [1, 4]");
}

TEST_F(Strict, NamesInFilesDoNotReachTheTerminal) {
  const std::string header =
      R"({"z\u001b[31m\nE-FAKE \u007f":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}})";
  const std::string in = write("in", tensors(header, 0));
  for (const std::string size : {"", " --size M=1"}) {
    const Said s = cohort("run " + sample("matmul_relu") + size + " --inputs " + in);
    EXPECT_EQ(s.exit, 1);
    EXPECT_NE(s.err.find("E-TENSOR z\\x1b[31m\\x0aE-FAKE \\x7f:"), std::string::npos) << s.err;
    EXPECT_EQ(s.err.find('\x1b'), std::string::npos);
  }
}

TEST_F(Strict, ALimitOnFileSizesIsAFinding) {
  const std::string g = sample("matmul_relu");
  const Said s = shell("ulimit -f 1; exec " COHORT_COMMAND " run " + g +
                       " --random 1 --size M=512 --outputs " + path("out.st"));
  EXPECT_EQ(s.exit, 2);
  EXPECT_NE(s.err.find("File too large"), std::string::npos) << s.err;
  EXPECT_FALSE(std::filesystem::exists(path("out.st")));
  EXPECT_FALSE(has_leftovers());
}

TEST_F(Strict, ASignalLeavesNothing) {
  const std::string run = "run " + sample("matmul_relu") + " --random 1 --size M=8 --outputs ";
  const std::string command =
      "ASAN_OPTIONS=verify_asan_link_order=0:$ASAN_OPTIONS LD_PRELOAD=" COHORT_STOP_AT_SYNC
      " " COHORT_COMMAND " ";
  const Said s = shell(command + run + write("there.st", "before") + "; exit $?");
  EXPECT_EQ(s.exit, 128 + SIGTERM) << s.err;
  EXPECT_FALSE(has_leftovers());
  EXPECT_TRUE(read_file(path("there.st")) == "before") << "and what was there stays";
  // What the caller ignores stays ignored.
  const Said ignored = shell("trap \"\" TERM; " + command + run + path("new.st"));
  EXPECT_EQ(ignored.exit, 0) << ignored.err;
  EXPECT_FALSE(has_leftovers());
  EXPECT_GT(std::filesystem::file_size(path("new.st")), 8u);
}

}  // namespace
}  // namespace cohort::test
