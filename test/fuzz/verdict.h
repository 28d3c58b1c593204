// What must hold of any text that is given to the reader: it is refused with findings that help,
// or it is a graph that means one thing, can be planned, and runs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace cohort::test {

/// What became of a text.
struct Verdict {
  std::string problem;  ///< Empty: all is well.
  bool accepted = false;
  bool planned = false;
  bool ran = false;  ///< To the end; a run may also refuse the data it is given.
};

/// Reads a text; when it is a graph, reads it again from its own text, plans it for the CPU and, if
/// it is small, runs it on data made from `seed`.
[[nodiscard]] Verdict judge(std::string_view text, uint64_t seed);

}  // namespace cohort::test
