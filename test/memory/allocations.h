// Makes the n-th allocation of this program fail, wherever it comes from: operator new and, through
// the linker's --wrap, the malloc family of every object that is linked statically.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include <cohort/cohort.h>

namespace cohort::test {

/// Which allocations fail from now on. `n` counts from 1; 0: none.
void fail_allocations(int64_t n, bool and_all_later);
/// Stops failing. Returns how many allocations failed.
int64_t stop_failing();
/// Allocations seen since fail_allocations.
int64_t allocations_seen();

/// Runs `step(prepare())` with the first, second, ... allocation of the step failing, alone and
/// with all that follow, until it passes without a failure. A step returns what it was told:
/// nothing, E-MEMORY, or, with `expected`, those codes. `after(prepared, findings)` looks at what
/// is left behind while memory is there again.
template <class P, class S, class A>
void every_allocation_fails(const std::string& what, P&& prepare, S&& step, A&& after,
                            const std::string& expected = {}) {
  int64_t reported = 0;
  for (const bool and_all_later : {false, true}) {
    for (int64_t n = 1;; ++n) {
      ASSERT_LT(n, 100'000) << what;
      auto prepared = prepare();
      fail_allocations(n, and_all_later);
      Findings findings = step(prepared);
      const int64_t failed = stop_failing();
      std::string codes;
      for (const Finding& f : findings) codes += (codes.empty() ? "" : " ") + std::string(f.code);
      const bool is_memory = codes == "E-MEMORY" && findings.kind() == ErrorKind::limit;
      ASSERT_TRUE(codes == expected || (failed > 0 && is_memory))
          << what << ", allocation " << n << ": " << findings.text();
      if (is_memory) {
        ++reported;
        ASSERT_FALSE(findings[0].message.empty()) << what;
      }
      ASSERT_NO_FATAL_FAILURE(after(prepared, findings)) << what << ", allocation " << n;
      if (failed == 0) break;
    }
  }
  EXPECT_GT(reported, 0) << what << ": no allocation was seen to fail";
}

}  // namespace cohort::test
