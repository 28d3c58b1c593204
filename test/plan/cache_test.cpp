// The process-wide plan cache.
#include <atomic>
#include <thread>

#include "engine/harness.h"

namespace cohort::test {
namespace {

Graph sized(int64_t features, const char* name = "x") {
  Builder g("cached");
  const Dim t = g.dynamic("T", 100);
  const auto x = g.input(name, {t, features}, DType::f32);
  g.output("y", g.add(Load{.x = x}).then(ReluSquared{}));
  return finish(g);
}

TEST(Cache, HitNeedsGraphDeviceAndOptions) {
  clear_plan_cache();
  const PlanCacheStats start = plan_cache_stats();
  ASSERT_TRUE(make_plan(sized(8), Device::cpu()));
  ASSERT_TRUE(make_plan(sized(8), Device::cpu()));
  ASSERT_TRUE(make_plan(sized(8, "another name"), Device::cpu()));
  PlanCacheStats s = plan_cache_stats();
  EXPECT_EQ(2, s.hits - start.hits);
  EXPECT_EQ(1, s.misses - start.misses);
  ASSERT_TRUE(make_plan(sized(9), Device::cpu()));
  ASSERT_TRUE(make_plan(sized(8), Device::sm90()));
  const PlanOptions options[] = {
      {.deterministic = true},      {.batch_invariant = true},         {.sm_limit = 1},
      {.workspace_limit = 1 << 20}, {.allow_approx_reciprocal = true}, {.expected_rows = 4},
      {.engine = "reference"}};
  for (const PlanOptions& o : options) ASSERT_TRUE(make_plan(sized(8), Device::cpu(), o));
  s = plan_cache_stats();
  EXPECT_EQ(2, s.hits - start.hits);
  EXPECT_EQ(10, s.misses - start.misses);
  EXPECT_EQ(10, s.size);
}

TEST(Cache, IsBounded) {
  clear_plan_cache();
  const int64_t capacity = plan_cache_stats().capacity;
  const Plan first = *make_plan(sized(1), Device::cpu());
  for (int64_t i = 2; i < capacity + 10; ++i) ASSERT_TRUE(make_plan(sized(i), Device::cpu()));
  EXPECT_EQ(capacity, plan_cache_stats().size);
  EXPECT_EQ("reference", first.engine());  // dropped, and alive while it is used
  const int64_t misses = plan_cache_stats().misses;
  ASSERT_TRUE(make_plan(sized(1), Device::cpu()));
  EXPECT_EQ(misses + 1, plan_cache_stats().misses);
  ASSERT_TRUE(make_plan(sized(capacity), Device::cpu()));  // used lately: still there
  EXPECT_EQ(misses + 1, plan_cache_stats().misses);
}

TEST(Cache, ServesManyThreads) {
  clear_plan_cache();
  const std::vector<Graph> graphs{sized(1), sized(2), sized(3)};
  std::vector<std::thread> threads;
  std::atomic<int> served{0};
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      for (int k = 0; k < 200; ++k) {
        const Graph& g = graphs[static_cast<size_t>(i + k) % 3];
        if (k % 50 == 49 && i == 0) clear_plan_cache();
        const Result<Plan> p = make_plan(g, Device::cpu());
        if (p && p->tensor(0).shape[1] == (i + k) % 3 + 1) ++served;
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(1600, served);
}

}  // namespace
}  // namespace cohort::test
