// Who plans what, and what is said of the others.
#include "plan/fake_engine.h"

#include <gtest/gtest.h>

#include <cohort/cohort.h>

#include "engine/harness.h"
#include "ir/op_record.h"
#include "plan/access.h"

namespace cohort::test {
namespace {

using detail::PlanAccess;
using engine::Claim;
using engine::Engine;
using engine::Request;

Graph example() {
  Builder g("a name that no plan may carry");
  const Dim t = g.dynamic("T", 1000);
  const auto x = g.input("the tokens", {t, 8}, DType::f32);
  const auto p = g.row_input("the gate", t);
  g.output("y", g.add(Load{.x = x}).then(ReluSquared{.clamp = 2.0f}).then(RowGate{.by = p}));
  return finish(g);
}

Result<Plan> plan_with(std::initializer_list<const Engine*> engines,
                       const PlanOptions& options = {}, const Graph& graph = example()) {
  const std::vector<const Engine*> list(engines);
  return base::guarded("planning", [&]() -> Result<Plan> {
    return PlanAccess::plan(plan::plan_graph(*detail::Access::graph(graph),
                                             PlanAccess::model(Device::sm100()), options, list));
  });
}

TEST(Planner, CheapestEngineServesAndOrderBreaksTies) {
  const FakeEngine slow("slow", 2);
  const FakeEngine fast("fast", 1);
  const FakeEngine also_fast("also fast", 1);
  const auto p = plan_with({&slow, &fast, &also_fast});
  ASSERT_TRUE(p);
  EXPECT_EQ("fast", p->engine());
  EXPECT_EQ(0, slow.builds + also_fast.builds);
  const std::string why(p->explain());
  EXPECT_NE(std::string::npos,
            why.find("chosen: fast, expected 1 s at the bound (a made-up number)"))
      << why;
  EXPECT_NE(std::string::npos, why.find("runner-up: also fast")) << why;
  EXPECT_NE(std::string::npos, why.find("fake kernel")) << why;
  EXPECT_EQ(std::string::npos, why.find("the tokens")) << why;
}

TEST(Planner, DeclineIsKeptWithConstraintWantedAndGot) {
  FakeEngine no("no");
  no.answer = [](const Request&, Claim& c) { c.refuse("relu_squared.clamp", "absent", "2"); };
  const FakeEngine yes("yes", 5);
  const auto p = plan_with({&no, &yes});
  ASSERT_TRUE(p);
  EXPECT_EQ("yes", p->engine());
  ASSERT_EQ(1, p->refusal_count());
  const Refusal r = p->refusal(0);
  EXPECT_EQ("no", r.engine);
  EXPECT_EQ("relu_squared.clamp", r.constraint);
  EXPECT_EQ("absent", r.wanted);
  EXPECT_EQ("2", r.got);
}

// ORT#26274, cudnn-frontend#116: the error says of each engine what it wanted and what it got.
TEST(Planner, NobodyServesIsUnsupportedAndCarriesTheGraph) {
  FakeEngine a("a");
  a.answer = [](const Request&, Claim& c) {
    c.refuse("device", "sm90", "sm100");
    c.refuse("dtype", "bf16", "f32");
  };
  FakeEngine b("b");
  b.answer = [](const Request&, Claim& c) { c.refuse("rank", "3", "2"); };
  const Graph graph = example();
  const auto p = plan_with({&a, &b}, {}, graph);
  ASSERT_FALSE(p);
  const Findings f = p.findings();
  EXPECT_EQ(ErrorKind::unsupported, f.kind());
  ASSERT_EQ(3, f.size());
  EXPECT_EQ("E-UNSUPPORTED", f[1].code);
  EXPECT_EQ("a", f[1].op);
  EXPECT_EQ("dtype", f[1].field);
  EXPECT_EQ("bf16", f[1].wanted);
  EXPECT_EQ("f32", f[1].got);
  EXPECT_EQ("b", f[2].op);
  EXPECT_EQ(graph.json(), f.graph_json());
  EXPECT_EQ(std::string::npos, std::string(f.text()).find("\"nodes\""));
  const auto none = plan_with({});
  ASSERT_FALSE(none);
  EXPECT_EQ("E-UNSUPPORTED", none.findings()[0].code);
}

TEST(Planner, FailureInBuildFallsBack) {
  FakeEngine broken("broken", 1);
  broken.failure = "nvrtc: out of registers";
  const FakeEngine next("next", 2);
  const auto p = plan_with({&broken, &next});
  ASSERT_TRUE(p);
  EXPECT_EQ("next", p->engine());
  EXPECT_EQ(1, broken.builds);
  ASSERT_EQ(1, p->refusal_count());
  EXPECT_EQ("build", p->refusal(0).constraint);
  EXPECT_EQ("nvrtc: out of registers", p->refusal(0).got);
  const auto none = plan_with({&broken});
  ASSERT_FALSE(none);
  EXPECT_EQ("nvrtc: out of registers", none.findings()[0].got);
}

// Consumes all but one thing.
void consume_but(const Request& r, Claim& c, std::string_view op, std::string_view field) {
  for (size_t i = 0; i < r.graph.inputs.size(); ++i) {
    if (field.empty() && r.graph.inputs[i].name == op) continue;
    consume_input(r, c, i);
  }
  consume_outputs(r, c);
  for (const ir::Node& n : r.graph.nodes) {
    for (size_t f = 0; f < n.op->fields.size(); ++f) {
      if (n.op->name == op && n.op->fields[f].name == field) continue;
      c.consume_field(n, static_cast<int32_t>(f));
    }
  }
}

TEST(Planner, ForgottenAttributeIsADecline) {
  FakeEngine forgetful("forgetful");
  forgetful.answer = [](const Request& r, Claim& c) { consume_but(r, c, "relu_squared", "clamp"); };
  const auto p = plan_with({&forgetful});
  ASSERT_FALSE(p);
  EXPECT_EQ("relu_squared.clamp", p.findings()[0].field);
  // At its default it may be forgotten.
  Builder g("plain");
  const auto x = g.input("x", {4, 8}, DType::f32);
  g.output("y", g.add(Load{.x = x}).then(ReluSquared{}));
  EXPECT_TRUE(plan_with({&forgetful}, {}, finish(g)));
}

TEST(Planner, ForgottenInputIsADecline) {
  FakeEngine forgetful("forgetful");
  forgetful.answer = [](const Request& r, Claim& c) { consume_but(r, c, "the gate", ""); };
  const auto p = plan_with({&forgetful});
  ASSERT_FALSE(p);
  EXPECT_EQ("input 1", p.findings()[0].field);
}

TEST(Planner, OptionsAreConsumedOrDeclined) {
  const PlanOptions all[] = {{.deterministic = true},
                             {.batch_invariant = true},
                             {.sm_limit = 4},
                             {.workspace_limit = 100},
                             {.allow_approx_reciprocal = true}};
  const char* names[] = {"deterministic", "batch_invariant", "sm_limit", "workspace_limit",
                         "allow_approx_reciprocal"};
  for (size_t i = 0; i < std::size(all); ++i) {
    FakeEngine deaf("deaf");
    const auto p = plan_with({&deaf}, all[i]);
    ASSERT_FALSE(p) << names[i];
    EXPECT_EQ(std::string("option ") + names[i], p.findings()[0].field);
    FakeEngine listens("listens");
    listens.answer = [&](const Request& r, Claim& c) {
      consume_everything(r, c);
      c.consume_option(names[i]);
    };
    EXPECT_TRUE(plan_with({&listens}, all[i])) << names[i];
  }
  FakeEngine deaf("deaf");
  EXPECT_TRUE(plan_with({&deaf}, {.expected_rows = 100}));  // a hint
}

TEST(Planner, WorkspaceLimitIsHeld) {
  FakeEngine hungry("hungry", 1);
  FakeEngine modest("modest", 2);
  hungry.workspace = 4096;
  modest.workspace = 1024;
  for (FakeEngine* e : {&hungry, &modest}) {
    e->answer = [](const Request& r, Claim& c) {
      consume_everything(r, c);
      c.consume_option("workspace_limit");
    };
  }
  const auto p = plan_with({&hungry, &modest}, {.workspace_limit = 1024});
  ASSERT_TRUE(p);
  EXPECT_EQ("modest", p->engine());
  EXPECT_EQ(1024, p->workspace_bytes());
  EXPECT_EQ("4096 bytes", p->refusal(0).got);
  EXPECT_FALSE(plan_with({&hungry, &modest}, {.workspace_limit = 1023}));
}

TEST(Planner, EngineByName) {
  const FakeEngine a("a", 1);
  const FakeEngine b("b", 2);
  const auto p = plan_with({&a, &b}, {.engine = "b"});
  ASSERT_TRUE(p);
  EXPECT_EQ("b", p->engine());
  EXPECT_EQ("option engine", p->refusal(0).constraint);
  const auto none = plan_with({&a, &b}, {.engine = "c"});
  ASSERT_FALSE(none);
  EXPECT_EQ(2, none.findings().size());
}

TEST(Planner, ErratumThatAppliesIsADecline) {
  FakeEngine e("e");
  e.known_errata = {
      {"e-1", "9.10 and before", "9.11", "9.10",
       [](const Request& r) { return r.graph.nodes.size() == 3; }},
      {"e-2", "9.10 and before", "9.11", "9.10", [](const Request&) { return false; }}};
  const auto p = plan_with({&e});
  ASSERT_FALSE(p);
  ASSERT_EQ(1, p.findings().size());
  EXPECT_EQ("erratum e-1 of 9.10 and before", p.findings()[0].field);
  EXPECT_EQ("9.11", p.findings()[0].wanted);
  EXPECT_EQ("9.10", p.findings()[0].got);
}

TEST(Planner, AbsentDevicesCanBePlannedFor) {
  for (int32_t i = 0; i < Device::count(); ++i) {
    const std::string name(Device::at(i).name());
    const auto device = Device::find(name);
    ASSERT_TRUE(device);
    const auto p = make_plan(example(), *device);
    ASSERT_TRUE(p) << p.findings().text();
    EXPECT_EQ(name, p->device().name());
    EXPECT_NE(std::string::npos, std::string(p->explain()).find(name));
  }
  EXPECT_EQ("E-DEVICE", Device::find("sm42").findings()[0].code);
  const auto current = Device::current();
  ASSERT_FALSE(current);
  EXPECT_EQ(ErrorKind::environment, current.findings().kind());
}

TEST(Planner, SizesOfTensors) {
  const Graph g = example();
  const Plan p = *make_plan(g, Device::cpu());
  EXPECT_EQ(3, p.tensor_count());
  EXPECT_EQ(1000 * 8 * 4, p.tensor(0).bytes);
  EXPECT_EQ(10 * 8 * 4, p.tensor(0, g, {{"T", 10}})->bytes);
  EXPECT_EQ("E-SIZE", p.tensor(0, g, {{"T", 1001}}).findings()[0].code);
  EXPECT_EQ("E-SIZE", p.tensor(0, g, {{"S", 1}}).findings()[0].code);
  EXPECT_EQ("E-SIZE", p.tensor(0, g, {}).findings()[0].code);
  EXPECT_EQ("E-TENSOR", p.tensor(3, g, {{"T", 10}}).findings()[0].code);
  EXPECT_EQ("E-TENSOR", p.tensor(-1, g, {{"T", 10}}).findings()[0].code);
  Builder b("other");
  const auto x = b.input("x", {4, 4}, DType::f32);
  b.output("y", b.add(Load{.x = x}));
  const Graph other = finish(b);
  EXPECT_EQ("E-PLAN", p.tensor(2, other, {}).findings()[0].code);
  EXPECT_EQ("E-PLAN", p.workspace_bytes(other, {}).findings()[0].code);
}

}  // namespace
}  // namespace cohort::test
