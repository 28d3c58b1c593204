// `cohort run --compare reference`: results of another run, held to the derived bound.
#include <cstring>

#include <nlohmann/json.hpp>

#include "cli/command.h"

namespace cohort::test {
namespace {

using Json = nlohmann::json;

// Outputs of a bundled graph, stored; and the bytes of one of them.
class CompareRun : public Command {
 protected:
  void SetUp() override {
    graph_ = sample("bias_gate");
    const Said s = cohort("run " + arguments() + " --outputs " + path("out.st"));
    ASSERT_EQ(0, s.exit) << s.err;
    file_ = read_file(path("out.st"));
    uint64_t n = 0;
    std::memcpy(&n, file_.data(), 8);
    first_ = 8 + n + Json::parse(file_.substr(8, n))["y"]["data_offsets"][0].get<size_t>();
  }
  [[nodiscard]] std::string arguments() const { return graph_ + " --random 3 --size T=40"; }
  [[nodiscard]] Said compared(const std::string& more = {}) const {
    return cohort("run " + arguments() + " --compare reference --results " + path("out.st") + more);
  }
  // f16 element (row, column) of y, 256 columns.
  void put(int64_t row, int64_t column, uint16_t code) {
    std::memcpy(file_.data() + first_ + static_cast<size_t>(row * 256 + column) * 2, &code, 2);
    write("out.st", file_);
  }
  [[nodiscard]] uint16_t get(int64_t row, int64_t column) const {
    uint16_t code = 0;
    std::memcpy(&code, file_.data() + first_ + static_cast<size_t>(row * 256 + column) * 2, 2);
    return code;
  }

  std::string graph_;
  std::string file_;
  size_t first_ = 0;
};

TEST_F(CompareRun, PrintsALineAnOutput) {
  const Said s = cohort("run " + arguments() + " --compare reference");
  EXPECT_EQ(0, s.exit) << s.err;
  EXPECT_NE(std::string::npos, s.out.find("within the bounds of reference:\ny: 0 of ")) << s.out;
  EXPECT_NE(std::string::npos, s.out.find("largest error 0 bounds")) << s.out;
  EXPECT_EQ(0, compared().exit);
}

TEST_F(CompareRun, SixteenStepsOfTheTypeAreTooMuch) {
  put(5, 7, static_cast<uint16_t>(get(5, 7) ^ 16));
  EXPECT_EQ(1, compared().exit);
}

TEST_F(CompareRun, NamesTheFirstWrongElement) {
  const uint16_t right = get(11, 200);
  put(11, 200, static_cast<uint16_t>(right ^ 0x0400));  // twice or half of it
  const Said s = compared();
  EXPECT_EQ(1, s.exit);
  EXPECT_NE(std::string::npos, s.err.find("E-DIFFERENT")) << s.err;
  EXPECT_NE(std::string::npos, s.err.find("y: 1 of ")) << s.err;
  EXPECT_NE(std::string::npos, s.err.find("first at [11, 200]: wanted ")) << s.err;
  EXPECT_NE(std::string::npos, s.err.find("allowed error ")) << s.err;
  const Json j = Json::parse(compared(" --json").out);
  EXPECT_FALSE(j["ok"].get<bool>());
  EXPECT_EQ(Json({"y"}), j["different"]);
  const Json& one = j["comparison"][0];
  EXPECT_EQ(1, one["wrong"]);
  EXPECT_EQ(Json({11, 200}), one["first_wrong"]["index"]);
  const double wanted = std::stod(one["first_wrong"]["wanted"].get<std::string>());
  const double got = std::stod(one["first_wrong"]["got"].get<std::string>());
  EXPECT_TRUE(got == 2 * wanted || 2 * got == wanted) << wanted << " " << got;
}

TEST_F(CompareRun, NotANumberIsNamed) {
  put(0, 0, 0x7E00);
  const Said s = compared(" --json");
  EXPECT_EQ(1, s.exit);
  EXPECT_EQ("nan", Json::parse(s.out)["comparison"][0]["first_wrong"]["got"]);
}

// Nothing is known of the root of what may be below 0, and that is said: no error is 0 of such
// bounds.
TEST_F(CompareRun, CountsWhatIsNotBounded) {
  const std::string g = write("root.json", R"({"cohort":1,"name":"root","dims":[],
    "inputs":[{"name":"x","role":"tensor","shape":[4,8],"dtype":"f32"}],
    "nodes":[{"op":"load","x":"x"},{"op":"unary","in":"%0","mode":"exp"},
             {"op":"binary","in":"%1","mode":"sub","by":{"value":"%1"}},
             {"op":"unary","in":"%2","mode":"sqrt"}],
    "outputs":[{"name":"y","value":"%3"},{"name":"e","value":"%1"}]})");
  const Said s = cohort("run " + g + " --random 3 --compare reference");
  EXPECT_EQ(0, s.exit) << s.err;
  EXPECT_NE(std::string::npos, s.out.find("y: 0 of 32 wrong, not bounded: 32\n")) << s.out;
  EXPECT_NE(std::string::npos, s.out.find("e: 0 of 32 wrong, largest error 0 bounds\n")) << s.out;
}

TEST_F(CompareRun, ResultsThatDoNotFit) {
  EXPECT_EQ(2, cohort("run " + arguments() + " --results " + path("out.st")).exit)
      << "--results without --compare";
  const Said other = cohort("run " + graph_ + " --random 3 --size T=41 --compare reference" +
                            " --results " + path("out.st"));
  EXPECT_EQ(1, other.exit);
  EXPECT_NE(std::string::npos, other.err.find("E-SHAPE y: wanted [41, 256]")) << other.err;
  const Said s = cohort("run " + sample("fp8_output_amax") +
                        " --random 3 --size T=40 --compare reference --results " + path("out.st"));
  EXPECT_EQ(1, s.exit);
  EXPECT_NE(std::string::npos, s.err.find("E-TENSOR amax: the file has no such tensor")) << s.err;
}

}  // namespace
}  // namespace cohort::test
