// A bar on a terminal, once the work has taken a second.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>

namespace cohort::cli {

struct Bar {
  using Clock = std::chrono::steady_clock;
  Clock::time_point begin = Clock::now();
  int shown = -1;

  static bool update(int64_t done, int64_t total, void* user) {
    Bar& bar = *static_cast<Bar*>(user);
    if (Clock::now() - bar.begin < std::chrono::seconds(1)) return true;
    const int percent = total > 0 ? static_cast<int>(100 * done / total) : 100;
    if (percent == bar.shown) return true;
    bar.shown = percent;
    std::string line(static_cast<size_t>(percent) / 2, '#');
    line.resize(50, '.');
    std::fprintf(stderr, "\r[%s] %3d %%", line.c_str(), percent);
    return true;
  }
  void clear() {
    if (shown >= 0) std::fprintf(stderr, "\r%60s\r", "");
    shown = -1;
  }
  ~Bar() { clear(); }
};

}  // namespace cohort::cli
