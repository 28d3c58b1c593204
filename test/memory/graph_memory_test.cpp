// Describing, storing and reading a graph while memory runs out.
#include <optional>
#include <string>
#include <utility>

#include "memory/allocations.h"
#include "memory/fc1.h"

namespace cohort::test {
namespace {

const auto nothing = [] { return 0; };
const auto no_more = [](const auto&, const Findings&) {};

TEST(Memory, TheHarnessSeesAllocationsOfEveryKind) {
  fail_allocations(1, false);
  bool threw = false;
  try {
    const std::string s(1000, 'x');
    threw = s.size() == 1;
  } catch (const std::bad_alloc&) {
    threw = true;
  }
  EXPECT_EQ(stop_failing(), 1);
  EXPECT_TRUE(threw);
  fail_allocations(1, true);
  void* p = std::aligned_alloc(64, 64);
  void* q = std::malloc(8);
  EXPECT_EQ(stop_failing(), 2);
  EXPECT_EQ(p, nullptr);
  EXPECT_EQ(q, nullptr);
  std::free(p);
  std::free(q);
}

TEST(Memory, BuildingAGraph) {
  every_allocation_fails(
      "fc1", nothing, [](int) { return fc1().findings(); }, no_more);
  EXPECT_TRUE(fc1());
}

TEST(Memory, BuildingAGraphWithFindings) {
  every_allocation_fails(
      "wrong fc1", nothing, [](int) { return wrong_fc1().findings(); }, no_more,
      "E-SHAPE E-ATTRIBUTE E-HANDLE E-UNUSED");
}

// Handles that outlive what went wrong may be used and destroyed.
TEST(Memory, HandlesOfABuilderThatRanOut) {
  struct Two {
    std::optional<Builder> a;
    std::optional<Value> v;
  };
  every_allocation_fails(
      "handles", [] { return Two{}; },
      [](Two& two) {
        two.a.emplace("first");
        const Dim t = two.a->dynamic("T", 64);
        two.v.emplace(two.a->add(Load{.x = two.a->input("x", {t, 32}, DType::f32)}));
        two.a->output("y", *two.v);
        return std::move(*two.a).finish().findings();
      },
      [](Two& two, const Findings&) {
        Builder other("other");
        other.output("z", two.v->then(ReluSquared{}));
        ASSERT_FALSE(std::move(other).finish());
      });
}

TEST(Memory, TextAndKey) {
  const Result<Graph> whole = fc1();
  ASSERT_TRUE(whole) << whole.findings().text();
  const std::string json(whole->json());
  const Key key = whole->key();
  for (int64_t n = 1;; ++n) {
    ASSERT_LT(n, 1000);
    const Result<Graph> graph = fc1();
    ASSERT_TRUE(graph);
    fail_allocations(n, true);
    const std::string_view text = graph->json();
    const Key k = graph->key();
    const int64_t failed = stop_failing();
    EXPECT_TRUE(text.empty() || text == json);
    EXPECT_TRUE(k == key || k == (Key{0, 0}));
    EXPECT_EQ(graph->json(), json);
    EXPECT_TRUE(graph->key() == key);
    if (failed == 0) break;
  }
}

TEST(Memory, ReadingAText) {
  const Result<Graph> graph = fc1();
  ASSERT_TRUE(graph);
  const std::string json(graph->json());
  every_allocation_fails(
      "read", nothing, [&](int) { return parse_json(json).findings(); }, no_more);
  std::string wrong = json;
  wrong.replace(wrong.find("\"prob\""), 6, "\"prop\"");
  every_allocation_fails(
      "read wrong", nothing, [&](int) { return parse_json(wrong).findings(); }, no_more,
      "E-REFERENCE");
  const std::string cut = json.substr(0, json.size() / 2);
  every_allocation_fails(
      "read cut", nothing, [&](int) { return parse_json(cut).findings(); }, no_more, "E-JSON");
}

TEST(Memory, Schema) {
  // Made once: this test must be the first that asks, and ctest gives each test its own process.
  fail_allocations(1, true);
  EXPECT_TRUE(json_schema().empty());
  EXPECT_GT(stop_failing(), 0);
  EXPECT_FALSE(json_schema().empty());
}

}  // namespace
}  // namespace cohort::test
