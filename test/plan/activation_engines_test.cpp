// Engines that cannot do what an activation asks for are not chosen.
#include <gtest/gtest.h>

#include <cohort/cohort.h>

#include "engine/harness.h"
#include "ir/op_record.h"
#include "plan/access.h"
#include "plan/fake_engine.h"

namespace cohort::test {
namespace {

using detail::PlanAccess;
using engine::Claim;
using engine::Request;

Result<Plan> plan_on(const FakeEngine& only, const Graph& graph, const PlanOptions& options = {}) {
  const std::vector<const engine::Engine*> list{&only};
  return base::guarded("planning", [&]() -> Result<Plan> {
    return PlanAccess::plan(plan::plan_graph(*detail::Access::graph(graph),
                                             PlanAccess::model(Device::sm100()), options, list));
  });
}

Graph gated(const Glu& op) {
  Builder g("gated");
  const auto x = g.input("x", {4, 8}, DType::f32);
  g.output("y", g.add(Load{.x = x}).then(op));
  return finish(g);
}

// Knows activation and packing, and no parameter.
void knows_plain_glu(const Request& r, Claim& c) {
  consume_inputs(r, c);
  consume_outputs(r, c);
  for (const ir::Node& n : r.graph.nodes) {
    for (const char* field : {"x", "act", "packing"}) {
      const int f = n.op->field_index(field);
      if (f >= 0) c.consume_field(n, f);
    }
  }
}

// sglang#39920: an engine without the clamp must not serve a graph that has it.
TEST(ActivationEngines, ALimitThatIsNotConsumedIsADecline) {
  FakeEngine plain("plain");
  plain.answer = knows_plain_glu;
  EXPECT_TRUE(plan_on(plain, gated({.act = GluAct::swiglu, .packing = Packing::split})));
  const auto p = plan_on(plain, gated(Glu::clamped(Packing::split, 10.0f)));
  ASSERT_FALSE(p);
  EXPECT_EQ("glu.limit", p.findings()[0].field) << p.findings().text();
}

// Adds with atomics: what is summed over rows or features is not deterministic.
void adds_with_atomics(const Request& r, Claim& claim) {
  consume_everything(r, claim);
  if (!r.options.deterministic) return;
  claim.consume_option("deterministic");
  for (const ir::Node& n : r.graph.nodes) {
    const std::string op = n.op->name;
    for (size_t p = 0; p < n.op->results.size(); ++p) {
      const ir::Value& v = r.graph.values[static_cast<size_t>(n.first_result) + p];
      const bool is_sum = v.role == Role::row_vec || op == "d_bias";
      if (!is_sum || v.uses == 0) continue;
      const std::string result(n.op->results[p].name);
      claim.refuse(result.empty() ? op : op + "." + result, "a fixed order of its sum",
                   "atomic additions");
    }
  }
}

void expect_refused(const Graph& graph, const std::string& result) {
  FakeEngine atomics("atomics");
  atomics.answer = adds_with_atomics;
  EXPECT_TRUE(plan_on(atomics, graph));
  const auto p = plan_on(atomics, graph, {.deterministic = true});
  ASSERT_FALSE(p);
  EXPECT_EQ(result, p.findings()[0].field) << p.findings().text();
  const auto reference = make_plan(graph, Device::sm100(), {.deterministic = true});
  ASSERT_TRUE(reference) << reference.findings().text();
  EXPECT_EQ("reference", reference->engine());
}

// cudnn-frontend#521, unsloth-zoo#1258: an engine that adds with atomics does not serve a graph
// with dprob or d_bias when the run must be deterministic, and says which result it is about.
TEST(ActivationEngines, AtomicsAreNoDeterministicSum) {
  for (const bool of_rows : {false, true}) {
    Builder g("sums");
    const auto x = g.input("x", {4, 8}, DType::f32);
    const auto c = g.input("c", {4, 16}, DType::f32);
    const DGated d =
        g.add(Load{.x = x})
            .then(DGlu{.c = g.add(Load{.x = c}), .act = GluAct::swiglu, .packing = Packing::split});
    if (of_rows) {
      g.output("d_bias", d.then(DBias{}));
    } else {
      g.output("dprob", d.dprob);
    }
    expect_refused(finish(g), of_rows ? "d_bias" : "d_glu.dprob");
  }
}

}  // namespace
}  // namespace cohort::test
