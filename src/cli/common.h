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
/// Leaves a command with a sentence.
struct Stop {
  int exit;
  std::string message;
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
/// As above, for a sentence.
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
