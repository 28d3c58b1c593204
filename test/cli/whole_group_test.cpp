// The command on a graph whose groups are one that has every row: no file has a tensor for them.
#include <cstdint>
#include <cstring>

#include <nlohmann/json.hpp>

#include "cli/command.h"

namespace cohort::test {
namespace {

class WholeGroup : public Command {
 protected:
  [[nodiscard]] std::string graph() const {
    return write("g.json",
                 R"({"cohort":1,"name":"dense","dims":[{"name":"T","bound":64}],"inputs":[)"
                 R"({"name":"x","role":"tensor","shape":["T",2],"dtype":"f32"},)"
                 R"({"name":"w","role":"weights","shape":[1,1,2],"dtype":"f32","major":"k"},)"
                 R"({"name":"all","role":"groups","shape":[1],"dtype":"i32","form":"whole"}],)"
                 R"("nodes":[{"op":"grouped_gemm","a":"x","b":"w","groups":"all"}],)"
                 R"("outputs":[{"name":"y","value":"%0"}]})");
  }
  // x is 3 rows of (1, 2), w is (4, 8); `more` and `bytes` are of other tensors.
  [[nodiscard]] std::string inputs(const std::string& more, size_t bytes) const {
    const std::string header = R"({"x":{"dtype":"F32","shape":[3,2],"data_offsets":[0,24]},)"
                               R"("w":{"dtype":"F32","shape":[1,1,2],"data_offsets":[24,32]})" +
                               more + "}";
    std::string s(8, '\0');
    const uint64_t n = header.size();
    std::memcpy(s.data(), &n, 8);
    s += header;
    const float values[] = {1, 2, 1, 2, 1, 2, 4, 8};
    s.append(reinterpret_cast<const char*>(values), sizeof values);
    return write("in.safetensors", s + std::string(bytes, '\0'));
  }
};

TEST_F(WholeGroup, RunsWithoutATensorForIt) {
  const std::string run = "run " + graph() + " --outputs " + path("out.safetensors") + " --inputs ";
  const Said s = cohort(run + inputs("", 0));
  ASSERT_EQ(s.exit, 0) << s.err;
  const std::string out = read_file(path("out.safetensors"));
  ASSERT_GE(out.size(), 12u);
  float y[3];
  std::memcpy(y, out.data() + out.size() - sizeof y, sizeof y);
  for (const float v : y) EXPECT_EQ(v, 20.0f);
}

TEST_F(WholeGroup, ATensorForItIsAStranger) {
  const std::string more = R"(,"all":{"dtype":"I32","shape":[1],"data_offsets":[32,36]})";
  fails("run " + graph() + " --inputs " + inputs(more, 4), 1,
        "E-TENSOR all: the graph has no such input");
}

TEST_F(WholeGroup, NumbersAtRandomNeedNone) {
  for (const std::string rows : {"0", "1", "7"}) {
    const Said s = cohort("run " + graph() + " --random 1 --compare reference --size T=" + rows);
    EXPECT_EQ(s.exit, 0) << s.err;
  }
}

TEST_F(WholeGroup, IsShownAsWhatItIs) {
  const Said text = cohort("show " + graph());
  EXPECT_EQ(text.exit, 0) << text.err;
  EXPECT_NE(text.out.find("no tensor"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("whole"), std::string::npos) << text.out;
  const Said svg = cohort("show --format svg " + graph());
  EXPECT_NE(svg.out.find("whole"), std::string::npos) << svg.out;
  const Said json = cohort("show --format json " + graph());
  EXPECT_NE(json.out.find(R"("form":"whole","row_alignment":1)"), std::string::npos) << json.out;
}

TEST_F(WholeGroup, OfAnotherNumberIsAFinding) {
  std::string text = read_file(graph());
  const std::string one = R"("shape":[1],"dtype":"i32","form":"whole")";
  text.replace(text.find(one), one.size(), R"("shape":[2],"dtype":"i32","form":"whole")");
  fails("check " + write("two.json", text), 1, "E-GROUPS");
}

}  // namespace
}  // namespace cohort::test
