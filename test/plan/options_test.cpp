// Options that nothing can hold to, the log, and an execution that binds nothing.
#include <cohort/cohort.h>
#include <gtest/gtest.h>

#include <string>

namespace cohort {
namespace {

Result<Graph> product() {
  Builder g("g");
  auto a = g.input("a", {8, 8}, DType::f32);
  auto b = g.input("b", {8, 8}, DType::f32);
  g.output("y", g.add(Matmul{.a = a, .b = b}));
  return std::move(g).finish();
}

TEST(PlanOptionsCheck, NegativeNumbers) {
  PlanOptions options;
  options.sm_limit = -5;
  options.workspace_limit = -77;
  options.expected_rows = -1;
  const Result<Plan> plan = make_plan(product(), Device::cpu(), options);
  ASSERT_FALSE(plan);
  ASSERT_EQ(plan.findings().size(), 3) << plan.findings().text();
  EXPECT_EQ(plan.findings()[1].field, "workspace_limit");
}

TEST(Log, SaysHowAPlanWasFound) {
  clear_plan_cache();
  std::string lines;
  set_log([](int, std::string_view line,
             void* user) { static_cast<std::string*>(user)->append(line).append("\n"); },
          &lines);
  EXPECT_TRUE(make_plan(product(), Device::cpu()));
  EXPECT_NE(lines.find("plan cache: miss"), std::string::npos);
  EXPECT_NE(lines.find("chosen: reference"), std::string::npos);
  EXPECT_EQ(lines.find("plan cache: hit"), std::string::npos);
  EXPECT_TRUE(make_plan(product(), Device::cpu()));
  EXPECT_NE(lines.find("plan cache: hit"), std::string::npos);
  PlanOptions options;
  options.engine = "nobody";
  EXPECT_FALSE(make_plan(product(), Device::cpu(), options));
  options = {};
  options.sm_limit = -1;
  EXPECT_FALSE(make_plan(product(), Device::cpu(), options));
  set_log(nullptr, nullptr);
  EXPECT_FALSE(make_plan(product(), Device::cpu(), {.expected_rows = -1}));
  EXPECT_NE(lines.find("E-ATTRIBUTE PlanOptions.sm_limit"), std::string::npos);
  EXPECT_EQ(lines.find("expected_rows"), std::string::npos) << "nobody listens any more";
  EXPECT_NE(lines.find("E-UNSUPPORTED"), std::string::npos);
}

TEST(MovedFrom, AnExecutionSaysSo) {
  const Result<Graph> graph = product();
  const Result<Plan> plan = make_plan(graph, Device::cpu());
  ASSERT_TRUE(plan);
  alignas(64) float memory[3][64] = {};
  const NamedTensor tensors[] = {{"a", TensorView::packed(memory[0], DType::f32, {8, 8})},
                                 {"b", TensorView::packed(memory[1], DType::f32, {8, 8})},
                                 {"y", TensorView::packed(memory[2], DType::f32, {8, 8})}};
  Result<Execution> bound = plan->bind(*graph, {}, {tensors, 3});
  ASSERT_TRUE(bound) << bound.findings().text();
  Execution& from = *bound;
  const Execution taken(std::move(from));
  // NOLINTBEGIN(bugprone-use-after-move): what is left behind is the subject.
  const Execution copy(from);
  for (const Status& s :
       {from.run(nullptr), from.rebind(0, memory[0]), from.resize({}), copy.run(nullptr)}) {
    ASSERT_FALSE(s);
    EXPECT_EQ(s.findings()[0].code, "E-HANDLE") << s.findings().text();
  }
  EXPECT_EQ(from.workspace_bytes(), 0);
  // NOLINTEND(bugprone-use-after-move)
  EXPECT_TRUE(taken.run(nullptr));
}

}  // namespace
}  // namespace cohort
