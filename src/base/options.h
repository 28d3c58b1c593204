// The only reader of environment variables.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace cohort::base {

/// A variable as it was when it was read; an empty one counts as none.
struct Variable {
  const char* name;
  std::string value{};
};

/// What the environment asks for; read once.
struct Options {
  std::array<Variable, 2> variables{{{"COHORT_ISA"}, {"COHORT_THREADS"}}};
  std::string isa;      ///< COHORT_ISA: highest instruction set level, "v1", "v3" or "v4".
  std::string fault;    ///< What is wrong with a variable; empty: nothing.
  int32_t threads = 0;  ///< COHORT_THREADS: threads of the CPU engine; 0: all processors.
};

[[nodiscard]] const Options& options();

}  // namespace cohort::base
