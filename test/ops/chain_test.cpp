// alpha and row_scale multiply an accumulator: they stand directly after a product, or after one
// another there.
#include "engine/harness.h"

namespace cohort::test {
namespace {

// The code of the only finding, or nothing.
std::string code_of(Builder& g) {
  const Result<Graph> graph = std::move(g).finish();
  if (graph) return {};
  EXPECT_EQ(1, graph.findings().size()) << graph.findings().text();
  return std::string(graph.findings()[0].code);
}

struct Case {
  Builder g{"chain"};
  Tensor x = g.input("x", {6, 8}, DType::f32);
  Weights w = g.weights("w", {2, 4, 8}, DType::f32);
  Groups ends = g.groups("ends", 2, GroupForm::ends);
  Value product() { return g.add(GroupedGemm{.a = x, .b = w, .groups = ends}); }
};

TEST(Chain, AlphaAndRowScaleAfterAProduct) {
  Case c;
  const auto factor = c.g.group_input("factor", 2);
  const auto scale = c.g.row_input("scale", 6);
  c.g.output("y", c.product().then(Alpha{.by = factor}).then(RowScale{.by = scale}));
  EXPECT_EQ("", code_of(c.g));
}
TEST(Chain, AlphaAfterAnotherOp) {
  Case c;
  const auto factor = c.g.group_input("factor", 2);
  c.g.output("y", c.product().then(ReluSquared{}).then(Alpha{.by = factor}));
  EXPECT_EQ("E-CHAIN", code_of(c.g));
}
TEST(Chain, RowScaleAfterAnotherOp) {
  Case c;
  const auto scale = c.g.row_input("scale", 6);
  c.g.output("y", c.product().then(ReluSquared{}).then(RowScale{.by = scale}));
  EXPECT_EQ("E-CHAIN", code_of(c.g));
}
TEST(Chain, AlphaOfAStoredTensor) {
  Case c;
  const auto factor = c.g.group_input("factor", 2);
  c.g.output("y0", c.product());
  c.g.output("y", c.g.add(Load{.x = c.x, .groups = c.ends}).then(Alpha{.by = factor}));
  EXPECT_EQ("E-CHAIN", code_of(c.g));
}

}  // namespace
}  // namespace cohort::test
