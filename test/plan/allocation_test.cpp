// What costs no memory: running an empty plan, another pointer, another T.
#include "plan/allocations.h"

#include <array>
#include <memory>
#include <vector>

#include "engine/gemm_case.h"
#include "plan/access.h"
#include "plan/fake_engine.h"

namespace cohort::test {
namespace {

// Allocations that f makes; f says whether it went well.
template <class F>
int64_t counted(F&& f) {
  const int64_t before = allocations;
  const bool good = f();
  const int64_t made = allocations - before;
  EXPECT_TRUE(good);
  return made;
}

// The hook has to see what it is there for, or the other tests say nothing.
TEST(Allocation, IsCounted) {
  // A direct call: a compiler may leave a new-expression out.
  void* made = nullptr;
  EXPECT_EQ(1, counted([&] { return (made = ::operator new(100)) != nullptr; }));
  ::operator delete(made);
#ifndef COHORT_SANITIZED
  void* p = nullptr;
  EXPECT_EQ(1, counted([&] { return (p = std::malloc(100)) != nullptr; }));
  EXPECT_EQ(1, counted([&] { return (p = std::realloc(p, 100000)) != nullptr; }));
  std::free(p);
  EXPECT_EQ(1, counted([&] { return (p = std::aligned_alloc(256, 256)) != nullptr; }));
  std::free(p);
#endif
}

// The grouped product bound to memory, with an engine that does nothing, or the reference engine.
class NoAllocation : public ::testing::Test {
 protected:
  NoAllocation() : bench_(case_.graph(), {{"T", 40}}) {
    bench_.tensors.set("x", case_.x);
    bench_.tensors.set("w", case_.w);
    put_groups(bench_.tensors, "g", case_.form, case_.offsets, case_.ranges);
  }
  Plan empty_plan() {
    const engine::Engine* const engines[] = {&engine_};
    return detail::PlanAccess::plan(
        plan::plan_graph(*detail::Access::graph(bench_.graph), 0, {}, engines));
  }
  Execution bind(const Plan& plan) {
    return *plan.bind(bench_.graph, {{"T", 40}}, bench_.tensors.all());
  }
  GemmCase case_;
  Bench bench_;
  FakeEngine engine_{"empty"};
};

// thunder#271, cudnn-frontend#1086: what a call costs beside its kernel. test/benchmark measures
// the time of build, key, cache hit and run.
TEST_F(NoAllocation, RunOfAnEmptyPlan) {
  const Execution e = bind(empty_plan());
  EXPECT_EQ(0, counted([&] { return static_cast<bool>(e.run(nullptr)); }));
}

TEST_F(NoAllocation, AnotherPointer) {
  Execution e = bind(bench_.plan);
  const int32_t x = bench_.graph.tensor_index("x");
  void* const data = bench_.tensors.data<float>("x");
  EXPECT_EQ(0, counted([&] { return static_cast<bool>(e.rebind(x, data)); }));
}

TEST_F(NoAllocation, TwoOtherPointers) {
  Execution e = bind(bench_.plan);
  const int32_t x = bench_.graph.tensor_index("x");
  const int32_t y = bench_.graph.tensor_index("y");
  void* const from = bench_.tensors.data<float>("x");
  void* const to = bench_.tensors.data<float>("y");
  EXPECT_EQ(0, counted([&] { return static_cast<bool>(e.rebind({{x, from}, {y, to}})); }));
  Execution copy = e;
  EXPECT_EQ(0, counted([&] { return static_cast<bool>(copy.rebind({{x, from}, {y, to}})); }));
  EXPECT_EQ(0, counted([&] { return static_cast<bool>(copy.resize({{"T", 39}})); }));
}

TEST_F(NoAllocation, AnotherT) {
  Execution e = bind(bench_.plan);
  for (const int64_t t : {0, 1, 39, 40}) {
    EXPECT_EQ(0, counted([&] { return static_cast<bool>(e.resize({{"T", t}})); })) << t;
  }
}

// What an engine keeps of a binding has its memory since bind.
TEST_F(NoAllocation, PreparedAnew) {
  engine_.calls->prepares = true;
  Execution e = bind(empty_plan());
  const int32_t x = bench_.graph.tensor_index("x");
  void* const data = bench_.tensors.data<float>("x");
  EXPECT_EQ(0, counted([&] { return static_cast<bool>(e.rebind(x, data)); }));
  EXPECT_EQ(0, counted([&] { return static_cast<bool>(e.resize({{"T", 39}})); }));
  EXPECT_EQ(0, counted([&] { return static_cast<bool>(e.resize({{"T", 40}})); }));
  EXPECT_EQ(engine_.calls->prepared, 5);
}

TEST_F(NoAllocation, CopyOfAPlanAndKeyOfAGraph) {
  const Key key = bench_.graph.key();
  EXPECT_EQ(0, counted([&] {
              const Plan copy = bench_.plan;
              return bench_.graph.key() == key;
            }));
}

}  // namespace
}  // namespace cohort::test
