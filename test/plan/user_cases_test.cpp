// What users of other libraries ran into when they planned, as their reports say; each names its
// origin.
#include <atomic>
#include <thread>

#include "engine/gemm_case.h"
#include "ir/op_record.h"
#include "plan/access.h"
#include "plan/fake_engine.h"

namespace cohort::test {
namespace {

using engine::Claim;
using engine::Request;

Result<Plan> plan_on(const std::vector<const engine::Engine*>& engines, const Graph& graph,
                     const PlanOptions& options = {}) {
  return base::guarded("planning", [&]() -> Result<Plan> {
    return detail::PlanAccess::plan(plan::plan_graph(*detail::Access::graph(graph),
                                                     detail::PlanAccess::model(Device::sm100()),
                                                     options, engines));
  });
}

// Takes UE8M0 block scales and e4m3 elements, as one kernel is built for.
void wants_e8m0_and_e4m3(const Request& request, Claim& claim) {
  consume_everything(request, claim);
  for (const ir::Input& i : request.graph.inputs) {
    const ir::Value& v = request.graph.values[static_cast<size_t>(i.value)];
    if (!v.scaled) continue;
    const FormatInfo format = info(v.scaled->format);
    if (format.scale != DType::e8m0) {
      claim.refuse(i.name + ".scale", "e8m0: quantise anew", std::string(name(format.scale)));
    }
    if (v.dtype != DType::e4m3) claim.refuse(i.name, "e4m3", std::string(name(v.dtype)));
  }
}

Graph scaled_product(Format format, Maybe<DType> element = {}) {
  Builder g("scaled");
  const auto x = g.scaled_input("x", {4, 128}, format, {.element = element});
  const auto w = g.scaled_weights("w", {2, 128, 128}, format, {.element = element});
  g.output("y", g.add(GroupedGemm{.a = x, .b = w, .groups = g.groups("g", 2, GroupForm::ends)}));
  return finish(g);
}

// transformers#47030, sglang#26306: f32 scales in 1x128 and 128x128 blocks, and an engine that
// takes UE8M0. It is not chosen, and nobody rounds the scales.
TEST(UserCases, F32ScalesAreNotThoseOfAnEngineWithE8m0) {
  FakeEngine e8m0("e8m0");
  e8m0.answer = wants_e8m0_and_e4m3;
  EXPECT_TRUE(plan_on({&e8m0}, scaled_product(Format::mxfp8_e4m3)));
  const Graph graph = scaled_product(Format::fp8_block128);
  const auto declined = plan_on({&e8m0}, graph);
  ASSERT_FALSE(declined);
  const Findings f = declined.findings();
  ASSERT_EQ(f.size(), 2) << f.text();
  EXPECT_EQ(f[0].op, "e8m0");
  EXPECT_EQ(f[0].field, "x.scale");
  EXPECT_EQ(f[0].wanted, "e8m0: quantise anew");
  EXPECT_EQ(f[0].got, "f32");
  EXPECT_EQ(f[1].field, "w.scale");
  // A scale of 1.5 and one of 1.25 that were rounded to powers of two would give 1, 2 or 4.
  Bench bench(graph);
  bench.tensors.fill("x", 0x38);
  bench.tensors.fill("w", 0x38);
  bench.tensors.set("x.scale", std::vector<float>(4, 1.5f));
  bench.tensors.set("w.scale", std::vector<float>(2, 1.25f));
  bench.tensors.set<int32_t>("g", {1, 4});
  bench.run_well();
  for (const float y : bench.tensors.values<float>("y")) EXPECT_EQ(y, 128 * 1.5f * 1.25f);
}

// TE#3342, #3352: gradients in e5m2 and an engine that takes e4m3.
TEST(UserCases, E5m2IsNotReadAsE4m3) {
  FakeEngine e4m3("e4m3");
  e4m3.answer = wants_e8m0_and_e4m3;
  const auto declined = plan_on({&e4m3}, scaled_product(Format::mxfp8_e5m2));
  ASSERT_FALSE(declined);
  EXPECT_EQ(declined.findings()[0].wanted, "e4m3");
  EXPECT_EQ(declined.findings()[0].got, "e5m2");
}

// pytorch#190449: an engine that forgets the scale of an fp8 output is not chosen.
TEST(UserCases, AnOutputScaleThatIsNotConsumedIsADecline) {
  Builder g("out_scale");
  const auto x = g.input("x", {4, 8}, DType::f32);
  const auto s = g.scalar("s");
  g.output("y", g.add(Load{.x = x}).then(Cast{.to = DType::e4m3, .scale = s}));
  const Graph graph = finish(g);
  FakeEngine deaf("deaf");
  deaf.answer = [](const Request& request, Claim& claim) {
    for (size_t i = 0; i < request.graph.inputs.size(); ++i) {
      if (request.graph.inputs[i].name != "s") consume_input(request, claim, i);
    }
    consume_outputs(request, claim);
    consume_nodes(request, claim);
  };
  const auto declined = plan_on({&deaf}, graph);
  ASSERT_FALSE(declined);
  EXPECT_EQ(declined.findings()[0].wanted, "consumed") << declined.findings().text();
  const FakeEngine whole("whole");
  EXPECT_EQ(plan_on({&deaf, &whole}, graph)->engine(), "whole");
}

// marin#8793: rows of a group that the chosen engine wants a multiple of.
TEST(UserCases, TheChosenEngineSaysWhichGroupsItTakes) {
  const auto wgrad = [](int64_t promised) {
    Builder g("wgrad");
    const Dim t = g.dynamic("T", 4096);
    const auto groups = g.groups("ends", 3, GroupForm::ends, {.row_alignment = promised});
    g.output("dw", g.add(GroupedWgrad{.a = g.input("a", {t, 8}, DType::bf16),
                                      .b = g.input("b", {t, 8}, DType::bf16),
                                      .groups = groups}));
    return finish(g);
  };
  FakeEngine padded("padded", 1);
  padded.group_rows = 256;
  const FakeEngine any("any", 2);
  EXPECT_EQ(plan_on({&padded, &any}, wgrad(1))->required_group_alignment(), 256);
  EXPECT_EQ(plan_on({&any}, wgrad(1))->required_group_alignment(), 1);
  EXPECT_EQ(plan_on({&padded}, wgrad(96))->required_group_alignment(), 768);
  EXPECT_EQ(plan_on({&padded}, wgrad((int64_t{1} << 61) + 1))->required_group_alignment(),
            std::numeric_limits<int64_t>::max());
  EXPECT_EQ(make_plan(wgrad(1), Device::sm100())->required_group_alignment(), 1);
  EXPECT_EQ(make_plan(wgrad(8), Device::sm100())->required_group_alignment(), 8);
  Builder g("turned");
  const Dim t = g.dynamic("T", 4096);
  const auto x = g.add(
      Load{.x = g.input("x", {t, 8}, DType::f32), .groups = g.groups("g", 3, GroupForm::ends)});
  g.output("y", x.then(Hadamard{.axis = Axes::col}));
  EXPECT_EQ(make_plan(finish(g), Device::cpu())->required_group_alignment(), 16);
}

// flashinfer#3998: 4096 tokens, the best 8 of 256 experts, 32 of which are here. An engine that
// sees the graph only would take all rows to be for the 32: 1024 an expert, and large tiles. The
// hint is 128, which only the caller can know; it chooses, and no plan that was made without it
// is reused.
TEST(UserCases, RowsAnExpertAreThoseOfTheWholeLayer) {
  constexpr int64_t kTokens = 4096, kTop = 8, kAll = 256, kHere = 32;
  Builder g("hint");
  const Dim t = g.dynamic("T", kTokens * kTop);
  const auto x = g.input("x", {t, 8}, DType::bf16);
  const auto w = g.weights("w", {kHere, 8, 8}, DType::bf16);
  g.output("y",
           g.add(GroupedGemm{.a = x, .b = w, .groups = g.groups("g", kHere, GroupForm::ends)}));
  const Graph graph = finish(g);
  std::vector<int64_t> rows;
  FakeEngine small("small_tiles", 2);
  FakeEngine large("large_tiles", 1);
  large.answer = [&](const Request& request, Claim& claim) {
    consume_everything(request, claim);
    const int64_t hint = request.options.expected_rows;
    const int64_t seen = request.graph.symbols[0].bound / kHere;
    rows.push_back(hint > 0 ? hint : seen);
    if (rows.back() < 256) claim.refuse("rows an expert", "256", std::to_string(rows.back()));
  };
  const auto chosen = [&](const PlanOptions& options) {
    return std::string(plan_on({&large, &small}, graph, options)->engine());
  };
  EXPECT_EQ(chosen({}), "large_tiles");
  EXPECT_EQ(chosen({.expected_rows = kTokens * kTop / kAll}), "small_tiles");
  EXPECT_EQ(rows, (std::vector<int64_t>{1024, 128}));
  clear_plan_cache();
  const Plan without = *make_plan(graph, Device::cpu());
  const Plan with = *make_plan(graph, Device::cpu(), {.expected_rows = 128});
  EXPECT_NE(&detail::PlanAccess::data(without), &detail::PlanAccess::data(with));
  const Plan again = *make_plan(graph, Device::cpu(), {.expected_rows = 128});
  EXPECT_EQ(&detail::PlanAccess::data(again), &detail::PlanAccess::data(with));
}

// pytorch#103939, cudnn-frontend#815: 8 threads plan one graph, and run one plan on memory of their
// own; each is a fresh thread.
TEST(UserCases, ThreadsShareAGraphAndAPlan) {
  GemmCase c;
  const Graph graph = c.graph();
  clear_plan_cache();
  const Plan shared = *make_plan(graph, Device::cpu());
  const std::vector<float> want = c.expected();
  std::atomic<int> planned{0};
  std::atomic<int> right{0};
  std::vector<std::unique_ptr<Tensors>> memory;
  for (int i = 0; i < 8; ++i) {
    memory.push_back(std::make_unique<Tensors>(graph, shared, Sizes{{"T", c.rows}}));
    memory.back()->set("x", c.x);
    memory.back()->set("w", c.w);
    put_groups(*memory.back(), "g", c.form, c.offsets, c.ranges);
  }
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      Tensors& mine = *memory[static_cast<size_t>(i)];
      const Result<Plan> own = make_plan(graph, Device::cpu());
      if (own && own->engine() == shared.engine()) ++planned;
      const Result<Execution> e = shared.bind(graph, {{"T", c.rows}}, mine.all());
      for (int k = 0; e && k < 20; ++k) {
        mine.fill("y", kPoison);
        const bool ran = static_cast<bool>(e->run(nullptr));
        if (ran && mine.values<float>("y") == want) ++right;
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(planned, 8);
  EXPECT_EQ(right, 8 * 20);
}

}  // namespace
}  // namespace cohort::test
