#include "base/parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "base/options.h"

namespace cohort::base {

int thread_count(int32_t limit) {
  const int32_t wanted = base::options().threads;
  const auto processors = static_cast<int>(std::thread::hardware_concurrency());
  const int n = wanted > 0 ? wanted : std::max(processors, 1);
  return limit > 0 ? std::min<int>(n, limit) : n;
}

namespace {

struct Shared {
  std::atomic<int64_t> next{0};
  std::atomic<int64_t> done{0};
  std::atomic<bool> stop{false};
  std::mutex mutex;
  std::exception_ptr error;
  int64_t error_item = 0;

  void failed(int64_t item) {
    const std::lock_guard lock(mutex);
    if (!error || item < error_item) {
      error = std::current_exception();
      error_item = item;
    }
    stop = true;
  }
};

}  // namespace

bool parallel_for(int64_t count, int threads, const std::function<void(int64_t, int)>& work,
                  const std::function<bool(int64_t)>& progress) {
  Shared s;
  std::atomic<bool> stopped{false};
  const auto loop = [&](int thread) {
    for (;;) {
      const int64_t item = s.next.fetch_add(1, std::memory_order_relaxed);
      if (item >= count || s.stop.load(std::memory_order_relaxed)) return;
      try {
        work(item, thread);
      } catch (...) {
        s.failed(item);
        return;
      }
      const int64_t done = s.done.fetch_add(1, std::memory_order_relaxed) + 1;
      if (thread == 0 && progress && !progress(done)) {
        stopped = true;
        s.stop = true;
      }
    }
  };
  const auto helpers =
      static_cast<size_t>(std::clamp<int64_t>(threads - 1, 0, std::max<int64_t>(count - 1, 0)));
  std::vector<std::thread> pool;
  pool.reserve(helpers);
  try {
    for (size_t i = 0; i < helpers; ++i) pool.emplace_back(loop, static_cast<int>(i) + 1);
  } catch (...) {
    // Fewer threads than wished for, or no memory for one more: the work is done all the same, and
    // those that run must be waited for.
  }
  loop(0);
  for (std::thread& t : pool) t.join();
  if (s.error) std::rethrow_exception(s.error);
  return !stopped;
}

}  // namespace cohort::base
