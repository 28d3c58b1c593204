// Runs the built command and keeps what it says.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace cohort::test {

struct Said {
  int exit = -1;
  std::string out;
  std::string err;
};

inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// A test with a folder of its own that is removed at the end.
class Command : public testing::Test {
 protected:
  Command() {
    std::string pattern = (std::filesystem::temp_directory_path() / "cohort_cli_XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  ~Command() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string path(const std::string& name) const {
    return (folder_ / name).string();
  }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name), std::ios::binary) << text;
    return path(name);
  }
  /// Runs `cohort ARGUMENTS` through the shell; redirections in `arguments` win.
  [[nodiscard]] Said cohort(const std::string& arguments) const {
    const std::string line = std::string(COHORT_COMMAND) + " >" + path("out") + " 2>" +
                             path("err") + " </dev/null " + arguments;
    const int status = std::system(line.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_file(path("out")),
            read_file(path("err"))};
  }
  /// Runs a line of bash that has no single quotes in it.
  [[nodiscard]] Said shell(const std::string& line) const {
    const std::string all = "(" + line + ") >" + path("out") + " 2>" + path("err") + " </dev/null";
    const int status = std::system(("bash -c '" + all + "'").c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_file(path("out")),
            read_file(path("err"))};
  }
  // The names of the bundled graphs.
  [[nodiscard]] std::vector<std::string> samples() const {
    std::istringstream list(cohort("sample").out);
    std::vector<std::string> names;
    for (std::string line; std::getline(list, line);) {
      names.push_back(line.substr(0, line.find(' ')));
    }
    return names;
  }
  /// Stores a bundled graph; returns its path.
  [[nodiscard]] std::string sample(const std::string& name) const {
    const Said s = cohort("sample " + name);
    EXPECT_EQ(s.exit, 0) << s.err;
    return write(name + ".json", s.out);
  }
  /// The exit code, and the REPRO line that ends every failure.
  void fails(const std::string& arguments, int exit, const std::string& with) const {
    const Said s = cohort(arguments);
    EXPECT_EQ(s.exit, exit) << arguments << "\n" << s.err;
    EXPECT_NE(s.err.find(with), std::string::npos) << arguments << "\n" << s.err;
    const size_t last = s.err.rfind('\n', s.err.size() - 2);
    const std::string repro = s.err.substr(last == std::string::npos ? 0 : last + 1);
    EXPECT_EQ(repro.rfind("REPRO: ", 0), 0u) << s.err;  // variables that are set come before it
    EXPECT_NE(repro.find(" cohort"), std::string::npos) << s.err;
  }
  /// Names of what stands in the folder, without what the tests themselves wrote.
  [[nodiscard]] bool has_leftovers() const {
    for (const auto& e : std::filesystem::directory_iterator(folder_)) {
      if (e.path().string().find(".tmp.") != std::string::npos) return true;
    }
    return false;
  }

 private:
  std::filesystem::path folder_;
};

}  // namespace cohort::test
