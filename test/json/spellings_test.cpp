// One program has one text and one key, whichever of its spellings was given.
#include <limits>
#include <string>
#include <type_traits>
#include <utility>

#include <gtest/gtest.h>

#include <cohort/cohort.h>

#include "fixtures/findings.h"

namespace cohort {
namespace {

// A graph of one epilogue op on a (T, 64) value with groups.
template <class Op>
Graph with(const Op& op) {
  Builder g("one");
  const Dim t = g.dynamic("T", 64);
  const auto ends = g.groups("ends", 2, GroupForm::ends, {.row_alignment = 2});
  const auto x = g.add(Load{.x = g.input("x", {t, 64}, DType::f32), .groups = ends});
  if constexpr (std::is_same_v<Op, Quantize>) {
    const Quantized q = x.then(op);
    if (op.axes != Axes::col) g.output("row", q.row);
    if (op.axes != Axes::row) g.output("col", q.col);
  } else {
    g.output("y", x.then(op));
  }
  const Result<Graph> graph = std::move(g).finish();
  EXPECT_TRUE(graph) << graph.findings().text();
  return *graph;
}

void expect_one(const Graph& a, const Graph& b, const std::string& wanted) {
  EXPECT_EQ(a.json(), b.json());
  EXPECT_EQ(a.key(), b.key());
  EXPECT_TRUE(test::has(a.json(), wanted)) << a.json();
}
void expect_two(const Graph& a, const Graph& b) {
  EXPECT_NE(a.json(), b.json());
  EXPECT_FALSE(a.key() == b.key());
}

TEST(Spellings, PackedColumnsStandTransposed) {
  for (const Format format : {Format::mxfp4, Format::nvfp4}) {
    const Quantize usual{.to = format, .axes = Axes::both};
    Quantize said = usual;
    said.col_storage = ColStorage::transposed;
    Quantize ragged = usual;
    ragged.col_storage = ColStorage::ragged;
    expect_one(with(usual), with(said), R"("col_storage":"transposed")");
    expect_two(with(usual), with(ragged));
    // The other spelling in a file, too.
    std::string text(with(usual).json());
    text.replace(text.find("transposed"), 10, "as_rows");
    EXPECT_EQ(parse_json(text)->json(), with(usual).json());
  }
  // A default that says so is none that nothing reads, not even behind a file.
  Builder g("row only");
  const Quantize both{.to = Format::nvfp4, .axes = Axes::both};
  g.output("y", g.add(Load{.x = g.input("x", {4, 64}, DType::f32)}).then(both).row);
  const Result<Graph> row_only = std::move(g).finish();
  ASSERT_TRUE(row_only) << row_only.findings().text();
  EXPECT_EQ(parse_json(row_only->json())->json(), row_only->json());
  // Without columns there is nothing to say, and columns of 8 bits stand in two ways.
  EXPECT_TRUE(test::has(with(Quantize{.to = Format::nvfp4}).json(), R"("col_storage":"as_rows")"));
  const Quantize fp8{.to = Format::mxfp8_e4m3, .axes = Axes::col};
  Quantize other = fp8;
  other.col_storage = ColStorage::transposed;
  expect_two(with(fp8), with(other));
}

TEST(Spellings, WhatAQuantiserDoesByItselfIsLeftOut) {
  const Quantize row{.to = Format::fp8_row};
  Quantize said = row;
  said.element = DType::e4m3;
  said.row_layout = ScaleLayout::linear;
  said.qmax = 448.0f;
  expect_one(with(row), with(said), R"("element":null,"norm":1,"qmax":null)");
  EXPECT_TRUE(test::has(with(said).json(), R"("row_layout":null)"));
  Quantize wide = row;
  wide.element = DType::e5m2;
  expect_two(with(row), with(wide));
  Quantize wide_said = wide;
  wide_said.qmax = 57344.0f;
  expect_one(with(wide), with(wide_said), R"("element":"e5m2","norm":1,"qmax":null)");
  Quantize half = row;
  half.qmax = 224.0f;
  expect_two(with(row), with(half));

  const Quantize fp4{.to = Format::nvfp4};
  Quantize tiled = fp4;
  tiled.row_layout = ScaleLayout::tiled_128x4;
  tiled.element = DType::e2m1;
  tiled.qmax = 6.0f;
  expect_one(with(fp4), with(tiled), R"("row_layout":null)");
  Quantize linear = fp4;
  linear.row_layout = ScaleLayout::linear;
  expect_two(with(fp4), with(linear));
}

TEST(Spellings, ParametersThatAnActivationHasByItselfAreLeftOut) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const Packing split = Packing::split;
  const std::string none = R"("alpha":null,"beta":null,"limit":null,)";
  expect_one(with(Glu{.act = GluAct::swiglu, .packing = split}),
             with(Glu{.act = GluAct::swiglu,
                      .packing = split,
                      .alpha = 1.0f,
                      .beta = 0.0f,
                      .limit = kInfinity}),
             none);
  expect_one(
      with(Glu{.act = GluAct::geglu, .packing = split}),
      with(Glu{
          .act = GluAct::geglu, .packing = split, .alpha = 1.702f, .beta = 1.0f, .limit = 7.0f}),
      none);
  expect_one(
      with(Glu{.act = GluAct::situ, .packing = split}),
      with(Glu{.act = GluAct::situ, .packing = split, .gate_bound = 4.0f, .up_bound = 25.0f}),
      R"("gate_bound":null,"up_bound":null)");
  // -0 is added to another sum than 0 is.
  expect_two(with(Glu{.act = GluAct::swiglu, .packing = split}),
             with(Glu{.act = GluAct::swiglu, .packing = split, .beta = -0.0f}));
  EXPECT_TRUE(test::has(with(Glu::gpt_oss(split)).json(), R"("alpha":1.702,"beta":1,"limit":7,)"));
}

TEST(Spellings, OfABackwardAreThoseOfItsForward) {
  const auto graph = [](Maybe<float> alpha) {
    Builder g("back");
    const auto dy = g.add(Load{.x = g.input("dy", {4, 32}, DType::f32)});
    const auto c = g.add(Load{.x = g.input("c", {4, 64}, DType::f32)});
    const auto d =
        dy.then(DGlu{.c = c, .act = GluAct::swiglu, .packing = Packing::split, .alpha = alpha});
    g.output("d", d);
    return *std::move(g).finish();
  };
  expect_one(graph({}), graph(1.0f), R"("alpha":null)");
  expect_two(graph({}), graph(1.5f));
}

// What Quantize made has the groups of what it quantised.
TEST(Spellings, GroupsThatALoadedTensorHas) {
  const auto graph = [](bool says) {
    Builder g("again");
    const Dim t = g.dynamic("T", 64);
    const auto ends = g.groups("ends", 2, GroupForm::ends);
    const auto q = g.add(Load{.x = g.input("x", {t, 64}, DType::f32), .groups = ends})
                       .then(Quantize{.to = Format::mxfp8_e4m3});
    g.output("y", g.add(says ? Load{.x = q.row, .groups = ends} : Load{.x = q.row}));
    return *std::move(g).finish();
  };
  expect_one(graph(false), graph(true), R"({"op":"load","x":"%1.row","groups":null})");
}

TEST(Spellings, StridesOfPackedRows) {
  const auto graph = [](const Strides& in, const Strides& w, const Strides& out) {
    Builder g("strides");
    const Dim t = g.dynamic("T", 64);
    const auto x = g.input("x", {t, 16}, DType::bf16, {.strides = in});
    const auto b = g.weights("w", {2, 8, 16}, DType::bf16, {.major = Major::n, .strides = w});
    const auto ends = g.groups("ends", 2, GroupForm::ends);
    g.output("y", g.add(GroupedGemm{.a = x, .b = b, .groups = ends}), {.strides = out});
    const Result<Graph> made = std::move(g).finish();
    EXPECT_TRUE(made) << made.findings().text();
    return *made;
  };
  const Graph packed = graph({}, {}, {});
  expect_one(packed, graph({16, 1}, {128, 8, 1}, {8, 1}), R"("dtype":"bf16","strides":null)");
  expect_two(packed, graph({17, 1}, {}, {}));
  expect_two(packed, graph({16, 1}, {128, 8, 1}, {9, 1}));
  expect_two(packed, graph({}, {256, 8, 1}, {}));
}

// Those of a named extent follow its actual size, numbers do not.
TEST(Spellings, StridesThatANamedExtentMakes) {
  const auto graph = [](const Strides& strides) {
    Builder g("named");
    const Dim n = g.dynamic("N", 32);
    g.output("y", g.add(Load{.x = g.input("x", {4, n}, DType::f32, {.strides = strides})}));
    return *std::move(g).finish();
  };
  expect_two(graph({}), graph({32, 1}));
}

}  // namespace
}  // namespace cohort
