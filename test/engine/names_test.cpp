// A cached plan serves graphs that differ in names: what a run finds has those of the graph that
// was bound, whatever the first one called its tensors.
#include <utility>

#include "engine/harness.h"

namespace cohort::test {
namespace {

constexpr int64_t kRows = 6;

enum class Order { inputs_first, root_between };

// Pointers to weights, a gather, a scattered output and a discrete one, all with names of `layer`.
Graph graph_of(const std::string& layer, Order order = Order::inputs_first) {
  Builder g(layer);
  const auto x = g.input(layer + "_x", {kRows, 8}, DType::f32);
  const auto w = g.weight_pointers(layer + "_w", {2, 8, 8}, DType::f32);
  const auto ends = g.groups(layer + "_ends", 2, GroupForm::ends);
  const auto from = g.index(layer + "_from", kRows);
  const auto rest = [&] {
    const auto to = g.index(layer + "_to", kRows);
    return std::pair{to, g.input(layer + "_dy", {kRows, 8}, DType::f32)};
  };
  const auto product = [&] {
    return g.add(GroupedGemm{.a = x, .b = w, .groups = ends, .gather = from});
  };
  const auto end = [&](const Value& y, const Index& to, const Tensor& dy) {
    g.output(layer + "_y", y, {.scatter = to, .rows = Dim(kRows)});
    const auto dw = g.add(GroupedWgrad{.a = dy, .b = x, .groups = ends});
    g.output(layer + "_dw", dw, {.dtype = DType::f32, .discrete = true});
  };
  if (order == Order::inputs_first) {
    const auto [to, dy] = rest();
    end(product(), to, dy);
  } else {  // the same text, and other numbers of values
    const auto y = product();
    const auto [to, dy] = rest();
    end(y, to, dy);
  }
  return finish(g);
}

// The second graph, bound to a plan that was made of the first.
class Names : public ::testing::TestWithParam<Order> {
 protected:
  Names() : first_(*make_plan(graph_of("first"), Device::cpu())), bench_(second()) {
    matrix_ = std::vector<float>(64 + 64, 1.0F);
    auto* aligned = matrix_.data();
    while (reinterpret_cast<uintptr_t>(aligned) % 256 != 0) ++aligned;
    address_ = static_cast<int64_t>(reinterpret_cast<uintptr_t>(aligned));
    gradients_ = std::vector<float>(2 * 64 + 64);
    auto* gradient = gradients_.data();
    while (reinterpret_cast<uintptr_t>(gradient) % 256 != 0) ++gradient;
    const auto to = static_cast<int64_t>(reinterpret_cast<uintptr_t>(gradient));
    set<int64_t>("w", {address_, address_});
    set<int64_t>("dw", {to, to + 256});
    set<float>("x", std::vector<float>(kRows * 8, 1.0F));
    set<float>("dy", std::vector<float>(kRows * 8, 1.0F));
    set<int32_t>("ends", {4, 6});
    set<int32_t>("from", {0, 1, 2, 3, 4, 5});
    set<int32_t>("to", {5, 4, 3, 2, 1, 0});
  }
  static Graph second() { return graph_of("second", GetParam()); }
  template <class T>
  void set(const std::string& tensor, const std::vector<T>& values) {
    bench_.tensors.set("second_" + tensor, values);
  }
  void expect(std::string_view code, std::string_view tensor) {
    const Status status = bench_.run();
    ASSERT_FALSE(status);
    ASSERT_EQ(1, status.findings().size());
    EXPECT_EQ(code, status.findings()[0].code);
    EXPECT_EQ(tensor, status.findings()[0].op) << status.findings().text();
  }

  Plan first_;
  Bench bench_;
  std::vector<float> matrix_;
  std::vector<float> gradients_;
  int64_t address_ = 0;
};

TEST_P(Names, OnePlanServesBoth) {
  EXPECT_EQ(graph_of("first").key(), second().key());
  const int64_t hits = plan_cache_stats().hits;
  ASSERT_TRUE(make_plan(second(), Device::cpu()));
  EXPECT_EQ(hits + 1, plan_cache_stats().hits);
  bench_.run_well();
}
TEST_P(Names, Pointer) {
  set<int64_t>("w", {address_, 0});
  expect("E-POINTER", "second_w");
}
TEST_P(Names, PointerOfAnOutput) {
  set<int64_t>("dw", {0, 0});
  expect("E-POINTER", "second_dw");
}
TEST_P(Names, Alignment) {
  set<int64_t>("w", {address_ + 4, address_});
  expect("E-ALIGNMENT", "second_w");
}
TEST_P(Names, Gather) {
  set<int32_t>("from", {0, 1, 2, 3, 4, 6});
  expect("E-INDEX", "second_from");
}
TEST_P(Names, Scatter) {
  set<int32_t>("to", {0, 1, 2, 3, 4, 6});
  expect("E-INDEX", "second_to");
}
TEST_P(Names, ScatterTwice) {
  set<int32_t>("to", {0, 1, 2, 3, 4, 4});
  expect("E-INDEX", "second_to");
}
TEST_P(Names, Groups) {
  set<int32_t>("ends", {4, 9});
  expect("E-GROUPS", "second_ends");
}

INSTANTIATE_TEST_SUITE_P(Engine, Names, ::testing::Values(Order::inputs_first, Order::root_between),
                         [](const auto& instance) {
                           return instance.param == Order::inputs_first ? "inputs_first"
                                                                        : "root_between";
                         });

}  // namespace
}  // namespace cohort::test
