// Exit codes, messages and the REPRO line when something is wrong.
#include <cstdint>
#include <cstring>

#include <nlohmann/json.hpp>

#include "cli/command.h"

namespace cohort::test {
namespace {

using Json = nlohmann::json;
using Failures = Command;

// A safetensors file of the given header and `bytes` zero bytes.
std::string tensors(const std::string& header, size_t bytes) {
  std::string s(8, '\0');
  const uint64_t n = header.size();
  std::memcpy(s.data(), &n, 8);
  return s + header + std::string(bytes, '\0');
}

TEST_F(Failures, Usage) {
  fails("", 2, "subcommand");
  fails("nothing", 2, "nothing");
  fails("check", 2, "E-USAGE: G is required; --help says what there is\n");
  fails("check --wrong x", 2, "wrong");
  fails("show --format png x", 2, "png");
  fails("sample no_such_graph", 2, "no_such_graph");
  const std::string g = sample("matmul_relu");
  fails("run " + g, 2, "--inputs");
  fails("run " + g + " --random 1 --inputs x", 2, "--random");
  fails("run " + g + " --random 1 --size M", 2, "NAME=VALUE");
  fails("run " + g + " --random 1 --size M=-1", 2, "NAME=VALUE");
  fails("run " + g + " --random one", 2, "--random");
  fails("run " + g + " --random 1 --compare nobody", 2, "nobody");
  for (const std::string empty : {" --arch ''", " --engine ''"}) {
    fails("plan " + g + empty, 2, "wanted a name, got an empty one");
    fails("run " + g + " --random 1" + empty, 2, "wanted a name, got an empty one");
  }
  fails("run " + g + " --random 1 --size M=2 --outputs -", 2, "do not go to standard output");
  fails("run " + g + " --inputs -", 2, "--inputs: wanted a file, got -: tensors are not read");
  fails("run " + g + " --random 1 --compare reference --results -", 2, "--results: wanted a file");
  EXPECT_FALSE(std::filesystem::exists("-"));
}

TEST_F(Failures, NamesOfEnginesAreListed) {
  const std::string g = sample("matmul_relu");
  fails("plan " + g + " --engine nobody", 1, "engines of this build: reference");
  const Said other = cohort("plan " + g + " --engine reference --arch sm42");
  EXPECT_EQ(other.exit, 1);
  EXPECT_EQ(other.err.find("engines of this build"), std::string::npos) << other.err;
}

TEST_F(Failures, GraphFiles) {
  fails("check " + path("absent"), 2, "No such file");
  fails("check " + path(""), 2, "Is a directory");
  fails("check " + write("empty", ""), 2, "E-JSON");
  fails("check " + write("brackets", std::string(10 << 20, '[')), 2, "E-JSON");
  fails("check " + write("list", "[1, 2]"), 2, "wanted an object, got a list");
  fails("check " + write("deep", R"({"cohort":)" + std::string(10 << 20, '[')), 1, "E-");
  const std::string text = read_file(sample("bf16_ends"));
  fails("check " + write("half", text.substr(0, text.size() / 2)), 2, "E-JSON");
  fails("check - </dev/null", 2, "E-JSON");
  fails("check " + write("other", "{\"cohort\": 1}"), 1, "E-");
  if (::geteuid() != 0) {
    const std::string locked = write("locked", text);
    std::filesystem::permissions(locked, std::filesystem::perms::none);
    fails("check " + locked, 2, "Permission denied");
  }
}

TEST_F(Failures, FindingsAsJson) {
  Json g = Json::parse(read_file(sample("bf16_ends")));
  g["inputs"][1]["shape"][2] = 500;
  const Said s = cohort("check --json " + write("wrong.json", g.dump()));
  EXPECT_EQ(s.exit, 1);
  const Json j = Json::parse(s.out);
  EXPECT_EQ(j["ok"], false);
  EXPECT_EQ(j["kind"], "invalid_graph");
  ASSERT_GE(j["findings"].size(), 1u);
  EXPECT_EQ(j["findings"][0]["code"].get<std::string>().rfind("E-", 0), 0u);
  EXPECT_EQ(j["findings"][0]["where"].get<std::string>().rfind("/", 0), 0u);
  EXPECT_NE(s.err.find("REPRO: cohort check --json"), std::string::npos);
}

// The list that a program reads, whatever failed.
Json findings_of(const Said& said) {
  const Json j = Json::parse(said.out);
  EXPECT_EQ(j["ok"], false);
  EXPECT_EQ(j["total"], j["findings"].size());
  for (const Json& f : j["findings"]) EXPECT_FALSE(f["message"].get<std::string>().empty());
  return j;
}

TEST_F(Failures, UsageAsJson) {
  for (const std::string line :
       {"bogus --json", "check --json", "check --json --wrong x", "show --json --format png x",
        "--json", "run --json x", "show --json --format svg x"}) {
    const Said s = cohort(line);
    EXPECT_EQ(s.exit, 2) << line;
    const Json j = findings_of(s);
    EXPECT_EQ(j["kind"], "usage") << line;
    ASSERT_EQ(j["total"], 1) << line;
    EXPECT_EQ(j["findings"][0]["code"], "E-USAGE") << line;
    const std::string message = j["findings"][0]["message"];
    EXPECT_EQ(message.find('\n'), std::string::npos) << "a finding is one line: " << message;
  }
  const Json size = findings_of(cohort("run --json --random 1 --size M " + sample("matmul_relu")));
  EXPECT_EQ(size["findings"][0]["got"], "M");
  EXPECT_EQ(findings_of(cohort("check --json absent"))["kind"], "file");
  const Json none = findings_of(cohort("sample --json nobody"));
  EXPECT_EQ(none["findings"][0]["code"], "E-SAMPLE");
}

TEST_F(Failures, MismatchesAsJson) {
  const std::string g = sample("matmul_relu");
  const std::string header = R"({"a":{"dtype":"F32","shape":[2,512],"data_offsets":[0,4096]},)"
                             R"("b":{"dtype":"BF16","shape":[1,512],"data_offsets":[4096,5120]},)"
                             R"("c":{"dtype":"F32","shape":[1],"data_offsets":[5120,5124]}})";
  const std::string file = write("f", tensors(header, 5124));
  const Json j = findings_of(cohort("run --json " + g + " --inputs " + file));
  EXPECT_EQ(j["kind"], "mismatch");
  ASSERT_EQ(j["total"], 3) << j;
  EXPECT_EQ(j["findings"][0]["op"], "a");
  EXPECT_EQ(j["findings"][0]["field"], "dtype");
  EXPECT_EQ(j["findings"][1]["code"], "E-SHAPE");
  EXPECT_EQ(j["findings"][1]["wanted"], "[256, 512]");
  EXPECT_EQ(j["findings"][1]["got"], "[1, 512]");
  EXPECT_EQ(j["findings"][2]["code"], "E-TENSOR");
}

TEST_F(Failures, MemoryNamesTheTensorAndItsBytes) {
  Json big = Json::parse(read_file(sample("matmul_relu")));
  big["inputs"][1]["shape"] = {int64_t{1} << 40, 512};
  const std::string g = write("big.json", big.dump());
  fails("run " + g + " --random 1 --size M=1", 1,
        "E-MEMORY b: no memory for its 1125899906842624 bytes");
  const Json j = findings_of(cohort("run --json --random 1 --size M=1 " + g));
  EXPECT_EQ(j["kind"], "limit");
  EXPECT_EQ(j["findings"][0]["op"], "b");
  EXPECT_EQ(j["findings"][0]["wanted"], "1125899906842624 bytes");
}

TEST_F(Failures, StandardOutputThatFails) {
  const std::string g = sample("bf16_ends");
  fails("show " + g + " >/dev/full", 2, "No space left");
  fails("--help >/dev/full", 2, "No space left");
  const Said s = cohort("show " + g + " --format svg | true");
  EXPECT_EQ(s.exit, 0) << "the reader's code, and no signal ends the command";
}

TEST_F(Failures, OutputsThatCannotBeWritten) {
  const std::string g = sample("matmul_relu");
  const std::string run = "run " + g + " --random 1 --size M=8 --outputs ";
  fails(run + "/dev/full", 2, "No space left");
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/full"));
  fails(run + path(""), 2, "directory");
  fails(run + path("absent/y"), 2, "No such file");
  EXPECT_EQ(cohort(run + "/dev/null").exit, 0);
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
  EXPECT_FALSE(has_leftovers());
}

TEST_F(Failures, TensorFiles) {
  const std::string g = sample("matmul_relu");
  const std::string run = "run " + g + " --inputs ";
  fails(run + path("absent"), 2, "No such file");
  fails(run + path(""), 2, "E-FILE");
  fails(run + write("short", "abc"), 2, "E-");
  fails(run + write("length", std::string(8, '\xff') + "{}"), 2, "E-");
  fails(
      run + write("past", tensors(R"({"a":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}})", 8)),
      2, "E-");
}

TEST_F(Failures, OutputsOverWhatIsRead) {
  const std::string g = sample("matmul_relu");
  const std::string text = read_file(g);
  const std::string run = "run " + g + " --size M=2 --random 1";
  fails(run + " --outputs " + g, 2, "--outputs: wanted another file");
  std::filesystem::create_symlink(g, path("link"));
  fails(run + " --outputs " + path("link"), 2, "which is read");
  EXPECT_EQ(read_file(g), text);
  const std::string y = path("y");
  EXPECT_EQ(cohort(run + " --outputs " + y).exit, 0);
  EXPECT_EQ(cohort(run + " --outputs " + y).exit, 0) << "old outputs may be replaced";
  fails(run + " --compare reference --results " + y + " --outputs " + y, 2, "which is read");
}

TEST_F(Failures, TensorsFromAPipe) {
  const std::string g = sample("matmul_relu");
  const Said s = shell("cat " + g + " | " + COHORT_COMMAND + " run " + g + " --inputs /dev/stdin");
  EXPECT_EQ(s.exit, 2);
  EXPECT_NE(s.err.find("E-FILE /dev/stdin: cannot read: wanted a regular file, got a pipe"),
            std::string::npos)
      << s.err;
}

TEST_F(Failures, EveryTensorThatDoesNotFit) {
  const std::string g = sample("matmul_relu");
  // a says M = 2; b has a wrong extent; c is nobody's.
  const std::string header = R"({"a":{"dtype":"BF16","shape":[2,512],"data_offsets":[0,2048]},)"
                             R"("b":{"dtype":"BF16","shape":[1,512],"data_offsets":[2048,3072]},)"
                             R"("c":{"dtype":"F32","shape":[1],"data_offsets":[3072,3076]}})";
  const std::string file = write("f", tensors(header, 3076));
  fails("run " + g + " --inputs " + file, 1, "b: wanted [256, 512], the file has [1, 512]");
  fails("run " + g + " --inputs " + file, 1, "c: the graph has no such input");
  fails("run " + g + " --size M=3 --inputs " + file, 1, "E-SIZE M: 'a' says 2, --size says 3");
  const std::string no_a = R"({"b":{"dtype":"BF16","shape":[256,512],"data_offsets":[0,262144]}})";
  fails("run " + g + " --inputs " + write("n", tensors(no_a, 262144)), 1, "--size M=");
  fails("run " + g + " --size M=2 --inputs " + path("n"), 1, "a: the file has no such tensor");
}

TEST_F(Failures, SizesAndMemory) {
  const std::string g = sample("matmul_relu");
  fails("run " + g + " --random 1 --size M=5000", 1, "E-SIZE");
  fails("run " + g + " --random 1 --size Q=5", 1, "E-SIZE");
  EXPECT_EQ(cohort("run " + g + " --random 1 --size M=0").exit, 0);
  fails("run " + g + " --random 1 --size M=4 --size M=5", 1,
        "E-SIZE M: --size says 5, another --size says 4");
  Json big = Json::parse(read_file(g));
  big["inputs"][1]["shape"] = {int64_t{1} << 40, 512};
  fails("run " + write("big.json", big.dump()) + " --random 1 --size M=1", 1, "E-MEMORY");
}

TEST_F(Failures, ReproIsPasteable) {
  const Said s = cohort("check '" + path("it'\\''s absent") + "'");
  EXPECT_EQ(s.exit, 2);
  const std::string repro = s.err.substr(s.err.rfind("REPRO: cohort ") + 14);
  const Said again = cohort(repro.substr(0, repro.size() - 1));
  EXPECT_EQ(again.exit, 2);
  EXPECT_EQ(again.err, s.err);
}

// A line that names "-" says which text was fed, so that the right one can be fed again.
TEST_F(Failures, ReproTellsWhatStandardInputWas) {
  const std::string file = write("wrong.json", "{\"cohort\": 1}");
  const Said s = cohort("check - <" + file);
  EXPECT_EQ(s.exit, 1);
  const std::string sum = shell("cksum <" + file).out;  // "NUMBER BYTES"
  const std::string wanted = "\nREPRO: cohort check - # standard input: 13 bytes, cksum " +
                             sum.substr(0, sum.find(' ')) + "\n";
  EXPECT_NE(s.err.find(wanted), std::string::npos) << s.err;
  // The line itself is one that a shell takes.
  const size_t at = s.err.find(" check -");
  const std::string line = s.err.substr(at, s.err.size() - at - 1);
  write("line", std::string(COHORT_COMMAND) + line);
  const Said again = shell("bash " + path("line") + " <" + file);
  EXPECT_EQ(again.exit, 1);
  EXPECT_EQ(again.err, s.err);
  // Nothing was read of it before a usage error, and a path says enough.
  EXPECT_EQ(cohort("show - --format png <" + file).err.find('#'), std::string::npos);
  EXPECT_EQ(cohort("check " + file).err.find('#'), std::string::npos);
}

// What is set decides about a failure as the arguments do.
TEST_F(Failures, ReproRepeatsVariables) {
  const std::string line = std::string(COHORT_COMMAND) + " plan " + sample("matmul_relu");
  const Said s = shell("COHORT_THREADS=\"2 3\" COHORT_ISA= " + line);
  EXPECT_EQ(s.exit, 3) << s.err;
  const std::string repro = s.err.substr(s.err.rfind("REPRO: ") + 7);
  EXPECT_NE(repro.find("COHORT_THREADS='2 3' cohort plan "), std::string::npos) << repro;
  EXPECT_EQ(repro.find("COHORT_ISA"), std::string::npos) << "an empty one counts as none";
  const Said other = shell("COHORT_NOBODY=1 " + line + " --arch sm42");
  EXPECT_EQ(other.err.find("COHORT_NOBODY"), std::string::npos) << "nothing reads it";
}

}  // namespace
}  // namespace cohort::test
