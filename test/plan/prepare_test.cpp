// What an engine makes of a binding is made once for it, not once a run.
#include "engine/gemm_case.h"
#include "fixtures/findings.h"
#include "plan/access.h"
#include "plan/fake_engine.h"

namespace cohort::test {
namespace {

class Prepare : public ::testing::Test {
 protected:
  Prepare() : bench_(case_.graph(), {{"T", 40}}) {
    engine_.calls->prepares = true;
    const engine::Engine* const engines[] = {&engine_};
    plan_.emplace_back(detail::PlanAccess::plan(
        plan::plan_graph(*detail::Access::graph(bench_.graph), 0, {}, engines)));
  }
  Result<Execution> bind() {
    return plan_[0].bind(bench_.graph, {{"T", 40}}, bench_.tensors.all());
  }
  // What a run of `e` is given for `tensor`.
  void* given(const Execution& e, const char* tensor) {
    EXPECT_TRUE(e.run(nullptr));
    EXPECT_TRUE(calls().was_prepared);
    return calls().last.data[static_cast<size_t>(bench_.graph.tensor_index(tensor))];
  }
  int64_t given_size(const Execution& e) {
    EXPECT_TRUE(e.run(nullptr));
    return calls().last.sizes[0];
  }
  FakeCalls& calls() { return *engine_.calls; }

  GemmCase case_;
  Bench bench_;
  FakeEngine engine_{"prepares"};
  std::vector<Plan> plan_;
};

TEST_F(Prepare, OnceForManyRuns) {
  const Execution e = *bind();
  // The second is memory for another binding, so that rebind and resize allocate nothing.
  EXPECT_EQ(calls().prepared, 2);
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(e.run(nullptr));
  EXPECT_EQ(calls().prepared, 2);
  EXPECT_EQ(calls().launched, 100);
  EXPECT_EQ(given(e, "x"), bench_.tensors.view("x").data);
  EXPECT_EQ(given_size(e), 40);
}

TEST_F(Prepare, AnewForAnotherPointerOrSize) {
  Execution e = *bind();
  const int32_t y = bench_.graph.tensor_index("y");
  std::vector<float> other(40 * 10 + 4);
  float* const at = other.data() + (16 - reinterpret_cast<uintptr_t>(other.data()) % 16) % 16 / 4;
  ASSERT_TRUE(e.rebind(y, at));
  EXPECT_EQ(calls().prepared, 3);
  EXPECT_EQ(given(e, "y"), at);
  EXPECT_EQ(given_size(e), 40);
  ASSERT_TRUE(e.resize({{"T", 17}}));
  EXPECT_EQ(calls().prepared, 4);
  EXPECT_EQ(given(e, "y"), at);
  EXPECT_EQ(given_size(e), 17);
  ASSERT_FALSE(e.rebind(y, nullptr));
  ASSERT_FALSE(e.resize({{"T", -1}}));
  EXPECT_EQ(calls().prepared, 4) << "a binding that is refused is not prepared";
}

TEST_F(Prepare, ACopyHasItsOwn) {
  Execution e = *bind();
  const Execution copy(e);
  EXPECT_EQ(calls().prepared, 4);
  ASSERT_TRUE(e.resize({{"T", 3}}));
  EXPECT_EQ(given_size(copy), 40);
  EXPECT_EQ(given_size(e), 3);
}

TEST_F(Prepare, AFailureChangesNothing) {
  Execution e = *bind();
  calls().failure = "no tensor map for it";
  const Status resized = e.resize({{"T", 5}});
  EXPECT_EQ(only(resized.findings()).code, "E-ENVIRONMENT");
  const int32_t x = bench_.graph.tensor_index("x");
  const Status rebound = e.rebind(x, bench_.tensors.view("w").data);
  EXPECT_EQ(only(rebound.findings()).message, "no tensor map for it");
  EXPECT_FALSE(bind());
  calls().failure.clear();
  EXPECT_EQ(given_size(e), 40);
  EXPECT_EQ(given(e, "x"), bench_.tensors.view("x").data);
  ASSERT_TRUE(e.resize({{"T", 6}}));
  EXPECT_EQ(given_size(e), 6);
}

TEST_F(Prepare, NothingIsKeptByDefault) {
  calls().prepares = false;
  const Execution e = *bind();
  ASSERT_TRUE(e.run(nullptr));
  EXPECT_FALSE(calls().was_prepared);
}

}  // namespace
}  // namespace cohort::test
