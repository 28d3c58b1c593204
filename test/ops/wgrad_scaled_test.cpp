// Gradients of weights from quantised operands, and what is refused.
#include <cmath>
#include <functional>
#include <limits>

#include "fixtures/findings.h"
#include "ops/wgrad_case.h"

namespace cohort::test {
namespace {

// Two matrices quantised along tokens in the graph, their gradient, and the same gradient from what
// the codes and scales mean: every product and sum here is exact in f64.
struct Pair {
  Quantize to{.to = Format::mxfp8_e4m3, .axes = Axes::col};
  int64_t rows = 168;
  std::vector<Range> ranges = consecutive({44, 13, 0, 111});

  void check() const {
    Builder g("pair");
    const auto groups = g.groups("g", static_cast<int64_t>(ranges.size()), GroupForm::ends);
    const auto quantised = [&](const char* name, int64_t features) {
      return g.add(Load{.x = g.input(name, {rows, features}, DType::f32), .groups = groups})
          .then(to)
          .col;
    };
    const ScaledTensor a = quantised("a", 40);
    const ScaledTensor b = quantised("b", 136);
    g.output("dw", g.add(GroupedWgrad{.a = a, .b = b, .groups = groups}));
    g.output("plain", g.add(GroupedWgrad{.a = g.add(Load{.x = a, .groups = groups}),
                                         .b = g.add(Load{.x = b, .groups = groups}),
                                         .groups = groups}));
    Bench bench(finish(g));
    put_groups(bench.tensors, "g", GroupForm::ends, DType::i32, ranges);
    std::mt19937 random(11);
    std::normal_distribution<float> normal;
    for (const char* name : {"a", "b"}) {
      auto x = bench.tensors.values<float>(name);
      for (float& v : x) v = normal(random);
      bench.tensors.set(name, x);
    }
    bench.run_well();
    const auto dw = bench.tensors.values<float>("dw");
    expect_same_bits(dw, bench.tensors.values<float>("plain"));
    // Close to the gradient of the numbers themselves: otherwise both could be wrong together.
    const auto xa = bench.tensors.values<float>("a");
    const auto xb = bench.tensors.values<float>("b");
    double sum = 0;
    for (int64_t r = 57; r < 168; ++r) {
      sum += static_cast<double>(xa[static_cast<size_t>(r * 40 + 7)]) *
             static_cast<double>(xb[static_cast<size_t>(r * 136 + 130)]);
    }
    EXPECT_NEAR(static_cast<double>(dw[(3 * 40 + 7) * 136 + 130]), sum,
                *to.to == Format::nvfp4 || *to.to == Format::mxfp4 ? 6 : 1.5);
  }
};

// TE#2966, torchtitan#2262: groups of 44 and 13 rows, whose last blocks are short.
TEST(WgradScaled, Mxfp8OfAnyNumberOfRows) {
  Pair p;
  p.check();
  p.to.to = Format::mxfp8_e5m2;
  p.to.col_storage = ColStorage::transposed;
  p.check();
}

TEST(WgradScaled, GlobalScales) {
  const Quantize to{.to = Format::mxfp8_e4m3, .axes = Axes::col, .col_layout = ScaleLayout::global};
  const std::vector<Range> ranges = consecutive({32, 0, 64, 64});
  Builder g("global");
  const auto groups = g.groups("g", 4, GroupForm::ends, {.row_alignment = 32});
  const auto q = g.add(Load{.x = g.input("a", {160, 8}, DType::f32), .groups = groups}).then(to);
  g.output("dw", g.add(GroupedWgrad{.a = q.col, .b = q.col, .groups = groups}));
  Bench bench(finish(g));
  put_groups(bench.tensors, "g", GroupForm::ends, DType::i32, ranges);
  // Powers of two are exact in any block, and each block has a scale of its own.
  const auto number = [](int64_t r) { return static_cast<float>(1 << (r % 5 + 2 * (r / 32))); };
  std::vector<float> a;
  for (int64_t i = 0; i < 160 * 8; ++i) a.push_back(number(i / 8));
  bench.tensors.set("a", a);
  bench.run_well();
  const auto dw = bench.tensors.values<float>("dw");
  size_t at = 0;
  for (const Range& range : ranges) {
    float sum = 0;
    for (int64_t r = range.begin; r < range.begin + range.rows; ++r) {
      sum += number(r) * number(r);
    }
    for (int k = 0; k < 64; ++k) EXPECT_EQ(dw[at++], sum);
  }
}

// Blocks of layout global lie at fixed rows: groups that share one are refused when they are read,
// be the tensor loaded, multiplied or made.
TEST(WgradScaled, GroupsThatShareAGlobalBlockAreRefused) {
  const auto ran = [](int use, const std::vector<Range>& ranges) {
    Builder g("global");
    const auto groups = g.groups("g", 2, GroupForm::slots, {.row_alignment = use == 2 ? 32 : 1});
    const ScaledOptions global{.layout = ScaleLayout::global, .axis = Axes::col};
    if (use == 2) {
      const auto x = g.add(Load{.x = g.input("x", {128, 8}, DType::f32), .groups = groups});
      g.output("y", x.then(Quantize{.to = Format::mxfp8_e4m3,
                                    .axes = Axes::col,
                                    .col_layout = ScaleLayout::global})
                        .col);
    } else {
      const auto x = g.scaled_input("x", {128, 8}, Format::mxfp8_e4m3, global);
      if (use == 0) g.output("y", g.add(Load{.x = x, .groups = groups}));
      if (use == 1) g.output("y", g.add(GroupedWgrad{.a = x, .b = x, .groups = groups}));
    }
    Bench bench(finish(g));
    put_groups(bench.tensors, "g", GroupForm::slots, DType::i32, ranges);
    return bench.run();
  };
  for (int use = 0; use < 3; ++use) {
    SCOPED_TRACE(use);
    EXPECT_TRUE(ran(use, {{32, 32}, {96, 32}}));
    EXPECT_TRUE(ran(use, {{20, 0}, {64, 64}})) << "an empty group has no block";
    const Status status = ran(use, {{0, 32}, {52, 32}});
    const KeptFinding f = only(status.findings());
    EXPECT_EQ(f.code, "E-GROUPS");
    EXPECT_EQ(f.op, "g");
    EXPECT_TRUE(has(f.wanted, "a multiple of 32")) << f.wanted;
    EXPECT_EQ(f.got, "52");
  }
}

TEST(WgradScaled, Mxfp4AndNvfp4) {
  for (const Format format : {Format::mxfp4, Format::nvfp4}) {
    Pair p;
    p.to.to = format;
    p.check();
  }
}

// Outer scales of nvfp4 multiply after alpha.
TEST(WgradScaled, GlobalScalesOfExperts) {
  Builder g("outer");
  const auto groups = g.groups("g", 2, GroupForm::ends);
  const auto a = g.input("a", {3, 1}, DType::f32);
  g.output("dw", g.add(GroupedWgrad{.a = a,
                                    .b = a,
                                    .groups = groups,
                                    .alpha = g.group_input("alpha", 2),
                                    .global_scale_a = g.group_input("sa", 2),
                                    .global_scale_b = g.group_input("sb", 2, DType::bf16)}));
  Bench bench(finish(g));
  bench.tensors.set<int32_t>("g", {1, 3});
  bench.tensors.set<float>("a", {1, 2, 3});
  bench.tensors.set<float>("alpha", {3e38f, 0.5f});
  bench.tensors.set<float>("sa", {2, 4});
  bench.tensors.set<uint16_t>("sb", {0x3F00, 0x4040});  // 0.5, 3
  bench.run_well();
  // 3e38 * 2 overflows before the 0.5 comes: the order is alpha, a, b.
  expect_same_bits(bench.tensors.values<float>("dw"),
                   {std::numeric_limits<float>::infinity(), 13 * 0.5f * 4 * 3});
}

// Rows of a gathered operand bring the scales of their source rows.
TEST(WgradScaled, GatheredRowsBringTheirScales) {
  Builder g("gathered");
  const auto groups = g.groups("g", 2, GroupForm::ends);
  const auto q =
      g.add(Load{.x = g.input("x", {5, 40}, DType::f32)}).then(Quantize{.to = Format::mxfp8_e4m3});
  const auto d = g.add(Load{.x = g.input("d", {12, 64}, DType::f32), .groups = groups})
                     .then(Quantize{.to = Format::mxfp8_e4m3, .axes = Axes::col});
  const auto tok = g.index("tok", 12);
  g.output("dw", g.add(GroupedWgrad{.a = d.col, .b = q.row, .groups = groups, .gather_b = tok}));
  g.output("plain", g.add(GroupedWgrad{.a = g.add(Load{.x = d.col, .groups = groups}),
                                       .b = g.add(Load{.x = q.row}),
                                       .groups = groups,
                                       .gather_b = tok}));
  Bench bench(finish(g));
  bench.tensors.set<int32_t>("g", {5, 11});
  bench.tensors.set<int32_t>("tok", {4, 0, 3, 3, -1, 1, 2, 4, 0, 1, 2, 99});
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  for (const char* name : {"x", "d"}) {
    auto v = bench.tensors.values<float>(name);
    for (size_t k = 0; k < v.size(); ++k) {
      v[k] = std::ldexp(normal(random), static_cast<int>(k / 40 % 9));
    }
    bench.tensors.set(name, v);
  }
  bench.run_well();
  expect_same_bits(bench.tensors.values<float>("dw"), bench.tensors.values<float>("plain"));
}

struct Wrong {
  const char* what;
  std::function<GroupedWgrad(Builder&)> op;
  const char* code;
  const char* field;
  int dimension;
  const char* wanted;
  const char* got;
};

Groups two(Builder& g) { return g.groups("g", 2, GroupForm::ends); }
Tensor plain(Builder& g, const char* name, int64_t rows, int64_t features,
             DType type = DType::bf16) {
  return g.input(name, {rows, features}, type);
}

TEST(WgradScaled, Findings) {
  const Wrong all[] = {
      {"rows",
       [](Builder& g) {
         return GroupedWgrad{.a = plain(g, "a", 8, 4), .b = plain(g, "b", 9, 4), .groups = two(g)};
       },
       "E-SHAPE", "b", 0, "8", "9"},
      {"entries",
       [](Builder& g) {
         return GroupedWgrad{.a = plain(g, "a", 8, 4),
                             .b = plain(g, "b", 8, 4),
                             .groups = two(g),
                             .gather_b = g.index("i", 7)};
       },
       "E-SHAPE", "gather_b", 0, "8", "7"},
      {"types",
       [](Builder& g) {
         return GroupedWgrad{
             .a = plain(g, "a", 8, 4), .b = plain(g, "b", 8, 4, DType::f16), .groups = two(g)};
       },
       "E-DTYPE", "b", -1, "bf16", "f16"},
      {"rank",
       [](Builder& g) {
         return GroupedWgrad{
             .a = g.input("a", {8}, DType::bf16), .b = plain(g, "b", 8, 4), .groups = two(g)};
       },
       "E-RANK", "a", -1, "(T, I)", "[8]"},
      {"row blocks",
       [](Builder& g) {
         return GroupedWgrad{
             .a = g.scaled_input("a", {64, 32}, Format::mxfp8_e4m3),
             .b = g.scaled_input("b", {64, 32}, Format::mxfp8_e4m3, {.axis = Axes::col}),
             .groups = two(g)};
       },
       "E-LAYOUT", "a", -1, "column blocks (axis col)", "row blocks (axis row)"},
      {"gathered column blocks",
       [](Builder& g) {
         const ScaledOptions columns{.axis = Axes::col};
         return GroupedWgrad{.a = g.scaled_input("a", {64, 32}, Format::mxfp8_e4m3, columns),
                             .b = g.scaled_input("b", {64, 32}, Format::mxfp8_e4m3, columns),
                             .groups = two(g),
                             .gather_a = g.index("i", 64)};
       },
       "E-LAYOUT", "a", -1, "row blocks (axis row)", "column blocks (axis col)"},
      {"alpha",
       [](Builder& g) {
         return GroupedWgrad{.a = plain(g, "a", 8, 4),
                             .b = plain(g, "b", 8, 4),
                             .groups = two(g),
                             .alpha = g.group_input("alpha", 3)};
       },
       "E-SHAPE", "alpha", 0, "2", "3"},
      {"accumulate",
       [](Builder& g) {
         return GroupedWgrad{.a = plain(g, "a", 8, 4),
                             .b = plain(g, "b", 8, 6),
                             .groups = two(g),
                             .accumulate = g.weights("old", {2, 4, 5}, DType::f32)};
       },
       "E-SHAPE", "accumulate", 2, "6", "5"},
      {"scaled accumulate",
       [](Builder& g) {
         return GroupedWgrad{
             .a = plain(g, "a", 8, 32),
             .b = plain(g, "b", 8, 32),
             .groups = two(g),
             .accumulate = g.scaled_weights("old", {2, 32, 32}, Format::mxfp8_e4m3)};
       },
       "E-DTYPE", "accumulate", -1, "f32, f16 or bf16", "mxfp8_e4m3"},
      {"named number of groups",
       [](Builder& g) {
         return GroupedWgrad{.a = plain(g, "a", 8, 4),
                             .b = plain(g, "b", 8, 4),
                             .groups = g.groups("g", g.dynamic("G", 8), GroupForm::ends)};
       },
       "E-GROUPS", "groups", 0, "a number of groups", "G"}};
  for (const Wrong& w : all) {
    Builder g("wrong");
    g.output("dw", g.add(w.op(g)));
    const Result<Graph> graph = std::move(g).finish();
    ASSERT_FALSE(graph) << w.what;
    const auto f = only(graph.findings());
    EXPECT_EQ(f.op, "grouped_wgrad") << w.what;
    EXPECT_EQ(f.code, w.code) << w.what;
    EXPECT_EQ(f.field, w.field) << w.what;
    EXPECT_EQ(f.dimension, w.dimension) << w.what;
    EXPECT_EQ(f.wanted, w.wanted) << w.what;
    EXPECT_EQ(f.got, w.got) << w.what;
  }
}

// Types of one kind that do not go together are said as what they differ in.
TEST(WgradScaled, MessagesNameTheDifference) {
  const auto message = [](const auto& make) {
    Builder g("wrong");
    g.output("dw", g.add(make(g)));
    const Result<Graph> graph = std::move(g).finish();
    EXPECT_FALSE(graph);
    const Finding f = graph.findings()[0];
    return std::string(f.message) + "; " + std::string(f.hint);
  };
  const auto says = [](const std::string& text, std::initializer_list<const char*> words) {
    for (const char* w : words) EXPECT_NE(text.find(w), std::string::npos) << w << " in " << text;
  };
  says(message([](Builder& g) {
         return GroupedWgrad{
             .a = plain(g, "a", 8, 4), .b = plain(g, "b", 8, 4, DType::f16), .groups = two(g)};
       }),
       {"[bf16] and", "[f16]", "cast"});
  says(message([](Builder& g) {
         return GroupedWgrad{.a = g.scaled_input("a", {64, 32}, Format::fp8_tensor),
                             .b = g.scaled_input("b", {64, 32}, Format::fp8_row),
                             .groups = two(g)};
       }),
       {"[fp8_tensor] and", "[fp8_row]", "requantise"});
  says(message([](Builder& g) {
         return GroupedWgrad{
             .a = plain(g, "a", 8, 4), .b = plain(g, "b", 8, 4, DType::f32), .groups = two(g)};
       }),
       {"[f16 or bf16] and", "[f32]"});
  says(message([](Builder& g) {
         return GroupedWgrad{.a = plain(g, "a", 8, 4),
                             .b = plain(g, "b", 8, 4),
                             .groups = g.groups("g", g.dynamic("G", 8), GroupForm::ends)};
       }),
       {"only koff takes such"});
}

// All findings of one op at once.
TEST(WgradScaled, FindingsComeTogether) {
  Builder g("wrong");
  g.output("dw", g.add(GroupedWgrad{.a = plain(g, "a", 8, 4),
                                    .b = plain(g, "b", 9, 4, DType::f32),
                                    .groups = two(g),
                                    .alpha = g.group_input("alpha", 3),
                                    .accumulate = g.weights("old", {3, 4, 4}, DType::f32)}));
  EXPECT_EQ(codes(std::move(g).finish().findings()), "E-DTYPE E-SHAPE E-SHAPE E-SHAPE");
}

// What an output of gradients may not say.
TEST(WgradScaled, OutputFindings) {
  const auto finding = [](const OutputOptions& options) {
    Builder g("output");
    g.output(
        "dw",
        g.add(GroupedWgrad{.a = plain(g, "a", 8, 4), .b = plain(g, "b", 8, 4), .groups = two(g)}),
        options);
    return only(std::move(g).finish().findings());
  };
  EXPECT_EQ(finding({.tail = Tail::zero}).field, "tail");
  EXPECT_EQ(finding({.strides = {16, 4, 1}, .discrete = true}).field, "strides");
  EXPECT_EQ(finding({.dtype = DType::e4m3}).field, "dtype");
}

}  // namespace
}  // namespace cohort::test
