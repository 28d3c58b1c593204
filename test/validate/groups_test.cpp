// What a groups input of form whole may be, whose names are apart, and blocks that a value without
// groups has none of.
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include <cohort/cohort.h>

#include "fixtures/findings.h"

namespace cohort::test {
namespace {

Findings findings_of(Builder& g) { return std::move(g).finish().findings(); }

// The only finding about a groups input, in a graph that is sound otherwise.
KeptFinding about(Dim count, const GroupOptions& options = {}) {
  Builder g("whole");
  const Dim t = count.is_dynamic() ? count : g.dynamic("T", 64);
  const auto groups = g.groups("all", count, GroupForm::whole, options);
  g.output("y", g.add(Load{.x = g.input("x", {t, 8}, DType::f32), .groups = groups}));
  return only(findings_of(g));
}

TEST(WholeGroups, AreOneOfNoType) {
  for (const int64_t count : {0, 2, 64}) {
    const KeptFinding f = about(count);
    EXPECT_EQ(f.code, "E-GROUPS") << f.message;
    EXPECT_EQ(f.op, "all");
    EXPECT_EQ(f.field, "shape");
    EXPECT_EQ(f.got, std::to_string(count));
  }
  const KeptFinding typed = about(1, {.dtype = DType::i64});
  EXPECT_EQ(typed.code, "E-DTYPE");
  EXPECT_EQ(typed.field, "dtype");
  EXPECT_EQ(typed.got, "i64");
}

TEST(WholeGroups, OfANamedNumberAreRefused) {
  Builder g("whole");
  const Dim t = g.dynamic("T", 64);
  const auto koff = g.groups("all", t, GroupForm::whole);
  g.output("y", g.add(Combine{.y = g.input("x", {t, 8}, DType::f32),
                              .rev = g.index("rev", Dim(5)),
                              .koff = koff}));
  const KeptFinding f = only(findings_of(g));
  EXPECT_EQ(f.code, "E-GROUPS");
  EXPECT_EQ(f.got, "a named number");
}

TEST(WholeGroups, MoreExpertsThanOneAreAMistake) {
  Builder g("experts");
  const Dim t = g.dynamic("T", 64);
  g.output("y", g.add(GroupedGemm{.a = g.input("x", {t, 8}, DType::f32),
                                  .b = g.weights("w", {2, 8, 8}, DType::f32),
                                  .groups = g.groups("all", 1, GroupForm::whole)}));
  const KeptFinding f = only(findings_of(g));
  EXPECT_EQ(f.code, "E-GROUPS");
  EXPECT_EQ(f.wanted, "a multiple of 2");
}

// What T is follows from no promise: a fixed one that has no whole blocks is told early.
TEST(WholeGroups, AHadamardOfAFixedNumberOfRows) {
  for (const int64_t rows : {32, 40}) {
    Builder g("turned");
    const auto all = g.groups("all", 1, GroupForm::whole);
    const Value x = g.add(Load{.x = g.input("x", {rows, 8}, DType::f32), .groups = all});
    g.output("y", x.then(Hadamard{.axis = Axes::col}));
    const Result<Graph> graph = std::move(g).finish();
    EXPECT_EQ(static_cast<bool>(graph), rows == 32);
    if (graph) continue;
    const KeptFinding f = only(graph.findings());
    EXPECT_EQ(f.code, "E-SHAPE");
    EXPECT_EQ(f.op, "hadamard");
  }
}

// JSON refers to inputs by name, so names are apart where no tensor has them, too.
TEST(GroupNames, AreTheirOwnWithoutATensorOfThatName) {
  for (const GroupForm form : {GroupForm::whole, GroupForm::slots, GroupForm::ends}) {
    for (const bool is_output : {false, true}) {
      SCOPED_TRACE(std::string(name(form)));
      Builder g("names");
      const Dim t = g.dynamic("T", 64);
      const auto groups = g.groups("x", 1, form);
      const auto x = g.input(is_output ? "in" : "x", {t, 8}, DType::f32);
      g.output(is_output ? "x" : "y", g.add(Load{.x = x, .groups = groups}));
      const KeptFinding f = only(findings_of(g));
      EXPECT_EQ(f.code, "E-NAME");
      EXPECT_EQ(f.op, "x");
    }
  }
}

TEST(GroupNames, TwoOfTheSameAreOneMistake) {
  for (const GroupForm form : {GroupForm::whole, GroupForm::slots}) {
    Builder g("twins");
    const Dim t = g.dynamic("T", 64);
    const auto x = g.input("in", {t, 8}, DType::f32);
    g.output("y", g.add(Load{.x = x, .groups = g.groups("x", 1, form)}));
    g.output("z", g.add(Load{.x = x, .groups = g.groups("x", 1, form)}));
    EXPECT_EQ(only(findings_of(g)).code, "E-NAME") << name(form);
  }
}

// ---- columns that were quantised without groups

enum class Reader : uint8_t { wgrad, load };

std::string read_by(Reader reader, GroupForm form, ScaleLayout layout, ColStorage storage) {
  Builder g("columns");
  const Dim t = g.dynamic("T", 64);
  const Quantized q = g.add(Load{.x = g.input("x", {t, 64}, DType::f32)})
                          .then(Quantize{.to = Format::mxfp8_e4m3,
                                         .axes = Axes::col,
                                         .col_layout = layout,
                                         .col_storage = storage});
  const auto groups = g.groups("all", form == GroupForm::whole ? 1 : 2, form);
  if (reader == Reader::load) {
    g.output("y", g.add(Load{.x = q.col, .groups = groups}));
  } else {
    g.output("y", g.add(GroupedWgrad{.a = q.col, .b = q.col, .groups = groups}));
  }
  const Result<Graph> graph = std::move(g).finish();
  return graph ? "" : codes(graph.findings());
}

TEST(ColumnsWithoutGroups, AreReadByOneGroupOnly) {
  for (const Reader r : {Reader::wgrad, Reader::load}) {
    const std::string refused = r == Reader::wgrad ? "E-GROUPS E-GROUPS" : "E-GROUPS";
    for (const ColStorage storage : {ColStorage::as_rows, ColStorage::ragged}) {
      EXPECT_EQ(read_by(r, GroupForm::ends, ScaleLayout::per_group, storage), refused);
      EXPECT_EQ(read_by(r, GroupForm::whole, ScaleLayout::per_group, storage), "");
      EXPECT_EQ(read_by(r, GroupForm::whole, ScaleLayout::global, storage), "");
    }
    EXPECT_EQ(read_by(r, GroupForm::ends, ScaleLayout::global, ColStorage::as_rows), "");
    EXPECT_EQ(read_by(r, GroupForm::ends, ScaleLayout::global, ColStorage::ragged), refused);
  }
}

}  // namespace
}  // namespace cohort::test
