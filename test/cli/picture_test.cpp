// The pictures of the documentation are what the command makes, and say of each result which it is.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "cli/command.h"

namespace cohort::test {
namespace {

using Pictures = Command;

TEST_F(Pictures, OfTheDocumentationAreWhatTheCommandMakes) {
  const std::string of_docs[][2] = {{"fc1_mxfp8", "fc1.svg"},
                                    {"layer_forward", "layer.svg"},
                                    {"layer_backward", "layer_backward.svg"}};
  for (const auto& [graph, file] : of_docs) {
    const Said s = cohort("show --format svg " + sample(graph));
    ASSERT_EQ(s.exit, 0) << s.err;
    const auto docs = std::filesystem::path(COHORT_TEST_DATA) / "../../docs" / file;
    if (std::getenv("COHORT_UPDATE") != nullptr) {
      std::ofstream(docs, std::ios::binary) << s.out;
    }
    EXPECT_EQ(read_file(docs), s.out) << "COHORT_UPDATE=1 writes " << docs << " anew";
  }
}

// d_glu's results differ in shape; what reads the second one has its shape at the arrow.
TEST_F(Pictures, AnArrowSaysTheShapeOfTheResultThatItCarries) {
  const Said s = cohort("show --format svg " + sample("layer_backward"));
  const auto count = [&s](const std::string& word) {
    int n = 0;
    for (size_t at = s.out.find(word); at != std::string::npos; at = s.out.find(word, at + 1)) ++n;
    return n;
  };
  EXPECT_EQ(count(">act_out<"), 1);
  EXPECT_EQ(count(">dprob<"), 1);
  EXPECT_EQ(count("class=\"r\">[R, 384]<"), 1);  // act_out to its cast
  EXPECT_EQ(count("class=\"r\">b [R, 384]<"), 1);
  EXPECT_EQ(count("class=\"r\">a [R, 768]<"), 2);  // one value, two readers
}

}  // namespace
}  // namespace cohort::test
