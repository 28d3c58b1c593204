// Valid graphs of every op, taken from the conformance list: a new op brings its own.
#pragma once

#include <string>
#include <vector>

namespace cohort::test {

/// A valid graph and the op that it is about.
struct Seed {
  std::string op;
  std::string label;  ///< "row_gate.f32"
  std::string json;   ///< Canonical text.
};

/// One graph a case of the conformance list, each text once.
[[nodiscard]] const std::vector<Seed>& seeds();

}  // namespace cohort::test
