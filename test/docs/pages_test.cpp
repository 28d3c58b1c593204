// The documentation says what the library has: op pages, error codes, known gaps, links.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "ir/op_record.h"

namespace {

namespace fs = std::filesystem;
using cohort::ir::FieldRecord;
using cohort::ir::OpRecord;
using Kind = cohort::ir::FieldValue::Kind;

const fs::path kRoot = COHORT_SOURCE_DIR;

std::string read(const fs::path& path) {
  std::ifstream in(path);
  EXPECT_TRUE(in.good()) << path;
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

std::set<std::string> matches(const std::string& text, const char* pattern) {
  const std::regex wanted(pattern, std::regex::multiline);
  std::set<std::string> found;
  for (std::sregex_iterator i(text.begin(), text.end(), wanted), end; i != end; ++i) {
    found.insert((*i)[1]);
  }
  return found;
}

// The part of a page below a heading, up to the next heading of that level.
std::string section(const std::string& page, const std::string& title) {
  const size_t begin = page.find("\n## " + title + "\n");
  if (begin == std::string::npos) return {};
  const size_t end = page.find("\n## ", begin + 1);
  return page.substr(begin, end == std::string::npos ? end : end - begin);
}

std::string row_of(const std::string& table, const std::string& first) {
  const size_t begin = table.find("\n| `" + first + "` |");
  if (begin == std::string::npos) return {};
  return table.substr(begin + 1, table.find('\n', begin + 1) - begin);
}

bool has_word(const std::string& text, const std::string& word) {
  return text.find("`" + word + "`") != std::string::npos;
}

// What the page of an op does not say of its record.
std::vector<std::string> page_faults(const OpRecord& op, const std::string& page) {
  std::vector<std::string> faults;
  const auto want = [&](bool good, const std::string& fault) {
    if (!good) faults.push_back(std::string(op.name) + ": " + fault);
  };
  want(page.rfind("# " + std::string(op.name) + "\n", 0) == 0, "no title");
  for (const char* title : {"Formula", "Shapes", "Fields", "Edge cases", "JSON", "Example"}) {
    want(!section(page, title).empty(), std::string("no section ") + title);
  }
  const std::string table = section(page, "Fields");
  for (const FieldRecord& f : op.fields) {
    const std::string row = row_of(table, f.name);
    want(!row.empty(), std::string("no row of field ") + f.name);
    want(row.find(f.must_give ? "| yes |" : "| no |") != std::string::npos,
         std::string(f.name) + ": required or not?");
    if (f.kind != Kind::choice) continue;
    for (int w = 0; w < 64; ++w) {
      const std::string word(f.word(w));
      if (word.empty() && w > 0) break;
      want(word.empty() || has_word(page, word), std::string(f.name) + ": no word " + word);
    }
    if (!f.must_give && f.initial.kind == Kind::choice) {
      const std::string initial(f.word(static_cast<int>(f.initial.integer)));
      want(row.find("| no | `" + initial + "` |") != std::string::npos,
           std::string(f.name) + ": the default is " + initial);
    }
  }
  return faults;
}

TEST(OpPages, SayEveryFieldWordAndDefault) {
  for (const OpRecord* op : cohort::ir::all_ops()) {
    const std::string page = read(kRoot / "docs/ops" / (std::string(op->name) + ".md"));
    for (const std::string& fault : page_faults(*op, page)) ADD_FAILURE() << fault;
  }
}

TEST(OpPages, DamagedPagesAreCaught) {
  const OpRecord& op = *cohort::ir::find_op("quantize");
  const std::string page = read(kRoot / "docs/ops/quantize.md");
  ASSERT_TRUE(page_faults(op, page).empty());
  for (const char* piece :
       {"| `norm` | no |", "`shifted_128`", "## Edge cases\n", "`stochastic`"}) {
    std::string damaged = page;
    size_t at = damaged.find(piece);
    ASSERT_NE(at, std::string::npos) << piece;
    for (; at != std::string::npos; at = damaged.find(piece)) {
      damaged.erase(at, std::string(piece).size());
    }
    EXPECT_FALSE(page_faults(op, damaged).empty()) << piece;
  }
}

TEST(OpPages, JsonHasTheKeysOfTheRecordInOrder) {
  for (const OpRecord* op : cohort::ir::all_ops()) {
    const std::string page = read(kRoot / "docs/ops" / (std::string(op->name) + ".md"));
    const std::string part = section(page, "JSON");
    const size_t begin = part.find("```json\n");
    ASSERT_NE(begin, std::string::npos) << op->name;
    const auto j = nlohmann::ordered_json::parse(
        part.substr(begin + 8, part.find("```", begin + 8) - begin - 8));
    std::vector<std::string> wanted{"op"};
    if (!op->is_root) wanted.emplace_back("in");
    for (const FieldRecord& f : op->fields) wanted.emplace_back(f.name);
    std::vector<std::string> got;
    for (const auto& [key, value] : j.items()) got.push_back(key);
    EXPECT_EQ(got, wanted) << op->name;
    EXPECT_EQ(j["op"], op->name);
  }
}

TEST(OpPages, EveryPageHasAnOp) {
  for (const auto& entry : fs::directory_iterator(kRoot / "docs/ops")) {
    EXPECT_NE(cohort::ir::find_op(entry.path().stem().string()), nullptr) << entry.path();
  }
}

TEST(OpPages, ReadmeLeadsToEach) {
  const std::string readme = read(kRoot / "README.md");
  for (const OpRecord* op : cohort::ir::all_ops()) {
    EXPECT_NE(readme.find("](docs/ops/" + std::string(op->name) + ".md)"), std::string::npos)
        << op->name;
  }
}

// Codes that begin a string in sources.
std::set<std::string> emitted_codes() {
  std::set<std::string> emitted;
  for (const char* folder : {"src", "include"}) {
    for (const auto& entry : fs::recursive_directory_iterator(kRoot / folder)) {
      const std::string extension = entry.path().extension().string();
      if (extension != ".cpp" && extension != ".h") continue;
      std::istringstream lines(read(entry.path()));
      for (std::string line; std::getline(lines, line);) {
        // A code begins a string; comments may quote one as an example.
        emitted.merge(matches(line.substr(0, line.find("//")), "\"(E-[A-Z]+(?:-[A-Z]+)*)"));
      }
    }
  }
  return emitted;
}

// A code that no test names could be given for anything.
TEST(Errors, EachCodeIsAssertedBySomeTest) {
  std::set<std::string> asserted;
  for (const auto& entry : fs::recursive_directory_iterator(kRoot / "test")) {
    const std::string extension = entry.path().extension().string();
    if (extension != ".cpp" && extension != ".h") continue;
    std::istringstream lines(read(entry.path()));
    for (std::string line; std::getline(lines, line);) {
      asserted.merge(matches(line.substr(0, line.find("//")), "\"(E-[A-Z]+(?:-[A-Z]+)*)"));
    }
  }
  for (const std::string& code : emitted_codes()) EXPECT_TRUE(asserted.contains(code)) << code;
  EXPECT_FALSE(asserted.contains(std::string("E") + "-NOBODY"));
}

TEST(Errors, PageHasExactlyTheCodesOfTheSource) {
  const std::set<std::string> emitted = emitted_codes();
  ASSERT_GT(emitted.size(), 30u);
  const std::string page = read(kRoot / "docs/errors.md");
  EXPECT_EQ(matches(page, "^### (E-[A-Z-]+)$"), emitted);
  for (const std::string& code : emitted) {
    const size_t begin = page.find("\n### " + code + "\n");
    if (begin == std::string::npos) continue;
    const std::string part = page.substr(begin, page.find("\n#", begin + 2) - begin);
    EXPECT_NE(part.find("\n* Means: "), std::string::npos) << code;
    EXPECT_NE(part.find("\n* Example: `` " + code), std::string::npos) << code;
    EXPECT_NE(part.find("\n* Do: "), std::string::npos) << code;
  }
}

TEST(KnownGaps, ListEveryOpWithItsState) {
  const std::string page = section(read(kRoot / "docs/known_gaps.md"), "Ops");
  std::set<std::string> done;
  for (const OpRecord* op : cohort::ir::all_ops()) {
    const std::string row = row_of(page, op->name);
    EXPECT_NE(row.find("| done |"), std::string::npos) << op->name;
    for (const FieldRecord& f : op->fields)
      EXPECT_TRUE(has_word(row, f.name)) << op->name << f.name;
    done.insert(op->name);
  }
  const std::set<std::string> rows = matches(page, "^\\| `([a-z_]+)` \\|");
  EXPECT_GE(rows.size(), done.size());
  for (const std::string& name : rows) {
    const std::string state = done.contains(name) ? "| done |" : "| missing |";
    EXPECT_NE(row_of(page, name).find(state), std::string::npos) << name;
  }
}

std::vector<fs::path> pages() {
  std::vector<fs::path> all{kRoot / "README.md"};
  for (const auto& entry : fs::recursive_directory_iterator(kRoot / "docs")) {
    if (entry.path().extension() == ".md") all.push_back(entry.path());
  }
  return all;
}

TEST(KnownGaps, CountTheBlocksThatAreNotRun) {
  std::set<std::string> counted;
  for (const fs::path& page : pages()) {
    const std::string text = read(page);
    const std::regex skipped("^```\\w+ skip: \\S", std::regex::multiline);
    const auto count = std::distance(std::sregex_iterator(text.begin(), text.end(), skipped), {});
    if (count == 0) continue;
    counted.insert("`" + fs::relative(page, kRoot).string() + "`: " + std::to_string(count));
  }
  ASSERT_FALSE(counted.empty());
  EXPECT_EQ(matches(section(read(kRoot / "docs/known_gaps.md"), "Skips"), "^\\* (.*)$"), counted);
}

// FC1 is (n, d), or (2 n, d) with a gate; FC2 is (d, n).
TEST(Models, ShapesOfTheTableFitTogether) {
  const std::string table = section(read(kRoot / "docs/from_a_model.md"), "Shapes");
  const std::regex row(
      "^\\| [^|]+ \\| (\\d+) \\| (\\d+) \\| [^|]+ \\| (\\d+), (\\d+)( \\(no gate\\))? \\| "
      "(\\d+), (\\d+) \\|$",
      std::regex::multiline);
  int rows = 0;
  for (std::sregex_iterator i(table.begin(), table.end(), row), end; i != end; ++i) {
    const auto number = [&i](size_t group) { return std::stol((*i)[group]); };
    const long d = number(1), n = number(2);
    EXPECT_EQ(number(3), (*i)[5].matched ? n : 2 * n) << (*i)[0];
    EXPECT_EQ(number(4), d) << (*i)[0];
    EXPECT_EQ(number(6), d) << (*i)[0];
    EXPECT_EQ(number(7), n) << (*i)[0];
    EXPECT_EQ(d % 8, 0) << (*i)[0];
    ++rows;
  }
  EXPECT_EQ(rows + 2, static_cast<int>(matches(table, "^(\\|.*)$").size()));  // head and rule
}

TEST(Links, LeadToFiles) {
  size_t count = 0;
  for (const fs::path& page : pages()) {
    for (const std::string& link : matches(read(page), "\\]\\(([^)\\s]+)\\)")) {
      if (link.rfind("http", 0) == 0) continue;
      ++count;
      const std::string file = link.substr(0, link.find('#'));
      EXPECT_TRUE(file.empty() || fs::exists(page.parent_path() / file)) << page << ": " << link;
    }
  }
  EXPECT_GT(count, 20u);
}

}  // namespace
