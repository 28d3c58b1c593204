// Groups of form whole: one group that has every row, and nothing that a run would bind or read.
// What comes out has the bits of the same graph with ends, which say T.
#include <functional>

#include "engine/gemm_case.h"
#include "fixtures/findings.h"

namespace cohort::test {
namespace {

constexpr int64_t kRows = 96, kN = 64, kK = 64;

/// Describes a graph over the rows of `t` and its groups.
using Describe = std::function<void(Builder&, Dim t, const Groups&)>;

Graph described(const Describe& describe, GroupForm form) {
  Builder g("whole");
  const Dim t = g.dynamic("T", 4096);
  // One group begins at 0 in either form; only ends have to promise what follows from their values.
  const int64_t multiple = form == GroupForm::whole ? 1 : 32;
  describe(g, t, g.groups("all", 1, form, {.row_alignment = multiple}));
  return finish(g);
}

// Numbers that each type holds; codes and scales of middling size.
void fill(Tensors& t, const Graph& graph, int64_t rows) {
  uint32_t seed = 1;
  for (int32_t i = 0; i < graph.tensor_count(); ++i) {
    const std::string name(graph.tensor_name(i));
    const TensorInfo& info = t.infos()[static_cast<size_t>(i)];
    if (info.is_output || name == "all") continue;
    std::mt19937 random(seed++);
    auto* bytes = t.data<uint8_t>(name);
    if (info.dtype == DType::f32) {
      const std::vector<float> x = whole_numbers(info.bytes / 4, seed);
      if (!x.empty()) std::memcpy(bytes, x.data(), x.size() * 4);
    } else if (info.dtype == DType::i32) {
      for (int64_t k = 0; k < info.bytes / 4; ++k) {
        const auto row = static_cast<int32_t>(random() % static_cast<uint32_t>(rows + 1));
        std::memcpy(bytes + 4 * k, &row, 4);
      }
    } else {
      const bool narrow = info.dtype == DType::e2m1;
      for (int64_t k = 0; k < info.bytes; ++k) {
        bytes[k] = static_cast<uint8_t>(narrow                      ? random()
                                        : info.dtype == DType::e8m0 ? 125 + random() % 4
                                                                    : 0x30 + random() % 16);
      }
    }
  }
}

void expect_same(const char* name, const Describe& describe) {
  SCOPED_TRACE(name);
  const Graph whole = described(describe, GroupForm::whole);
  const Graph ends = described(describe, GroupForm::ends);
  ASSERT_EQ(whole.tensor_index("all"), -1);
  ASSERT_GE(ends.tensor_index("all"), 0);
  for (const int64_t rows : {kRows, int64_t{0}}) {
    SCOPED_TRACE(rows);
    Bench a(whole, {{"T", rows}});
    Bench b(ends, {{"T", rows}});
    fill(a.tensors, whole, rows - 1);
    fill(b.tensors, ends, rows - 1);
    b.tensors.set<int32_t>("all", {static_cast<int32_t>(rows)});
    a.run_well();
    b.run_well();
    int written = 0;
    for (int32_t i = 0; i < whole.tensor_count(); ++i) {
      if (!a.tensors.infos()[static_cast<size_t>(i)].is_output) continue;
      const std::string output(whole.tensor_name(i));
      const std::vector<uint8_t> got = a.tensors.raw(output);
      EXPECT_EQ(got, b.tensors.raw(output)) << output;
      if (std::any_of(got.begin(), got.end(), [](uint8_t x) { return x != kPoison; })) ++written;
    }
    if (rows > 0) {
      EXPECT_GT(written, 0);
    }
  }
}

Value loaded(Builder& g, Dim t, const Groups& all) {
  return g.add(Load{.x = g.input("x", {t, kN}, DType::f32), .groups = all});
}

TEST(WholeGroup, QuantisesInEveryLayout) {
  using enum ScaleLayout;
  for (const Format format : {Format::mxfp8_e4m3, Format::nvfp4}) {
    for (const ScaleLayout layout : {tiled_128x4, linear, shifted_128, padded_128}) {
      expect_same(std::string(name(layout)).c_str(), [=](Builder& g, Dim t, const Groups& all) {
        g.output("q", loaded(g, t, all).then(Quantize{.to = format, .row_layout = layout}).row);
      });
    }
    for (const ScaleLayout layout : {per_group, global}) {
      for (const ColStorage storage :
           {ColStorage::as_rows, ColStorage::transposed, ColStorage::ragged}) {
        expect_same(std::string(name(layout)).c_str(), [=](Builder& g, Dim t, const Groups& all) {
          const Quantize q{
              .to = format, .axes = Axes::col, .col_layout = layout, .col_storage = storage};
          g.output("q", loaded(g, t, all).then(q).col, {.tail = Tail::zero});
        });
      }
    }
  }
}

TEST(WholeGroup, LoadsEveryLayout) {
  using enum ScaleLayout;
  const auto load = [](Format format, const ScaledOptions& options) {
    return [=](Builder& g, Dim t, const Groups& all) {
      g.output("y", g.add(Load{.x = g.scaled_input("x", {t, kN}, format, options), .groups = all}));
    };
  };
  for (const ScaleLayout layout : {tiled_128x4, linear, shifted_128, padded_128}) {
    expect_same("rows", load(Format::mxfp8_e4m3, {.layout = layout}));
    expect_same("rows of pairs", load(Format::nvfp4, {.layout = layout}));
  }
  for (const ScaleLayout layout : {per_group, global}) {
    for (const ColStorage storage : {ColStorage::transposed, ColStorage::ragged}) {
      const ScaledOptions columns{.layout = layout, .axis = Axes::col, .storage = storage};
      expect_same("columns", load(Format::mxfp8_e5m2, columns));
      expect_same("columns of pairs", load(Format::nvfp4, columns));
    }
  }
  for (const Format format : {Format::fp8_tensor, Format::fp8_row, Format::fp8_block128}) {
    expect_same("factors", load(format, {}));
  }
}

TEST(WholeGroup, OpsThatAskForTheGroupOfARow) {
  expect_same("factors, sums and maxima", [](Builder& g, Dim t, const Groups& all) {
    const Value y = loaded(g, t, all)
                        .then(Binary{.mode = BinaryMode::mul, .by = g.group_input("factor", 1)})
                        .then(Bias{.by = g.group_matrix("bias", {1, kN})});
    g.output("y", y);
    g.output("amax", y.then(Amax{.per = AmaxPer::expert}));
    g.output("halves", y.then(Amax{.per = AmaxPer::expert_half, .packing = Packing::interleaved}));
    g.output("sums", y.then(DBias{.scaled_by = g.row_input("p", t)}));
    g.output("turned", y.then(Hadamard{.axis = Axes::col}));
  });
  expect_same("alpha behind a product", [](Builder& g, Dim t, const Groups& all) {
    const GroupedGemm op{.a = g.input("a", {128, kK}, DType::f32),
                         .b = g.weights("w", {1, kN, kK}, DType::f32),
                         .groups = all,
                         .gather = g.index("gather", t)};
    g.output("y", g.add(op).then(Alpha{.by = g.group_input("alpha", 1), .power = 2}));
  });
  expect_same("gradients of weights", [](Builder& g, Dim t, const Groups& all) {
    const auto factor = g.group_input("factor", 1);
    g.output("dw", g.add(GroupedWgrad{.a = g.input("a", {t, 48}, DType::f32),
                                      .b = g.input("b", {128, 40}, DType::f32),
                                      .groups = all,
                                      .gather_b = g.index("rows", t),
                                      .alpha = factor,
                                      .global_scale_a = factor,
                                      .accumulate = g.weights("old", {1, 48, 40}, DType::f32)}));
  });
  expect_same("gradient of combine", [](Builder& g, Dim t, const Groups& all) {
    const DCombine op{.d_out = g.input("d_out", {128, kN}, DType::f32),
                      .scat = g.index("scat", t),
                      .top_k = 1,
                      .groups = all};
    g.output("y", g.add(op).then(DBias{}));
  });
}

// As koff it says that one token has every entry.
TEST(WholeGroup, EveryEntryIsOfOneToken) {
  expect_same("combine", [](Builder& g, Dim t, const Groups& all) {
    g.output("o", g.add(Combine{.y = g.input("y", {128, kN}, DType::f32),
                                .rev = g.index("rev", t),
                                .weights = g.input("w", {t}, DType::f32),
                                .koff = all}));
  });
}

// Blocks of layout global begin at row 0, whatever T is: one group needs no promise.
TEST(WholeGroup, GlobalScalesOfAnyNumberOfRows) {
  const auto quantised = [](ScaleLayout layout) {
    Builder g("global");
    const Dim t = g.dynamic("T", 4096);
    const auto all = g.groups("all", 1, GroupForm::whole);
    const Quantize q{.to = Format::mxfp8_e4m3, .axes = Axes::col, .col_layout = layout};
    g.output("q", loaded(g, t, all).then(q).col);
    Bench b(finish(g), {{"T", 37}});
    b.tensors.set("x", whole_numbers(37 * kN, 4));
    b.run_well();
    return b.tensors.raw("q.scale");
  };
  const std::vector<uint8_t> global = quantised(ScaleLayout::global);
  std::vector<uint8_t> one = quantised(ScaleLayout::per_group);
  ASSERT_EQ(global.size(), 512u);
  one.resize(global.size());
  EXPECT_EQ(global, one);
}

// One matrix over all rows is the same whoever asks: columns that were made without groups are read
// by groups that begin at blocks.
TEST(GlobalColumns, OfNoGroupsAreReadByGroups) {
  const auto gradient = [](bool grouped) {
    Builder g("global");
    const auto ends = g.groups("ends", 3, GroupForm::ends, {.row_alignment = 32});
    Maybe<Groups> made;
    if (grouped) made = ends;
    const Quantized q =
        g.add(Load{.x = g.input("x", {128, kN}, DType::f32), .groups = made})
            .then(Quantize{
                .to = Format::mxfp8_e4m3, .axes = Axes::col, .col_layout = ScaleLayout::global});
    g.output("dw", g.add(GroupedWgrad{.a = q.col, .b = q.col, .groups = ends}));
    Bench b(finish(g));
    b.tensors.set("x", whole_numbers(128 * kN, 4));
    b.tensors.set<int32_t>("ends", {32, 32, 128});
    b.run_well();
    return b.tensors.values<float>("dw");
  };
  const std::vector<float> dw = gradient(false);
  EXPECT_NE(dw[0], 0.0f);
  expect_same_bits(dw, gradient(true));
}

// main_grad: the matrix that is added to is where the gradient goes.
TEST(WholeGroup, GradientsAreAddedInPlace) {
  for (const bool discrete : {false, true}) {
    Builder g("in_place");
    const Dim t = g.dynamic("T", 4096);
    GroupedWgrad op{.a = g.input("a", {t, 6}, DType::f32),
                    .b = g.input("b", {t, 5}, DType::f32),
                    .groups = g.groups("all", 1, GroupForm::whole)};
    if (discrete) {
      op.accumulate = g.weight_pointers("old", {1, 6, 5}, DType::f32);
    } else {
      op.accumulate = g.weights("old", {1, 6, 5}, DType::f32);
    }
    g.output("dw", g.add(op), {.discrete = discrete});
    const Graph graph = finish(g);
    for (const int64_t rows : {0, 7}) {
      Bench bench(graph, {{"T", rows}});
      const std::vector<float> a = whole_numbers(rows * 6, 1);
      const std::vector<float> b = whole_numbers(rows * 5, 2);
      const std::vector<float> old = whole_numbers(30, 3);
      std::vector<float> memory = old;
      bench.tensors.set("a", a);
      bench.tensors.set("b", b);
      if (discrete) {
        const auto at = static_cast<int64_t>(reinterpret_cast<uintptr_t>(memory.data()));
        bench.tensors.set<int64_t>("old", {at});
        bench.tensors.set<int64_t>("dw", {at});
      } else {
        bench.tensors.set("old", old);
        bench.tensors.view("dw").data = bench.tensors.view("old").data;
      }
      bench.run_well();
      const std::vector<float> got = discrete ? memory : bench.tensors.values<float>("old");
      for (size_t i = 0; i < 30; ++i) {
        float want = old[i];
        for (size_t r = 0; r < static_cast<size_t>(rows); ++r) {
          want += a[r * 6 + i / 5] * b[r * 5 + i % 5];
        }
        ASSERT_EQ(got[i], want) << i;
      }
    }
  }
}

TEST(WholeGroup, BindsNothing) {
  const Graph graph =
      described([](Builder& g, Dim t, const Groups& all) { g.output("y", loaded(g, t, all)); },
                GroupForm::whole);
  EXPECT_EQ(graph.tensor_count(), 2);
  Bench bench(graph, {{"T", 3}});
  int32_t offsets = 3;
  std::vector<NamedTensor> tensors = bench.tensors.all();
  tensors.push_back({"all", TensorView::packed(&offsets, DType::i32, {1})});
  const Result<Execution> e = bench.plan.bind(graph, {{"T", 3}}, tensors);
  const KeptFinding f = only(e.findings());
  EXPECT_EQ(f.code, "E-TENSOR");
  EXPECT_EQ(f.op, "all");
  EXPECT_EQ(f.wanted, "a tensor of the graph");
}

TEST(WholeGroup, ItsPromiseIsLookedAt) {
  Builder g("promise");
  const Dim t = g.dynamic("T", 4096);
  const auto all = g.groups("all", 1, GroupForm::whole, {.row_alignment = 32});
  g.output("y", loaded(g, t, all));
  const Graph graph = finish(g);
  EXPECT_EQ(make_plan(graph, Device::cpu())->required_group_alignment(), 32);
  Bench good(graph, {{"T", 64}});
  good.tensors.fill("x", 0);
  good.run_well();
  Bench bad(graph, {{"T", 40}});
  bad.tensors.fill("x", 0);
  const Status status = bad.run();
  const KeptFinding f = only(status.findings());
  EXPECT_EQ(f.code, "E-GROUPS");
  EXPECT_EQ(f.op, "all");
  EXPECT_EQ(f.wanted, "a multiple of 32 rows");
  EXPECT_EQ(f.got, "40");
}

}  // namespace
}  // namespace cohort::test
