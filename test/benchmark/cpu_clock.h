// Time of one thread, for benchmarks that time a part of an iteration themselves.
#pragma once

#include <ctime>

namespace cohort::benchmarks {

/// Seconds of CPU that this thread has had.
inline double thread_seconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

}  // namespace cohort::benchmarks
