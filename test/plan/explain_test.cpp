// The whole text that explains a plan, and the whole text of a refusal, word by word.
#include <gtest/gtest.h>

#include <cohort/cohort.h>

#include "engine/harness.h"
#include "fixtures/golden.h"
#include "ir/op_record.h"
#include "plan/access.h"
#include "plan/fake_engine.h"

namespace cohort::test {
namespace {

using detail::PlanAccess;
using engine::Claim;
using engine::Engine;
using engine::Request;

Graph example() {
  Builder g("explained");
  const Dim t = g.dynamic("T", 1000);
  const auto x = g.input("x", {t, 8}, DType::f32);
  const auto p = g.row_input("p", t);
  g.output("y", g.add(Load{.x = x}).then(ReluSquared{.clamp = 2.0f}).then(RowGate{.by = p}));
  return finish(g);
}

Result<Plan> plan_with(const std::vector<const Engine*>& engines, const PlanOptions& options) {
  const Graph graph = example();
  return base::guarded("planning", [&]() -> Result<Plan> {
    return PlanAccess::plan(plan::plan_graph(*detail::Access::graph(graph),
                                             PlanAccess::model(Device::sm100()), options, engines));
  });
}

// One engine of each way to say no: a constraint, an erratum, an attribute and an input that were
// forgotten, a build that fails, a workspace past the limit.
class Refusers {
 public:
  Refusers() {
    constraint.answer = [](const Request&, Claim& c) {
      c.refuse("relu_squared.clamp", "absent", "2");
      c.refuse("groups", "given", "none");
    };
    erratum.known_errata = {{"old-library-7", "9.10 and before", "9.11", "9.10.2",
                             [](const Request& r) { return r.graph.nodes.size() == 3; }}};
    attribute.answer = [](const Request& r, Claim& c) {
      consume_inputs(r, c);
      consume_outputs(r, c);
      for (const ir::Node& n : r.graph.nodes) {
        if (n.op->name != std::string_view("relu_squared")) c.consume_node(n);
      }
    };
    input.answer = [](const Request& r, Claim& c) {
      consume_input(r, c, 0);
      consume_outputs(r, c);
      consume_nodes(r, c);
    };
    broken.failure = "the compiler ran out of registers";
    hungry.workspace = 4096;
    hungry.answer = modest.answer = [](const Request& r, Claim& c) {
      consume_everything(r, c);
      c.consume_option("workspace_limit");
    };
    broken.answer = hungry.answer;
    erratum.answer = hungry.answer;
  }
  FakeEngine constraint{"constraint"};
  FakeEngine erratum{"erratum"};
  FakeEngine attribute{"attribute"};
  FakeEngine input{"input"};
  FakeEngine broken{"broken", 1};
  FakeEngine hungry{"hungry", 2};
  FakeEngine modest{"modest", 3};
};

TEST(Explain, EveryWayToDecline) {
  const Refusers r;
  const auto p = plan_with(
      {&r.constraint, &r.erratum, &r.attribute, &r.input, &r.broken, &r.hungry, &r.modest},
      {.workspace_limit = 1024});
  ASSERT_TRUE(p) << p.findings().text();
  EXPECT_EQ("modest", p->engine());
  expect_golden("engines/every_way_to_decline", std::string(p->explain()));
}

TEST(Explain, RunnersUpAndAnEngineByName) {
  const Refusers r;
  const FakeEngine slow("slow", 90);
  const auto best = plan_with({&r.modest, &slow}, {});
  ASSERT_TRUE(best);
  const auto named = plan_with({&r.modest, &slow}, {.engine = "slow"});
  ASSERT_TRUE(named);
  expect_golden("engines/runner_up",
                std::string(best->explain()) + "\n" + std::string(named->explain()));
}

TEST(Explain, NobodyServes) {
  const Refusers r;
  const auto p = plan_with({&r.constraint, &r.erratum, &r.attribute, &r.input, &r.broken},
                           {.workspace_limit = 1024});
  ASSERT_FALSE(p);
  expect_golden("engines/nobody_serves", std::string(p.findings().text()));
}

}  // namespace
}  // namespace cohort::test
