// Graph::tensor_symbol: which extents of a stored graph a replay takes from its tensors.
#include <gtest/gtest.h>

#include <cohort/cohort.h>

#include <utility>

namespace cohort {
namespace {

Graph make() {
  Builder g("symbols");
  Dim T = g.dynamic("T", 1024);
  Dim S = g.dynamic("S", 512);
  auto x = g.scaled_input("x", {S, 64}, Format::mxfp8_e4m3);
  auto w = g.scaled_weights("w", {2, 32, 64}, Format::mxfp8_e4m3);
  auto ends = g.groups("ends", 2, GroupForm::ends);
  auto y = g.add(GroupedGemm{.a = x, .b = w, .groups = ends, .gather = g.index("rows", T)})
               .then(RowGate{.by = g.row_input("prob", T)});
  auto q = y.then(
      Quantize{.to = Format::mxfp8_e4m3, .axes = Axes::col, .col_storage = ColStorage::transposed});
  g.output("y", y);
  g.output("q", q.col);
  return *std::move(g).finish();
}

std::string_view symbol(const Graph& g, std::string_view name, int32_t d) {
  return g.tensor_symbol(g.tensor_index(name), d);
}

TEST(TensorSymbol, NamesTheExtentsAsTheyStandInMemory) {
  const Graph g = make();
  EXPECT_EQ(symbol(g, "x", 0), "S");
  EXPECT_EQ(symbol(g, "x", 1), "");
  EXPECT_EQ(symbol(g, "rows", 0), "T");
  EXPECT_EQ(symbol(g, "prob", 0), "T");
  EXPECT_EQ(symbol(g, "y", 0), "T");
  EXPECT_EQ(symbol(g, "q", 0), "");
  EXPECT_EQ(symbol(g, "q", 1), "T");
}

TEST(TensorSymbol, OfAScatteredOutputIsThatOfItsOwnRows) {
  Builder g("scattered");
  Dim T = g.dynamic("T", 64);
  Dim S = g.dynamic("S", 32);
  auto y = g.add(Load{.x = g.input("x", {T, 8}, DType::f32)});
  g.output("y", y, {.scatter = g.index("to", T), .rows = S});
  const Graph graph = *std::move(g).finish();
  EXPECT_EQ(symbol(graph, "y", 0), "S");
  EXPECT_EQ(symbol(graph, "x", 0), "T");
}

TEST(TensorSymbol, IsEmptyWhereALayoutSaysTheExtentAndOutOfRange) {
  const Graph g = make();
  for (const char* name : {"x.scale", "w", "w.scale", "ends", "q.scale"}) {
    for (int32_t d = -1; d <= kMaxRank; ++d) EXPECT_EQ(symbol(g, name, d), "") << name << " " << d;
  }
  EXPECT_EQ(g.tensor_symbol(-1, 0), "");
  EXPECT_EQ(g.tensor_symbol(g.tensor_count(), 0), "");
  EXPECT_EQ(symbol(g, "x", 2), "");
}

// A named number of groups is for combine: koff has T + 1 entries.
TEST(TensorSymbol, GroupsSayHowManyEntriesTheyHaveBeyondTheirNumber) {
  const auto make_combine = [](GroupForm form) {
    Builder g("variable");
    Dim T = g.dynamic("T", 64);
    Dim R = g.dynamic("R", 256);
    g.output("o", g.add(Combine{.y = g.input("y", {R, 8}, DType::f32),
                                .rev = g.index("rev", R),
                                .weights = g.input("p", {R}, DType::f32),
                                .koff = g.groups("koff", T, form)}));
    return *std::move(g).finish();
  };
  for (const GroupForm form : {GroupForm::ends, GroupForm::boundaries}) {
    const Graph g = make_combine(form);
    const int32_t koff = g.tensor_index("koff");
    EXPECT_EQ(g.tensor_symbol(koff, 0), "T");
    EXPECT_EQ(g.tensor_extra(koff, 0), form == GroupForm::boundaries ? 1 : 0);
    EXPECT_EQ(g.tensor_extra(koff, 1), 0);
    EXPECT_EQ(g.tensor_extra(g.tensor_index("y"), 0), 0);
    EXPECT_EQ(g.tensor_extra(g.tensor_count(), 0), 0);
    EXPECT_EQ(g.tensor_extra(-1, 0), 0);
    const Plan plan = *make_plan(g, Device::cpu());
    EXPECT_EQ(plan.tensor(koff, g, {{"T", 5}, {"R", 9}})->shape[0], 5 + g.tensor_extra(koff, 0));
  }
}

}  // namespace
}  // namespace cohort
