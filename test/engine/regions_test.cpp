// Graphs of several chains: what runs together and what is kept in the workspace.
#include "engine/gemm_case.h"

namespace cohort::test {
namespace {

// A value without groups covers all rows, even when a value with groups is made of it.
TEST(Regions, RowsWithoutGroupsAreAllComputed) {
  Builder g("mixed");
  const auto x = g.input("x", {6, 2}, DType::f32);
  const auto c = g.input("c", {6, 2}, DType::f32);
  const auto bounds = g.groups("g", 1, GroupForm::boundaries);
  const auto all = g.add(Load{.x = c});
  const auto some = g.add(Load{.x = x, .groups = bounds}).then(Add{.c = all});
  g.output("all", all);
  g.output("some", some, {.tail = Tail::zero});
  Bench b(finish(g));
  b.tensors.set<float>("x", std::vector<float>(12, 1));
  b.tensors.set<float>("c", std::vector<float>(12, 2));
  b.tensors.set<int32_t>("g", {2, 4});
  b.run_well();
  expect_same_bits(b.tensors.values<float>("all"), std::vector<float>(12, 2));
  expect_same_bits(b.tensors.values<float>("some"), {0, 0, 0, 0, 3, 3, 3, 3, 0, 0, 0, 0});
}

TEST(Regions, AValueHasAnyNumberOfConsumers) {
  const GemmCase c;
  Builder g("shared");
  const auto x = g.input("x", {c.rows, c.sum}, DType::f32);
  const auto w = g.weights("w", {c.experts, c.features, c.sum}, DType::f32);
  const auto w2 = g.weights("w2", {c.experts, 4, c.features}, DType::f32);
  const auto ends = g.groups("g", 3, GroupForm::ends);
  const auto y = g.add(GroupedGemm{.a = x, .b = w, .groups = ends});
  const auto r = y.then(Unary{.mode = UnaryMode::relu});
  const auto twice = y.then(Add{.c = y});
  const auto z =
      g.add(GroupedGemm{.a = r, .b = w2, .groups = ends}).then(Unary{.mode = UnaryMode::identity});
  g.output("y", y);
  g.output("r", r);
  g.output("twice", twice);
  g.output("z", z);
  g.output("max", twice.then(Amax{.per = AmaxPer::expert}));
  Bench b(finish(g));
  EXPECT_GT(b.plan.workspace_bytes(), 0);
  b.tensors.set("x", c.x);
  b.tensors.set("w", c.w);
  const auto second = whole_numbers(3 * 4 * 10, 8);
  b.tensors.set("w2", second);
  put_groups(b.tensors, "g", GroupForm::ends, DType::i32, c.ranges);
  b.run_well();
  const auto want = c.expected();
  expect_same_bits(b.tensors.values<float>("y"), want);
  std::vector<float> relu = want;
  std::vector<float> maximum(3, 0);
  for (size_t i = 0; i < want.size(); ++i) {
    relu[i] = std::max(want[i], 0.0f);
    ASSERT_EQ(relu[i], b.tensors.data<float>("r")[i]);
    ASSERT_EQ(2 * want[i], b.tensors.data<float>("twice")[i]);
    float& m = maximum[i / 10 < 7 ? 0 : i / 10 < 27 ? 1 : 2];
    m = std::max(m, 2 * std::abs(want[i]));
  }
  expect_same_bits(b.tensors.values<float>("max"), maximum);
  GemmCase next{.features = 4, .sum = 10, .x = relu, .w = second};
  expect_same_bits(b.tensors.values<float>("z"), next.expected());
}

TEST(Regions, MaximumIsAnOperandOfLaterOps) {
  Builder g("reduced");
  const auto x = g.input("x", {4, 2}, DType::f32);
  const auto bounds = g.groups("g", 2, GroupForm::ends);
  const auto w = g.weights("w", {2, 2, 2}, DType::f32);
  const auto top = g.add(Load{.x = x, .groups = bounds}).then(Amax{.per = AmaxPer::expert});
  g.output("y", g.add(GroupedGemm{.a = x, .b = w, .groups = bounds}).then(Alpha{.by = top}));
  Bench b(finish(g));
  b.tensors.set<float>("x", {1, -2, 3, 4, -5, 0, 1, 1});
  b.tensors.set<float>("w", {1, 0, 0, 1, 1, 0, 0, 1});
  b.tensors.set<int32_t>("g", {2, 4});
  b.run_well();
  expect_same_bits(b.tensors.values<float>("y"), {4, -8, 12, 16, -25, 0, 5, 5});
}

// Scales that are placed by group cannot be found by a product without groups.
TEST(Regions, ShiftedScalesNeedTheirGroups) {
  Builder g("shifted");
  const auto a = g.scaled_input("a", {64, 64}, Format::mxfp8_e4m3);
  const auto b =
      g.scaled_input("b", {64, 64}, Format::mxfp8_e4m3, {.layout = ScaleLayout::shifted_128});
  g.output("y", g.add(Matmul{.a = a, .b = b}));
  const Result<Graph> graph = std::move(g).finish();
  ASSERT_FALSE(graph);
  EXPECT_EQ("E-LAYOUT", graph.findings()[0].code);
  EXPECT_EQ("b", graph.findings()[0].field);
}

TEST(Regions, ShiftedScalesCannotBeGathered) {
  Builder g("shifted");
  const auto a =
      g.scaled_input("a", {64, 64}, Format::mxfp8_e4m3, {.layout = ScaleLayout::shifted_128});
  const auto w = g.scaled_weights("w", {2, 64, 64}, Format::mxfp8_e4m3);
  const auto ends = g.groups("g", 2, GroupForm::ends);
  const auto index = g.index("i", 64);
  g.output("y", g.add(GroupedGemm{.a = a, .b = w, .groups = ends, .gather = index}));
  const Result<Graph> graph = std::move(g).finish();
  ASSERT_FALSE(graph);
  EXPECT_EQ("E-LAYOUT", graph.findings()[0].code);
}

TEST(Regions, QuantisedRowsKeepTheirGroups) {
  Builder g("other groups");
  const auto x = g.input("x", {64, 64}, DType::f32);
  const auto w = g.scaled_weights("w", {2, 64, 64}, Format::mxfp8_e4m3);
  const auto first = g.groups("first", 2, GroupForm::ends);
  const auto second = g.groups("second", 2, GroupForm::ends);
  const auto q =
      g.add(Load{.x = x, .groups = first})
          .then(Quantize{.to = Format::mxfp8_e4m3, .row_layout = ScaleLayout::shifted_128});
  g.output("y", g.add(GroupedGemm{.a = q.row, .b = w, .groups = second}));
  const Result<Graph> graph = std::move(g).finish();
  ASSERT_FALSE(graph);
  EXPECT_EQ("E-GROUPS", graph.findings()[0].code);
}

TEST(Regions, SizesBetweenProductsAreChecked) {
  Builder g("vast");
  const Dim t = g.dynamic("T", int64_t{1} << 47);
  const auto x = g.input("x", {t, 1}, DType::bf16);
  const auto w = g.weights("w", {1, int64_t{1} << 20, 1}, DType::bf16);
  const auto w2 = g.weights("w2", {1, 1, int64_t{1} << 20}, DType::f32);
  const auto ends = g.groups("g", 1, GroupForm::ends);
  const auto y = g.add(GroupedGemm{.a = x, .b = w, .groups = ends});
  g.output("y", g.add(GroupedGemm{.a = y, .b = w2, .groups = ends}));
  const Result<Plan> plan = make_plan(std::move(g).finish(), Device::cpu());
  ASSERT_FALSE(plan);
  EXPECT_NE(std::string::npos, std::string(plan.findings().text()).find("63 bits"))
      << plan.findings().text();
}

}  // namespace
}  // namespace cohort::test
