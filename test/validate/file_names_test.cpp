// Names that files give to parts of tensors are no names of other tensors.
#include <cohort/cohort.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>

#include "fixtures/findings.h"

namespace cohort {
namespace {

using test::codes;
using test::has;
using test::only;

// What is said of an input `name` beside discrete weights "w" of three experts and an output "y".
std::string beside_weights(std::string_view name, bool scaled) {
  Builder g("g");
  const Dim t = g.dynamic("T", 64);
  const auto ends = g.groups("ends", 3, GroupForm::ends);
  const auto gate = g.row_input(name, t);
  if (scaled) {
    const auto x = g.scaled_input("x", {t, 64}, Format::mxfp8_e4m3);
    const auto w = g.weight_pointers("w", {3, 8, 64}, Format::mxfp8_e4m3);
    g.output("y", g.add(GroupedGemm{.a = x, .b = w, .groups = ends}).then(RowGate{.by = gate}));
  } else {
    const auto x = g.input("x", {t, 64}, DType::bf16);
    const auto w = g.weight_pointers("w", {3, 8, 64}, DType::bf16);
    g.output("y", g.add(GroupedGemm{.a = x, .b = w, .groups = ends}).then(RowGate{.by = gate}));
  }
  const Result<Graph> graph = std::move(g).finish();
  if (graph) return {};
  const auto finding = only(graph.findings());
  EXPECT_EQ(finding.code, "E-NAME");
  EXPECT_EQ(finding.op, name);
  return std::string(finding.message);
}

TEST(FileNames, OfDiscreteWeightsAndFirstContents) {
  EXPECT_TRUE(has(beside_weights("w.0", false), "an expert of discrete weights"));
  EXPECT_TRUE(has(beside_weights("w.2", true), "an expert of discrete weights"));
  EXPECT_TRUE(has(beside_weights("w.2.scale", true), "the scales of discrete weights"));
  EXPECT_TRUE(has(beside_weights("y.init", false), "the first content of an output"));
  for (const char* name : {"w.3", "w.-1", "w.00", "w.", "w.0.scale", "w.0.init", "x.init", "v.0",
                           "y.0", "w.1x", "w.99999999999999999999"}) {
    EXPECT_EQ(beside_weights(name, false), "") << name;
  }
}

TEST(FileNames, OfDiscreteGradients) {
  for (const char* name : {"dw.0", "dw.1.init", "dw.2", "dw.init"}) {
    Builder g("g");
    const Dim t = g.dynamic("T", 64);
    const auto a = g.input(name, {t, 8}, DType::f32);
    const auto b = g.input("b", {t, 16}, DType::f32);
    const auto ends = g.groups("ends", 2, GroupForm::ends);
    g.output("dw", g.add(GroupedWgrad{.a = a, .b = b, .groups = ends}), {.discrete = true});
    const Result<Graph> graph = std::move(g).finish();
    const bool is_part = std::string_view(name) == "dw.0" || std::string_view(name) == "dw.1.init";
    EXPECT_EQ(graph ? "" : codes(graph.findings()), is_part ? "E-NAME" : "") << name;
  }
}

TEST(FileNames, AFaultyTensorIsOneFinding) {
  Builder g("g");
  const Dim t = g.dynamic("T", 64);
  const auto ends = g.groups("ends", 3, GroupForm::ends);
  const auto x = g.scaled_input("w.0", {t, 64}, Format::mxfp8_e4m3);
  const auto w = g.weight_pointers("w", {3, 8, 64}, Format::mxfp8_e4m3);
  g.output("y", g.add(GroupedGemm{.a = x, .b = w, .groups = ends}));
  const Result<Graph> graph = std::move(g).finish();
  ASSERT_FALSE(graph);
  EXPECT_EQ(only(graph.findings()).op, "w.0") << "w.0.scale is the same mistake";
}

TEST(Extents, OneTooLargeIsOneFinding) {
  const auto said = [](int64_t rows, int64_t columns) {
    Builder g("g");
    const auto a = g.input("a", {rows, columns}, DType::f32);
    const auto b = g.input("b", {8, 8}, DType::f32);
    g.output("y", g.add(Matmul{.a = a, .b = b}));
    const Result<Graph> graph = std::move(g).finish();
    return graph ? std::string() : codes(graph.findings());
  };
  const int64_t most = int64_t{1} << 48;
  EXPECT_EQ(said(8, most + 1), "E-LIMIT");
  EXPECT_EQ(said(most, most + 1), "E-LIMIT");
  EXPECT_EQ(said(most + 1, most + 1), "E-LIMIT E-LIMIT");
  EXPECT_EQ(said(most, most), "E-OVERFLOW");
}

}  // namespace
}  // namespace cohort
