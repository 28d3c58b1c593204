// `cohort run --random`: inputs that suit the graph at any size, and what few rows come to.
#include <map>
#include <vector>

#include <nlohmann/json.hpp>

#include "cli/command.h"

namespace cohort::test {
namespace {

using Json = nlohmann::json;
using RandomRun = Command;

TEST_F(RandomRun, EverySampleTakesFewRows) {
  const std::string pairs = "E-SHAPE T.size: size: wanted an even number, got ";
  const std::map<std::string, std::string> refused_when_odd{
      {"hadamard_nvfp4", pairs}, {"quantize_nvfp4", pairs}, {"wgrad_nvfp4", pairs}};
  for (const Json& s : Json::parse(cohort("sample --json").out)) {
    const std::string name = s["name"];
    const std::string g = sample(name);
    const std::string dim = name == "matmul_relu" ? "M" : "T";
    for (const std::string rows : {"0", "1", "3"}) {
      // Its weights take seconds to make; EverySampleChecksRunsAndReplays has some of its rows.
      if (name == "fc1_mxfp8" && rows != "0") continue;
      std::string arguments = "run " + g + " --random 1 --size ";
      arguments += dim;
      arguments += "=" + rows;
      const auto odd = refused_when_odd.find(name);
      if (odd != refused_when_odd.end() && rows != "0") {
        fails(arguments, 1, odd->second + rows);
        continue;
      }
      const Said run = cohort(arguments);
      EXPECT_EQ(0, run.exit) << name << " " << rows << "\n" << run.err;
    }
  }
}

// Rows that an index names are gone with what it names, unless somebody asks for them.
TEST_F(RandomRun, IndicesIntoNoRowsAreNone) {
  const std::string g = sample("gather");
  const Json none = Json::parse(cohort("run --json --random 1 --size T=0 " + g).out);
  EXPECT_EQ(0, none["sizes"]["R"]);
  const Json some = Json::parse(cohort("run --json --random 1 --size T=1 " + g).out);
  EXPECT_EQ(256, some["sizes"]["R"]);
  fails("run --random 1 --size T=0 --size R=2 " + g, 1,
        "E-INDEX token.values: entry 0 is -1, wanted no entries");
}

TEST_F(RandomRun, NoGroupsAtAll) {
  const Said s =
      cohort("run --json --random 1 --size T=0 --size R=5 " + sample("combine_variable"));
  EXPECT_EQ(0, s.exit) << s.err;
}

// Groups of 256 rows do not fit into 32: nobody owns a row, and 0 of 0 wrong proves nothing.
TEST_F(RandomRun, NothingComparedIsSaid) {
  const std::string run =
      "run " + sample("srelu_fc2") + " --random 3 --compare reference --size T=";
  const Said none = cohort(run + "32");
  EXPECT_EQ(0, none.exit) << none.err;
  EXPECT_EQ(0u, none.err.rfind("nothing was compared", 0)) << none.err;
  EXPECT_NE(std::string::npos, none.out.find("nothing was compared with reference:\ny: 0 of 0"))
      << none.out;
  const Said json = cohort(run + "32 --json");
  EXPECT_EQ(0u, json.err.rfind("nothing was compared", 0)) << json.err;
  EXPECT_EQ(0, Json::parse(json.out)["compared_elements"]);
  const Said some = cohort(run + "256 --json");
  EXPECT_EQ("", some.err);
  EXPECT_LT(0, Json::parse(some.out)["compared_elements"]);
  EXPECT_EQ("reference", Json::parse(some.out)["compared"]);
  EXPECT_EQ(Json::array(), Json::parse(some.out)["different"]);
}

TEST_F(RandomRun, WithoutCompareNothingIsSaidOfIt) {
  const Said s = cohort("run --json --random 3 --size M=2 " + sample("matmul_relu"));
  EXPECT_EQ("", s.err);
  for (const char* key : {"compared", "compared_elements", "different"}) {
    ASSERT_TRUE(Json::parse(s.out).contains(key)) << key;
    EXPECT_TRUE(Json::parse(s.out)[key].is_null()) << key;
  }
}

}  // namespace
}  // namespace cohort::test
