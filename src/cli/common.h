// What the commands share: reading graphs, reporting findings, exit codes.
#pragma once

#include <cohort/cohort.h>

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace cohort::cli {

/// Exit codes: docs/command.md.
enum Exit : int { kOk = 0, kBadGraph = 1, kUsage = 2, kInternal = 3 };

using Json = nlohmann::ordered_json;

/// Leaves a command with findings.
struct Failure {
  Findings findings;
};
/// A finding of the command's own.
struct Problem {
  std::string code;
  std::string op;  ///< What it is about: a tensor, a path, an option; may be empty.
  std::string message;
  std::string wanted{};
  std::string got{};
  std::string field{};
  std::string hint{};
  /// "CODE OP.FIELD: MESSAGE; HINT".
  [[nodiscard]] std::string text() const;
};
/// Leaves a command with problems.
struct Stop {
  int exit;
  std::vector<Problem> problems;
  bool is_told = false;  ///< With --json: what was printed says it.
};

/// Options that every command has.
struct Common {
  std::string graph;  ///< Path, or "-".
  bool json = false;  ///< --json
  std::string repro;  ///< The command line, for REPRO.
};

/// The exit code for a kind of failure.
[[nodiscard]] int exit_code(ErrorKind kind);
/// Prints findings: text to stderr, or a JSON object to stdout; then the REPRO line. Returns the
/// exit code.
int report(const Findings& findings, const Common& common);
/// As above; the first hundred problems are shown, all are counted.
int report(const Stop& stop, const Common& common);

/// A file's text, or standard input's for "-". Throws Stop.
[[nodiscard]] std::string read_text(const std::string& path);
/// The graph that `common.graph` names. Throws Failure or Stop.
[[nodiscard]] Graph read_graph(const Common& common);

/// The value, or throws Failure.
template <class T>
T value_of(Result<T> result) {
  if (!result) throw Failure{result.findings()};
  return *std::move(result);
}

/// Writes to standard output, and notices when nobody reads it. Throws Stop.
void print(std::string_view text);

/// A name of a file's as a terminal can show it: control characters, line ends too, become \\xHH.
[[nodiscard]] std::string shown(std::string_view name);

/// An argument as a shell takes it back.
[[nodiscard]] std::string quoted(std::string_view argument);

}  // namespace cohort::cli
