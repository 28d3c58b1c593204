// Whatever an input or output says is consumed by the engine that serves, or that engine declines.
#include <set>

#include "engine/harness.h"
#include "engine/reference/reference_engine.h"
#include "fixtures/findings.h"
#include "plan/access.h"
#include "plan/fake_engine.h"

namespace cohort::test {
namespace {

using engine::Claim;
using engine::Request;
using ir::InputKey;
using ir::InputTrait;
using ir::OutputKey;

// Every key of an output away from its default, but for `discrete`.
Graph scattered() {
  Builder g("scattered");
  const Dim t = g.dynamic("T", 64);
  const auto x = g.input("x", {t, 8}, DType::f32);
  const auto ends = g.groups("ends", 2, GroupForm::ends);
  g.output("y", g.add(Load{.x = x, .groups = ends}),
           {.dtype = DType::bf16,
            .tail = Tail::zero,
            .strides = {16, 1},
            .alignment = 8,
            .scatter = g.index("to", t),
            .slot = g.index("slot", t),
            .top_k = 2,
            .rows = Dim(128)});
  return finish(g);
}

Graph discrete() {
  Builder g("discrete");
  const Dim t = g.dynamic("T", 64);
  const GroupedWgrad op{.a = g.input("a", {t, 8}, DType::bf16),
                        .b = g.input("b", {t, 8}, DType::bf16),
                        .groups = g.groups("ends", 2, GroupForm::ends)};
  g.output("dw", g.add(op), {.discrete = true});
  return finish(g);
}

// Inputs of several roles, each key of them away from its default in one.
Graph stored() {
  Builder g("stored");
  const Dim t = g.dynamic("T", 64);
  const auto groups = g.groups("ends", 2, GroupForm::starts, {.row_alignment = 8});
  const auto x = g.input("x", {t, 64}, DType::bf16, {.strides = {80, 1}, .alignment = 8});
  const auto w = g.weights("w", {2, 64, 64}, DType::bf16, {.major = Major::n});
  g.output("y", g.add(GroupedGemm{.a = x, .b = w, .groups = groups}));
  const auto placed =
      g.scaled_input("placed", {t, 64}, Format::mxfp8_e4m3, {.layout = ScaleLayout::shifted_128});
  g.output("placed_out", g.add(Load{.x = placed, .groups = groups}));
  const auto turned = g.scaled_input("turned", {t, 64}, Format::mxfp8_e4m3,
                                     {.axis = Axes::col, .storage = ColStorage::transposed});
  g.output("turned_out", g.add(Load{.x = turned, .groups = groups}));
  return finish(g);
}

// Nothing but what has no default.
Graph plain() {
  Builder g("plain");
  const auto x = g.scaled_input("x", {4, 64}, Format::mxfp8_e4m3);
  const auto groups = g.groups("ends", 2, GroupForm::ends);
  g.output("y", g.add(Load{.x = x, .groups = groups}));
  return finish(g);
}

// What planning says of an engine that leaves one key of every input or output out.
template <class K>
Result<Plan> plan_without(const Graph& graph, K forgotten) {
  FakeEngine engine("forgetful");
  engine.answer = [forgotten](const Request& r, Claim& claim) {
    consume_nodes(r, claim);
    for (size_t i = 0; i < r.graph.inputs.size(); ++i) {
      for (InputKey k :
           ir::input_keys(r.graph.values[static_cast<size_t>(r.graph.inputs[i].value)].role)) {
        if constexpr (std::is_same_v<K, InputKey>) {
          if (k == forgotten) continue;
        }
        claim.consume_input(static_cast<int32_t>(i), k);
      }
      for (const InputTrait t : ir::input_traits()) {
        if constexpr (std::is_same_v<K, InputTrait>) {
          if (t == forgotten) continue;
        }
        claim.consume_input(static_cast<int32_t>(i), t);
      }
    }
    for (size_t i = 0; i < r.graph.outputs.size(); ++i) {
      for (OutputKey k : ir::output_keys()) {
        if constexpr (std::is_same_v<K, OutputKey>) {
          if (k == forgotten) continue;
        }
        claim.consume_output(static_cast<int32_t>(i), k);
      }
    }
  };
  const engine::Engine* const engines[] = {&engine};
  return base::guarded("planning", [&]() -> Result<Plan> {
    return detail::PlanAccess::plan(
        plan::plan_graph(*detail::Access::graph(graph), 2, {}, engines));
  });
}

// Fields of the findings of a refusal that begin with `item`; each is about the key that was left
// out, and says what stands there.
std::set<std::string> refused(const Result<Plan>& p, const std::string& key) {
  std::set<std::string> fields;
  if (p) return fields;
  for (const Finding& f : p.findings()) {
    EXPECT_EQ(f.code, "E-UNSUPPORTED");
    EXPECT_EQ(f.op, "forgetful");
    EXPECT_TRUE(f.wanted == "consumed" || f.wanted == "its default") << f.wanted;
    EXPECT_TRUE(has(f.got, ", not consumed")) << f.got;
    EXPECT_TRUE(f.field.ends_with("." + key)) << f.field;
    fields.emplace(f.field);
  }
  return fields;
}

TEST(Claims, AnOutputKeyThatIsForgottenIsADecline) {
  for (const OutputKey k : ir::output_keys()) {
    const std::string key(ir::name(k));
    SCOPED_TRACE(key);
    const Graph graph = k == OutputKey::discrete ? discrete() : scattered();
    EXPECT_EQ(refused(plan_without(graph, k), key), std::set<std::string>{"output 0." + key});
  }
}

TEST(Claims, WhatStandsThereIsSaid) {
  const auto got = [](OutputKey k) {
    const Findings findings = plan_without(scattered(), k).findings();
    return std::string(findings[0].wanted) + " | " + std::string(findings[0].got);
  };
  EXPECT_EQ(got(OutputKey::value), "consumed | %0, not consumed");
  EXPECT_EQ(got(OutputKey::dtype), "consumed | bf16, not consumed");
  EXPECT_EQ(got(OutputKey::tail), "consumed | zero, not consumed");
  EXPECT_EQ(got(OutputKey::strides), "its default | [16,1], not consumed");
  EXPECT_EQ(got(OutputKey::alignment), "its default | 8, not consumed");
  EXPECT_EQ(got(OutputKey::scatter), "its default | #2, not consumed");
  EXPECT_EQ(got(OutputKey::top_k), "its default | 2, not consumed");
  EXPECT_EQ(got(OutputKey::rows), "its default | 128, not consumed");
}

TEST(Claims, AnInputKeyThatIsForgottenIsADecline) {
  std::set<InputKey> keys;
  const Graph graph = stored();
  const ir::Graph& g = *detail::Access::graph(graph);
  for (const ir::Input& in : g.inputs) {
    for (InputKey k : ir::input_keys(g.values[static_cast<size_t>(in.value)].role)) keys.insert(k);
  }
  ASSERT_EQ(keys.size(), 11u);
  keys.erase(InputKey::row_alignment);  // a promise: planning demands it, engines may use it
  for (const InputKey k : keys) {
    const std::string key(ir::name(k));
    SCOPED_TRACE(key);
    EXPECT_FALSE(refused(plan_without(stored(), k), key).empty());
  }
  EXPECT_TRUE(plan_without(stored(), InputKey::row_alignment));
  EXPECT_EQ(refused(plan_without(stored(), InputKey::major), "major"),
            std::set<std::string>{"input 2.major"});
  EXPECT_EQ(refused(plan_without(stored(), InputKey::layout), "layout"),
            std::set<std::string>{"input 3.layout"});
}

// What has a default may be unknown to an engine while it is at it; a tail, a type, never.
TEST(Claims, AtItsDefaultAKeyMayBeForgotten) {
  const std::set<OutputKey> outputs{OutputKey::value, OutputKey::dtype, OutputKey::tail};
  for (const OutputKey k : ir::output_keys()) {
    EXPECT_EQ(refused(plan_without(plain(), k), std::string(ir::name(k))).size(), outputs.count(k))
        << ir::name(k);
  }
  const std::set<InputKey> inputs{InputKey::shape, InputKey::dtype, InputKey::format,
                                  InputKey::form};
  for (const InputKey k : ir::input_keys(Role::scaled_tensor)) {
    EXPECT_EQ(refused(plan_without(plain(), k), std::string(ir::name(k))).empty(),
              inputs.count(k) == 0)
        << ir::name(k);
  }
}

// Groups of a kind that every key of theirs allows, and that an engine may not know.
Graph grouped(GroupForm form, int64_t groups, int64_t experts) {
  Builder g("grouped");
  const Dim t = g.dynamic("T", 64);
  const GroupedGemm op{.a = g.input("x", {t, 8}, DType::bf16),
                       .b = g.weights("w", {experts, 8, 8}, DType::bf16),
                       .groups = g.groups("groups", groups, form)};
  g.output("y", g.add(op));
  return finish(g);
}

TEST(Claims, ATraitThatIsForgottenIsADecline) {
  const auto declines = [](const Graph& graph, InputTrait trait) {
    const Result<Plan> p = plan_without(graph, trait);
    if (p) return std::string();
    const KeptFinding f = only(p.findings());
    EXPECT_EQ(f.code, "E-UNSUPPORTED");
    return f.field + " | " + f.wanted + " | " + f.got;
  };
  const Graph usual = grouped(GroupForm::ends, 4, 4);
  const Graph rounds = grouped(GroupForm::ends, 8, 4);
  const Graph whole = grouped(GroupForm::whole, 1, 1);
  for (const InputTrait trait : ir::input_traits()) EXPECT_EQ(declines(usual, trait), "");
  EXPECT_EQ(declines(rounds, InputTrait::rounds),
            "input 2.rounds | none | 8 groups of 4 experts, not consumed");
  EXPECT_EQ(declines(rounds, InputTrait::whole), "");
  EXPECT_EQ(declines(whole, InputTrait::whole),
            "input 2.whole | none | one group without a tensor, not consumed");
  EXPECT_EQ(declines(whole, InputTrait::rounds), "");
  // The form is a key of its own: whoever does not know it at all declines every graph with groups.
  EXPECT_FALSE(plan_without(usual, InputKey::form));
}

TEST(Claims, AnOutputThatIsForgottenAsAWholeIsOneReason) {
  FakeEngine engine("forgetful");
  engine.answer = [](const Request& r, Claim& claim) {
    consume_inputs(r, claim);
    consume_nodes(r, claim);
  };
  const engine::Engine* const engines[] = {&engine};
  const auto p = base::guarded("planning", [&]() -> Result<Plan> {
    return detail::PlanAccess::plan(
        plan::plan_graph(*detail::Access::graph(scattered()), 2, {}, engines));
  });
  const Findings findings = p.findings();
  const KeptFinding f = only(findings);
  EXPECT_EQ(f.field, "output 0");
  EXPECT_EQ(f.wanted, "consumed");
  EXPECT_EQ(f.got, "not consumed");
}

TEST(Claims, TheReferenceEngineConsumesEverything) {
  for (const Graph& graph : {scattered(), discrete(), stored(), plain()}) {
    const ir::Graph& g = *detail::Access::graph(graph);
    const PlanOptions options;
    Claim claim(g);
    engine::reference_engine().supports({g, arch::models()[0], options}, claim);
    for (size_t i = 0; i < g.inputs.size(); ++i) {
      for (InputKey k : ir::input_keys(g.values[static_cast<size_t>(g.inputs[i].value)].role)) {
        EXPECT_TRUE(claim.has_input(i, k)) << ir::name(k);
      }
      for (const InputTrait t : ir::input_traits()) EXPECT_TRUE(claim.has_input(i, t));
    }
    for (size_t i = 0; i < g.outputs.size(); ++i) {
      for (OutputKey k : ir::output_keys()) {
        EXPECT_TRUE(claim.has_output(i, k)) << ir::name(k);
      }
    }
    EXPECT_TRUE(make_plan(graph, Device::sm100()));
  }
}

}  // namespace
}  // namespace cohort::test
