// Graphs that say something that cannot be meant, each with its one finding.
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <cohort/cohort.h>

#include "fixtures/every_graph.h"
#include "fixtures/findings.h"

namespace cohort {
namespace {

using test::codes;
using test::has;
using test::only;

constexpr int64_t kE = 4, kN = 64, kK = 32;

struct Product {
  Builder g{"product"};
  Dim T = g.dynamic("T", 256);
  Tensor x = g.input("x", {T, kK}, DType::bf16);
  Weights w = g.weights("w", {kE, kN, kK}, DType::bf16);
  Groups ends = g.groups("ends", kE, GroupForm::ends);
  Value y = g.add(GroupedGemm{.a = x, .b = w, .groups = ends});
  Findings findings() { return std::move(g).finish().findings(); }
};

TEST(Load, OfAComputedValueIsARole) {
  const std::string text =
      R"({"cohort":1,"name":"g","dims":[],"inputs":[{"name":"x","role":"tensor","shape":[4,8],)"
      R"("dtype":"f32","strides":null,"alignment":16}],"nodes":[{"op":"load","x":"x",)"
      R"("groups":null},{"op":"load","x":"%0","groups":null}],"outputs":[{"name":"y",)"
      R"("value":"%1"}]})";
  const Findings findings = parse_json(text).findings();
  const auto f = only(findings);
  EXPECT_EQ(f.code, "E-ROLE");
  EXPECT_EQ(f.where, "/nodes/1/x");
}

TEST(Load, OfWhatQuantizeMadeKeepsItsGroups) {
  Product p;
  const auto q = p.y.then(Quantize{.to = Format::mxfp8_e4m3, .axes = Axes::col});
  p.g.output("max", p.g.add(Load{.x = q.col}).then(Amax{.per = AmaxPer::expert}));
  EXPECT_TRUE(std::move(p.g).finish());

  Product other;
  const auto r = other.y.then(Quantize{.to = Format::mxfp8_e4m3});
  const Groups more = other.g.groups("more", kE, GroupForm::ends);
  other.g.output("z", other.g.add(Load{.x = r.row, .groups = more}));
  const Findings findings = other.findings();
  EXPECT_EQ(only(findings).code, "E-GROUPS");
  EXPECT_EQ(findings[0].field, "groups");
}

TEST(Operands, OneNumberAGroupIsNotTwo) {
  Product p;
  const GroupVec halves = p.y.then(Amax{.per = AmaxPer::expert_half});
  p.g.output("z",
             p.g.add(GroupedGemm{.a = p.x, .b = p.w, .groups = p.ends}).then(Alpha{.by = halves}));
  const Findings findings = p.findings();
  const auto f = only(findings);
  EXPECT_EQ(f.code, "E-RANK");
  EXPECT_EQ(f.op, "alpha");
  EXPECT_EQ(f.field, "by");
}

Findings quantized(Shape shape, const Quantize& op, bool column) {
  Builder g("q");
  const auto q = g.add(Load{.x = g.input("x", shape, DType::f32)}).then(op);
  g.output("q", column ? q.col : q.row);
  return std::move(g).finish().findings();
}

TEST(Quantize, OfAnOddNumberOfTokensInPairs) {
  const Quantize op{.to = Format::mxfp4, .axes = Axes::col};
  const Findings findings = quantized({63, 32}, op, true);
  const auto f = only(findings);
  EXPECT_EQ(f.code, "E-SHAPE");
  EXPECT_EQ(f.op, "quantize");
  EXPECT_EQ(f.dimension, 0);
  EXPECT_EQ(quantized({64, 32}, op, true).total(), 0);
  EXPECT_EQ(quantized({63, 32}, {.to = Format::mxfp8_e4m3, .axes = Axes::col}, true).total(), 0);
}

TEST(Quantize, OfANamedNumberOfTokensInPairs) {
  Builder g("q");
  const Dim T = g.dynamic("T", 65);
  const auto q = g.add(Load{.x = g.input("x", {T, 32}, DType::f32)})
                     .then(Quantize{.to = Format::mxfp4, .axes = Axes::col});
  g.output("q", q.col);
  const Result<Graph> graph = std::move(g).finish();
  ASSERT_TRUE(graph) << graph.findings().text();
  const Result<Plan> plan = make_plan(*graph, Device::cpu());
  ASSERT_TRUE(plan) << plan.findings().text();
  const Findings odd = plan->tensor(0, *graph, {{"T", 7}}).findings();
  EXPECT_EQ(only(odd).code, "E-SHAPE");
  EXPECT_EQ(odd[0].op, "T");
  std::vector<float> x(64 * 32);
  std::vector<uint8_t> codes(1024), scales(4096);
  const auto bound = [&](int64_t t) {
    return plan->bind(*graph, {{"T", t}},
                      {{"x", TensorView::packed(x.data(), DType::f32, {t, 32})},
                       {"q", TensorView::packed(codes.data(), DType::e2m1, {32, t})},
                       {"q.scale", TensorView::packed(scales.data(), DType::e8m0, {1024})}});
  };
  EXPECT_EQ(only(bound(7).findings()).code, "E-SHAPE");
  Result<Execution> run = bound(8);
  ASSERT_TRUE(run) << run.findings().text();
  EXPECT_EQ(only(run->resize({{"T", 9}}).findings()).code, "E-SHAPE");
  EXPECT_TRUE(run->run(nullptr));
}

TEST(Quantize, NormIsAFiniteNumberAboveZero) {
  const float inf = std::numeric_limits<float>::infinity();
  for (double norm : {0.0, -1.0, 1e39, 1e-60, static_cast<double>(inf),
                      static_cast<double>(std::numeric_limits<float>::quiet_NaN())}) {
    const Findings findings = quantized({64, 32}, {.to = Format::mxfp8_e4m3, .norm = norm}, false);
    const auto f = only(findings);
    EXPECT_EQ(f.code, "E-ATTRIBUTE") << norm;
    EXPECT_EQ(f.field, "norm");
  }
  EXPECT_EQ(quantized({64, 32}, {.to = Format::mxfp8_e4m3, .norm = 0.5}, false).total(), 0);
}

TEST(Overflow, OfAnOutputIsAFindingOfTheGraph) {
  constexpr int64_t kBig = int64_t{1} << 31;
  Builder g("big");
  const auto a = g.input("a", {kBig, 8}, DType::bf16);
  const auto b = g.input("b", {kBig, 8}, DType::bf16);
  g.output("y", g.add(Matmul{.a = a, .b = b}));
  const Findings findings = std::move(g).finish().findings();
  const auto f = only(findings);
  EXPECT_EQ(f.code, "E-OVERFLOW");
  EXPECT_EQ(f.op, "y");
  EXPECT_EQ(f.field, "value");
}

TEST(Overflow, OfScalesThatTheLayoutPads) {
  // 2^58 bytes of elements fit; padded to 128 by 4 scales and by group, the scales do not.
  constexpr int64_t kMany = int64_t{1} << 48;
  Builder g("big");
  const auto x = g.input("x", {int64_t{4}, 1}, DType::f32);
  const auto groups = g.groups("many", kMany, GroupForm::counts);
  const auto q =
      g.add(Load{.x = x, .groups = groups})
          .then(Quantize{.to = Format::mxfp8_e4m3, .row_layout = ScaleLayout::shifted_128});
  g.output("q", q.row);
  const Result<Graph> graph = std::move(g).finish();
  // Either it fits, and then its plan says how much, or it is a finding of the graph.
  if (graph) {
    EXPECT_TRUE(make_plan(*graph, Device::cpu()));
  } else {
    EXPECT_EQ(only(graph.findings()).code, "E-OVERFLOW");
  }
}

TEST(Overflow, OfStrides) {
  Builder g("strides");
  constexpr int64_t kHuge = int64_t{1} << 59;
  g.output("y", g.add(Load{.x = g.input("x", {2, 8}, DType::f32, {.strides = {kHuge, 1}})}));
  const Findings findings = std::move(g).finish().findings();
  EXPECT_EQ(only(findings).code, "E-OVERFLOW");
  EXPECT_EQ(findings[0].field, "strides");
}

TEST(Names, ADuplicateIsOneFinding) {
  Builder g("twice");
  const auto x = g.input("x", {8, 8}, DType::f32);
  (void)g.input("x", {8, 8}, DType::f32);
  g.output("y", g.add(Load{.x = x}));
  EXPECT_EQ(codes(std::move(g).finish().findings()), "E-NAME");

  Builder dims("dims");
  const Dim T = dims.dynamic("T", 8);
  (void)dims.dynamic("T", 8);
  dims.output("y", dims.add(Load{.x = dims.input("x", {T, 8}, DType::f32)}));
  EXPECT_EQ(codes(std::move(dims).finish().findings()), "E-NAME");
}

TEST(Names, ThatAreNoUtf8AreShownAsText) {
  for (const std::string name : {"\xFFx", "a\xED\xA0\x80", "tab\tbell\a", "\xF4\x90\x80\x80"}) {
    Builder g("names");
    const auto x = g.input(name, {8, 8}, DType::i32);
    g.output(name + "y", g.add(Load{.x = x}));
    const Findings findings = std::move(g).finish().findings();
    ASSERT_GE(findings.total(), 1);
    for (const Finding& f : findings) {
      for (std::string_view part : {f.op, f.field, f.wanted, f.got, f.message, f.hint}) {
        std::string shown(part);
        for (char c : shown) {
          EXPECT_GE(static_cast<uint8_t>(c), 0x20) << f.message;
          EXPECT_LT(static_cast<uint8_t>(c), 0x7F) << f.message;
        }
      }
    }
  }
  Builder g("names");
  (void)g.input("\xC3\xA9\xFF", {8, 8}, DType::f16);
  const Findings findings = std::move(g).finish().findings();
  EXPECT_TRUE(has(findings.text(), "E-NAME")) << findings.text();
}

TEST(Vectors, OfF16AreTaken) {
  Product p;
  p.g.output("y", p.y.then(Alpha{.by = p.g.group_input("alpha", kE, DType::f16)})
                      .then(RowGate{.by = p.g.row_input("gate", p.T, DType::f16)}));
  EXPECT_EQ(p.findings().total(), 0);
}

}  // namespace
}  // namespace cohort
