// Work shared among threads. Which thread does what never changes a result.
#pragma once

#include <cstdint>
#include <functional>

namespace cohort::base {

/// Threads to use: COHORT_THREADS, else every processor; at most `limit` when that is positive.
[[nodiscard]] int thread_count(int32_t limit);

/// Calls work(item, thread) for every item of 0 .. count - 1. The calling thread is thread 0; it
/// calls `progress(done)` now and then, which stops the work by returning false. Rethrows the
/// exception of the lowest item. Returns false when it was stopped.
bool parallel_for(int64_t count, int threads, const std::function<void(int64_t, int)>& work,
                  const std::function<bool(int64_t)>& progress);

}  // namespace cohort::base
