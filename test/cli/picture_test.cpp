// The pictures of the documentation are what the command makes; a picture says of each tensor and
// result what it is, and no text of it lies on another one.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "cli/command.h"

namespace cohort::test {
namespace {

class Pictures : public Command {};

// Where a text of an SVG lies. The width is that of a narrow font: texts that meet in it meet in
// every font.
struct Placed {
  std::string text;
  double left = 0, right = 0, baseline = 0, size = 0;
};

std::vector<Placed> texts_of(const std::string& svg) {
  static const std::regex kText("<text x=\"(\\d+)\" y=\"(\\d+)\" class=\"(.)\">([^<]*)</text>");
  std::vector<Placed> texts;
  for (std::sregex_iterator i(svg.begin(), svg.end(), kText), end; i != end; ++i) {
    const std::string style = (*i)[3];
    Placed p{(*i)[4], std::stod((*i)[1]), 0, std::stod((*i)[2]), 12};
    p.size = style == "t" ? 20 : style == "o" ? 15 : style == "n" ? 14 : 12;
    const double width = 0.5 * p.size * static_cast<double>(p.text.size());
    p.right = p.left + width;
    if (style == "r") {
      p.right = p.left;
      p.left -= width;
    }
    if (!p.text.empty()) texts.push_back(p);
  }
  return texts;
}

bool meet(const Placed& a, const Placed& b) {
  const double apart = std::min(a.size, b.size) * 0.9;
  return a.left < b.right && b.left < a.right && std::abs(a.baseline - b.baseline) < apart;
}

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
  EXPECT_EQ(count("class=\"r\">f32 [R, 384]<"), 1);  // act_out to its cast
  EXPECT_EQ(count("class=\"r\">b bf16 [R, 384]<"), 1);
  EXPECT_EQ(count("class=\"r\">a bf16 [R, 768]<"), 2);  // one value, two readers
  EXPECT_EQ(count("class=\"e\">y bf16 [R, 512]<"), 1);  // straight down
}

TEST_F(Pictures, NoTextLiesOnAnotherOneOrOutside) {
  for (const std::string& name : samples()) {
    const Said s = cohort("show --format svg " + sample(name));
    const double width = std::stod(s.out.substr(s.out.find("width=\"") + 7));
    const std::vector<Placed> texts = texts_of(s.out);
    EXPECT_GE(texts.size(), 6u) << name;
    for (size_t i = 0; i < texts.size(); ++i) {
      EXPECT_GE(texts[i].left, 0) << name << ": " << texts[i].text;
      EXPECT_LE(texts[i].right, width) << name << ": " << texts[i].text;
      for (size_t k = 0; k < i; ++k) {
        EXPECT_FALSE(meet(texts[i], texts[k]))
            << name << ": '" << texts[i].text << "' and '" << texts[k].text << "'";
      }
    }
  }
}

// Text and SVG, every bundled graph: an input, each result that is read, an output.
TEST_F(Pictures, SayTypeAndShapeOfEverything) {
  static const std::regex kType(
      "(f32|f16|bf16|i32|i64|e4m3|e5m2|mxfp8_e[45]m[32]|mxfp4|nvfp4|fp8_\\w+ e[45]m[32])"
      " \\[\\w+(, \\w+)*\\]");
  for (const std::string& name : samples()) {
    const std::string file = sample(name);
    std::istringstream text(cohort("show " + file).out);
    int lines = 0;
    std::string line;
    std::getline(text, line);
    while (std::getline(text, line)) {
      const bool is_about_one = line.rfind("  ", 0) == 0 && line != "   |";
      if (!is_about_one) continue;
      ++lines;
      EXPECT_TRUE(std::regex_search(line, kType)) << name << ": " << line;
    }
    EXPECT_GE(lines, 3) << name;
    // An arrow between ops has a label; those from inputs and to outputs have the box.
    const std::string svg = cohort("show --format svg " + file).out;
    std::istringstream parts(svg);
    while (std::getline(parts, line)) {
      const bool is_label = line.find("class=\"e\"") != std::string::npos ||
                            line.find("class=\"r\"") != std::string::npos;
      if (!is_label || line.find('[') == std::string::npos) continue;
      EXPECT_TRUE(std::regex_search(line, kType)) << name << ": " << line;
    }
  }
}

TEST_F(Pictures, SayHowQuantisedAndScatteredResultsStand) {
  const auto shows = [this](const char* name, const char* line) {
    const std::string out = cohort("show " + sample(name)).out;
    EXPECT_NE(out.find(line), std::string::npos) << line << " in\n" << out;
  };
  shows("fc1_mxfp8", "y    = %3.row  mxfp8_e4m3 [T, 2048]  tiled_128x4 scales\n");
  shows("fc1_mxfp8", "y_t  = %3.col  mxfp8_e4m3 [T, 2048]  per_group scales along tokens\n");
  shows("fc1_mxfp8", "  -> col mxfp8_e4m3 [T, 2048]\n");
  shows("quantize_shifted", "shifted_128 scales\n");
  shows("quantize_fp8_row", "fp8_row e5m2 [T, 512]  linear scales\n");
  shows("wgrad_mxfp8", "[T, 512]  per_group scales along tokens, stored transposed\n");
  shows("quantize_nvfp4", "nvfp4 [T, 512]  per_group scales along tokens, stored transposed\n");
  shows("scatter", "bf16 [T, 256]  row r to row token\n");  // the value has R rows
  shows("d_srelu_grad_acc", "i32 [8]                   ends, multiples of 256 rows\n");
}

}  // namespace
}  // namespace cohort::test
