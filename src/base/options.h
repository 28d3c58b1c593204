// The only reader of environment variables.
#pragma once

#include <cstdint>
#include <string>

namespace cohort::base {

/// What the environment asks for; read once.
struct Options {
  std::string isa;      ///< COHORT_ISA: highest instruction set level, "v1", "v3" or "v4".
  std::string fault;    ///< What is wrong with a variable; empty: nothing.
  int32_t threads = 0;  ///< COHORT_THREADS: threads of the CPU engine; 0: all processors.
};

[[nodiscard]] const Options& options();

}  // namespace cohort::base
