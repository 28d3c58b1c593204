// Every command and option, on graphs that are right.
#include <cohort/cohort.h>

#include <cstdlib>
#include <sstream>
#include <vector>

#include <nlohmann/json.hpp>

#include "cli/command.h"

namespace cohort::test {
namespace {

using Json = nlohmann::json;
using Commands = Command;

TEST_F(Commands, SamplesListAndJson) {
  const Said text = cohort("sample");
  const Json list = Json::parse(cohort("sample --json").out);
  EXPECT_EQ(text.exit, 0);
  EXPECT_GE(list.size(), 25u);
  for (const Json& s : list) {
    EXPECT_NE(text.out.find(s["name"].get<std::string>()), std::string::npos);
    EXPECT_FALSE(s["about"].get<std::string>().empty());
  }
}

TEST_F(Commands, EverySampleChecksRunsAndReplays) {
  for (const Json& s : Json::parse(cohort("sample --json").out)) {
    const std::string name = s["name"];
    const std::string g = sample(name);
    const Said json = cohort("show --format json " + g);
    EXPECT_EQ(json.out, read_file(g)) << name;
    const std::string again = write("again.json", json.out);
    EXPECT_EQ(cohort("check " + g).exit, 0) << name;
    // Enough rows for a group of those that have 256 or none; few of the large one.
    const bool is_aligned = json.out.find("\"row_alignment\":256") != std::string::npos;
    const std::string rows = is_aligned ? "256" : name == "fc1_mxfp8" ? "8" : "48";
    const std::string arguments = " --random 7 --size T=" + rows + " --json --outputs ";
    const Said run = cohort("run " + g + arguments + path("out.st") + " --compare reference");
    if (name == "matmul_relu") {
      EXPECT_EQ(run.exit, 1) << "it has no T";
      continue;
    }
    ASSERT_EQ(run.exit, 0) << name << "\n" << run.err;
    EXPECT_EQ(Json::parse(run.out)["different"], Json::array()) << name;
    EXPECT_GT(Json::parse(run.out)["compared_elements"], 0) << name << " compares nothing";
    EXPECT_EQ(Json::parse(run.out)["sizes"]["T"], std::stoi(rows)) << name;
    EXPECT_GT(std::filesystem::file_size(path("out.st")), 100u) << name;
    // The stored graph and the stored outputs are those of another process.
    ASSERT_EQ(cohort("run " + again + arguments + path("again.st")).exit, 0) << name;
    EXPECT_EQ(read_file(path("again.st")), read_file(path("out.st"))) << name;
  }
}

TEST_F(Commands, RandomIsTheSameForOneSeedOnly) {
  const std::string g = sample("bf16_slots");
  for (const char* o : {"a 5", "b 5", "c 6"}) {
    const std::string file(1, o[0]);
    const Said s = cohort("run " + g + " --size T=64 --outputs " + path(file) + " --random " +
                          std::string(o + 2));
    ASSERT_EQ(s.exit, 0) << s.err;
  }
  EXPECT_EQ(read_file(path("a")), read_file(path("b")));
  EXPECT_NE(read_file(path("a")), read_file(path("c")));
}

TEST_F(Commands, ShowTextIsForAPerson) {
  const Said s = cohort("show " + sample("two_layers"));
  EXPECT_EQ(s.exit, 0);
  EXPECT_EQ(s.out, read_file(COHORT_TEST_DATA "/cli/two_layers.txt"));
}

TEST_F(Commands, ShowSvgNamesEverything) {
  const Said s = cohort("show --format svg " + sample("two_layers"));
  EXPECT_EQ(s.exit, 0);
  EXPECT_EQ(s.out.rfind("<svg", 0), 0u);
  for (const char* word : {"residual", "relu_squared", "[T, 1024]", "grouped_gemm", "bf16"}) {
    EXPECT_NE(s.out.find(word), std::string::npos) << word;
  }
}

TEST_F(Commands, GraphFromStandardInput) {
  const std::string g = sample("bf16_ends");
  EXPECT_EQ(cohort("check - <" + g).exit, 0);
  const Json j = Json::parse(cohort("check --json - <" + g).out);
  EXPECT_EQ(j["name"], "bf16_ends");
  EXPECT_EQ(j["key"].get<std::string>().size(), 32u);
}

TEST_F(Commands, PlanForAbsentDevices) {
  const std::string g = sample("mxfp4");
  for (int32_t d = 0; d < Device::count(); ++d) {
    const std::string arch(Device::at(d).name());
    const Said s = cohort("plan --explain --arch " + arch + " " + g);
    EXPECT_EQ(s.exit, 0) << s.err;
    EXPECT_NE(s.out.find(arch), std::string::npos) << s.out;
    EXPECT_EQ(Json::parse(cohort("plan --json --arch " + arch + " " + g).out)["device"], arch);
  }
  fails("plan " + g + " --arch sm42", 1, "E-DEVICE");
  fails("plan " + g + " --engine nobody", 1, "E-UNSUPPORTED");
}

TEST_F(Commands, EnvSaysWhatThereIs) {
  const Json j = Json::parse(cohort("env --json").out);
  EXPECT_FALSE(j["version"].get<std::string>().empty());
  std::vector<std::string> known, told;
  for (int32_t d = 0; d < Device::count(); ++d) known.emplace_back(Device::at(d).name());
  for (const Json& device : j["devices"]) told.push_back(device["name"]);
  EXPECT_EQ(known, told);
  const std::string help = cohort("plan --help").out;
  EXPECT_NE(help.find("One of cpu, sm90"), std::string::npos);
  EXPECT_NE(help.find(", " + known.back()), std::string::npos);
  const Said s = cohort("env");
  EXPECT_NE(s.out.find("reference"), std::string::npos);
  EXPECT_TRUE(j["variables"].is_null());
  EXPECT_NE(s.out.find("nothing wrong with COHORT_ISA and COHORT_THREADS"), std::string::npos);
}

TEST_F(Commands, HelpAndVersion) {
  EXPECT_EQ(cohort("--help").exit, 0);
  EXPECT_EQ(cohort("run --help").exit, 0);
  EXPECT_NE(cohort("--version").out.find('.'), std::string::npos);
}

}  // namespace
}  // namespace cohort::test
