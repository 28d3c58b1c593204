// The settled rules of handles and outputs, one by one.
#include <optional>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include <cohort/cohort.h>

#include "fixtures/findings.h"

namespace cohort {
namespace {

using test::codes;
using test::has;
using test::only;
using test::place;

constexpr int64_t kT = 64, kN = 32, kK = 32, kE = 2;

// A builder with the inputs of a bf16 product.
struct Small {
  explicit Small(std::string_view name = "small") : g(name) {}
  Builder g;
  Tensor x = g.input("x", {kT, kK}, DType::bf16);
  Weights w = g.weights("w", {kE, kN, kK}, DType::bf16);
  Groups ends = g.groups("ends", kE, GroupForm::ends);
  Value y = g.add(GroupedGemm{.a = x, .b = w, .groups = ends});
};

TEST(Handles, AfterFinishTheyAreDeadAndChangeNothing) {
  Small a("first");
  a.g.output("y", a.y);
  const int finish_line = __LINE__ + 1;
  const Result<Graph> graph = std::move(a.g).finish();
  ASSERT_TRUE(graph) << graph.findings().text();
  const std::string before(graph->json());
  const int late_line = __LINE__ + 1;
  const Value late = a.y.then(ReluSquared{});
  const Tensor late_input = a.g.input("z", {kT, kN}, DType::f32);
  a.g.output("late", late);
  EXPECT_EQ(graph->json(), before);
  const Findings twice = std::move(a.g).finish().findings();
  EXPECT_EQ(only(twice).code, "E-HANDLE");
  EXPECT_TRUE(has(twice.text(), place(__FILE__, finish_line))) << twice.text();

  Small b("second");
  const int use_line = __LINE__ + 1;
  b.g.output("y", b.y.then(Add{.c = late}));
  const Findings findings = std::move(b.g).finish().findings();
  const auto f = only(findings);
  EXPECT_EQ(f.code, "E-HANDLE");
  EXPECT_EQ(f.op, "add");
  EXPECT_EQ(f.field, "c");
  EXPECT_EQ(f.where, place(__FILE__, use_line));
  EXPECT_TRUE(has(f.message, place(__FILE__, late_line))) << f.message;
  EXPECT_TRUE(has(f.message, "relu_squared")) << f.message;

  Small c("third");
  const Value loaded = c.g.add(Load{.x = late_input});
  c.g.output("y", c.y.then(Add{.c = loaded}));
  EXPECT_EQ(only(std::move(c.g).finish().findings()).code, "E-HANDLE");
}

TEST(Handles, ForeignOnesAreReportedWithBothPlaces) {
  Small a("first");
  const int made_line = __LINE__ + 1;
  const RowVec foreign = a.g.row_input("gate", kT);
  Small b("second");
  const int use_line = __LINE__ + 1;
  const Value gated = b.y.then(RowGate{.by = foreign});
  b.g.output("y", gated.then(ReluSquared{}).then(Quantize{.to = Format::mxfp8_e4m3}).row);
  const Findings findings = std::move(b.g).finish().findings();
  const auto f = only(findings);
  EXPECT_EQ(f.code, "E-HANDLE");
  EXPECT_EQ(f.op, "row_gate");
  EXPECT_EQ(f.field, "by");
  EXPECT_EQ(f.where, place(__FILE__, use_line));
  EXPECT_TRUE(has(f.message, "'first'")) << f.message;
  EXPECT_TRUE(has(f.message, place(__FILE__, made_line))) << f.message;
}

TEST(Handles, ForeignOnesOfAFinishedOrGoneBuilderKeepTheirPlace) {
  std::optional<Small> a("first");
  const int made_line = __LINE__ + 1;
  const Value made = a->y.then(ReluSquared{});
  a->g.output("y", made);
  ASSERT_TRUE(std::move(a->g).finish());
  a.reset();
  Small b("second");
  b.g.output("y", b.y);
  b.g.output("stolen", made);
  const Findings findings = std::move(b.g).finish().findings();
  const auto f = only(findings);
  EXPECT_EQ(f.code, "E-HANDLE");
  EXPECT_EQ(f.op, "stolen");
  EXPECT_TRUE(has(f.message, place(__FILE__, made_line))) << f.message;
}

TEST(Handles, ADimOfAnotherBuilderIsReportedWithBothPlaces) {
  Builder a("first");
  const int made_line = __LINE__ + 1;
  const Dim foreign = a.dynamic("T", 128);
  Builder b("second");
  const int use_line = __LINE__ + 1;
  const Tensor x = b.input("x", {foreign, kK}, DType::bf16);
  const Weights w = b.weights("w", {kE, kN, kK}, DType::bf16);
  const Groups ends = b.groups("ends", kE, GroupForm::ends);
  const RowVec gate = b.row_input("gate", kT);
  b.output("y", b.add(GroupedGemm{.a = x, .b = w, .groups = ends}).then(RowGate{.by = gate}));
  const Findings findings = std::move(b).finish().findings();
  const auto f = only(findings);
  EXPECT_EQ(f.code, "E-HANDLE");
  EXPECT_EQ(f.field, "shape");
  EXPECT_EQ(f.where, place(__FILE__, use_line));
  EXPECT_TRUE(has(f.message, place(__FILE__, made_line))) << f.message;
}

TEST(Handles, ADimMadeAfterFinishIsDead) {
  Small a;
  a.g.output("y", a.y);
  ASSERT_TRUE(std::move(a.g).finish());
  const int made_line = __LINE__ + 1;
  const Dim late = a.g.dynamic("T", 128);
  Builder b("second");
  b.output("y", b.add(Load{.x = b.input("x", {late, kK}, DType::bf16)}));
  const Findings findings = std::move(b).finish().findings();
  const auto f = only(findings);
  EXPECT_EQ(f.code, "E-HANDLE");
  EXPECT_TRUE(has(f.message, place(__FILE__, made_line))) << f.message;
}

TEST(Handles, OutliveTheirBuilder) {
  std::optional<Builder> g("gone");
  const Tensor x = g->input("x", {kT, kK}, DType::bf16);
  const Value v = g->add(Load{.x = x});
  g.reset();
  const Value w = v.then(ReluSquared{}).then(Add{.c = v});
  const Value copy = w;
  (void)copy;
}

TEST(Values, HaveAnyNumberOfConsumers) {
  Small s;
  const Value act = s.y.then(ReluSquared{});
  const Weights w2 = s.g.weights("w2", {kE, kK, kN}, DType::f32);
  const Value z = s.g.add(GroupedGemm{.a = act, .b = w2, .groups = s.ends});
  s.g.output("saved", s.y, {.dtype = DType::bf16});
  s.g.output("act", act);
  s.g.output("sum", act.then(Add{.c = s.y}));
  s.g.output("z", z);
  const Result<Graph> graph = std::move(s.g).finish();
  ASSERT_TRUE(graph) << graph.findings().text();
  EXPECT_EQ(graph->node_count(), 4);
}

TEST(Outputs, AResultThatWasNotAskedForIsNone) {
  Small s;
  const Quantized q = s.y.then(Quantize{.to = Format::mxfp8_e4m3, .axes = Axes::row});
  s.g.output("y", q.row);
  s.g.output("y_t", q.col);
  const Findings findings = std::move(s.g).finish().findings();
  const auto f = only(findings);
  EXPECT_EQ(f.code, "E-OUTPUT");
  EXPECT_EQ(f.op, "y_t");
  EXPECT_EQ(f.got, "%1.col");

  Small t;
  const Quantized r = t.y.then(Quantize{.to = Format::mxfp8_e4m3, .axes = Axes::col});
  const Weights w2 = t.g.scaled_weights("w2", {kE, kK, kN}, Format::mxfp8_e4m3);
  t.g.output("z", t.g.add(GroupedGemm{.a = r.row, .b = w2, .groups = t.ends}));
  t.g.output("col", r.col);
  const Findings of_t = std::move(t.g).finish().findings();  // findings are views of it
  const auto used = only(of_t);
  EXPECT_EQ(used.code, "E-OUTPUT");
  EXPECT_EQ(used.op, "grouped_gemm");
  EXPECT_EQ(used.field, "a");
}

TEST(Outputs, AnOpWithNoWayToOneIsAFinding) {
  Small s;
  s.g.output("y", s.y);
  const int line = __LINE__ + 1;
  const Value lost = s.y.then(ReluSquared{}).then(Unary{.mode = UnaryMode::relu});
  (void)lost;
  const Findings findings = std::move(s.g).finish().findings();
  const auto f = only(findings);  // the end of the chain; its beginning has a consumer
  EXPECT_EQ(f.code, "E-UNUSED");
  EXPECT_EQ(f.op, "unary");
  EXPECT_EQ(f.where, place(__FILE__, line));
}

TEST(Outputs, NoneAtAllIsOneFindingAtFinish) {
  Small s;
  const int line = __LINE__ + 1;
  const Findings findings = std::move(s.g).finish().findings();
  const auto f = only(findings);
  EXPECT_EQ(f.code, "E-OUTPUT");
  EXPECT_EQ(f.where, place(__FILE__, line));
}

TEST(Outputs, AnUnusedInputOrDimIsAFinding) {
  Small s;
  const int line = __LINE__ + 1;
  (void)s.g.row_input("gate", kT);
  (void)s.g.dynamic("S", 7);
  s.g.output("y", s.y);
  const Findings findings = std::move(s.g).finish().findings();
  ASSERT_EQ(codes(findings), "E-UNUSED E-UNUSED") << findings.text();
  EXPECT_EQ(findings[0].op, "gate");
  EXPECT_EQ(findings[0].where, place(__FILE__, line));
  EXPECT_EQ(findings[1].op, "S");
  EXPECT_EQ(findings[1].where, place(__FILE__, line + 1));
}

TEST(Findings, AnInputIsNoOutput) {
  Small s;
  s.g.output("y", s.y);
  s.g.output("x2", s.x);
  EXPECT_EQ(only(std::move(s.g).finish().findings()).code, "E-OUTPUT");
}

TEST(Findings, OneMistakeOneFinding) {
  Small s;
  const RowVec bad = s.g.row_input("gate", kT + 1);
  const Value v = s.y.then(RowGate{.by = bad}).then(ReluSquared{}).then(Cast{.to = DType::bf16});
  const Quantized q = v.then(Quantize{.to = Format::nvfp4, .axes = Axes::both});
  s.g.output("v", v, {.dtype = DType::e4m3});
  s.g.output("row", q.row);
  s.g.output("col", q.col, {.dtype = DType::f32});
  const Findings findings = std::move(s.g).finish().findings();  // f is a view of it
  const auto f = only(findings);
  EXPECT_EQ(f.code, "E-SHAPE");
  EXPECT_EQ(f.op, "row_gate");
  EXPECT_EQ(f.field, "by");
  EXPECT_EQ(f.dimension, 0);
  EXPECT_EQ(f.wanted, "64");
  EXPECT_EQ(f.got, "65");
}

TEST(Findings, OfATooLongShapeIsOne) {
  Builder g("ranks");
  const Tensor x = g.input("x", {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, DType::bf16);
  g.output("y", g.add(Load{.x = x}));
  EXPECT_EQ(only(std::move(g).finish().findings()).code, "E-LIMIT");
}

TEST(Findings, KeepTheOrderOfTheProgram) {
  std::string first;
  for (int run = 0; run < 3; ++run) {
    Small s;
    const RowVec gate = s.g.row_input("", kT);
    const ColVec c = s.g.col_input("c", -1);
    const GroupMat b = s.g.group_matrix("b", {kE + 1, kN});
    s.g.output("y", s.y.then(Bias{.by = b}));
    s.g.output("y", s.y, {.dtype = DType::i32});
    (void)gate;
    (void)c;
    const Findings findings = std::move(s.g).finish().findings();
    ASSERT_GE(findings.size(), 5) << findings.text();
    EXPECT_EQ(findings[0].code, "E-NAME");
    EXPECT_EQ(findings[1].op, "c");
    EXPECT_EQ(findings[2].op, "bias");
    if (run == 0) first = findings.text();
    EXPECT_EQ(findings.text(), first);
  }
}

TEST(Findings, TheFirstHundredAreKeptAndAllAreCounted) {
  Small s;
  s.g.output("y", s.y);
  for (int i = 0; i < 250; ++i) (void)s.g.row_input("r" + std::to_string(i), -i - 1);
  const Findings findings = std::move(s.g).finish().findings();
  EXPECT_EQ(findings.size(), 100);
  EXPECT_EQ(findings.total(), 250);
  EXPECT_EQ(findings[0].op, "r0");
  EXPECT_EQ(findings[99].op, "r99");
  EXPECT_TRUE(has(findings.text(), "150 more")) << findings.text();
}

TEST(Dims, AreEqualBySymbolOrByNumber) {
  Builder g("dims");
  const Dim T = g.dynamic("T", 64);
  const Dim S = g.dynamic("S", 64);
  const Value x = g.add(Load{.x = g.input("x", {T, kK}, DType::f32)});
  const Value y = g.add(Load{.x = g.input("y", {S, kK}, DType::f32)});
  const Value z = g.add(Load{.x = g.input("z", {64, kK}, DType::f32)});
  g.output("xx", x.then(Add{.c = x}));
  g.output("zz", z.then(Add{.c = g.add(Load{.x = g.input("z2", {64, kK}, DType::f32)})}));
  g.output("xy", x.then(Add{.c = y}));
  g.output("xz", x.then(Add{.c = z}));
  const Findings findings = std::move(g).finish().findings();
  ASSERT_EQ(codes(findings), "E-SHAPE E-SHAPE") << findings.text();
  EXPECT_EQ(findings[0].wanted, "T");
  EXPECT_EQ(findings[0].got, "S");
  EXPECT_EQ(findings[1].wanted, "T");
  EXPECT_EQ(findings[1].got, "64");
  EXPECT_FALSE(findings[1].hint.empty());
}

}  // namespace
}  // namespace cohort
