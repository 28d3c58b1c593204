// Gradients of weights: values by hand and by the definition, and what must not reach them.
#include <cstring>
#include <limits>
#include <numeric>

#include <cohort/numerics.h>

#include "fixtures/findings.h"
#include "ops/wgrad_case.h"

namespace cohort::test {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

TEST(GroupedWgrad, ByHand) {
  WgradCase c;
  c.rows = c.source_a = c.source_b = 4;
  c.i = 2;
  c.j = 3;
  c.ranges = consecutive({2, 0, 2});
  c.a = {1, 2, 3, 4, 5, 6, 7, 8};
  c.b = {1, 0, -1, 2, 1, 0, 3, 2, 1, -1, 4, 10};
  // Group 0: rows 0 and 1: [1 2]^T [1 0 -1] + [3 4]^T [2 1 0].
  // Group 2: rows 2 and 3: [5 6]^T [3 2 1] + [7 8]^T [-1 4 10].
  expect_same_bits(c.run(), {7, 3, -1, 10, 4, -2, 0, 0, 0, 0, 0, 0, 8, 38, 75, 10, 44, 86});
  c.alpha = std::vector<float>{0.5f, kNaN, -2};
  expect_same_bits(c.run(),
                   {3.5f, 1.5f, -0.5f, 5, 2, -1, 0, 0, 0, 0, 0, 0, -16, -76, -150, -20, -88, -172});
  c.old = std::vector<float>(18, 100);
  (*c.old)[6] = -0.0f;
  expect_same_bits(c.run(), {103.5f, 101.5f, 99.5f, 105, 102, 99, -0.0f, 100, 100, 100, 100, 100,
                             84, 24, -50, 80, 12, -72});
}

TEST(GroupedWgrad, EveryFormOfGroups) {
  for (const GroupForm form : {GroupForm::starts, GroupForm::ends, GroupForm::boundaries,
                               GroupForm::counts, GroupForm::slots}) {
    WgradCase c;
    c.form = form;
    expect_same_bits(c.run(), c.expected());
    c.ranges = consecutive({0, 0, 21, 0, 19, 0});
    if (form == GroupForm::starts) c.ranges.back() = {40, 0};
    expect_same_bits(c.run(), c.expected());
  }
}

TEST(GroupedWgrad, LargerThanATile) {
  WgradCase c;
  c.rows = c.source_a = c.source_b = 600;
  c.i = 200;
  c.j = 300;
  c.ranges = consecutive({13, 520, 67});
  c.a = whole_numbers(c.rows * c.i, 3);
  c.b = whole_numbers(c.rows * c.j, 4);
  const std::vector<float> one = c.run({.sm_limit = 1});
  expect_same_bits(one, c.expected());
  // Numbers whose sums do round: threads do not change them.
  for (float& x : c.a) x *= 0.1f;
  expect_same_bits(c.run({.sm_limit = 1}), c.run());
}

TEST(GroupedWgrad, GatherOnEitherOperand) {
  WgradCase c;
  c.source_a = 5;
  c.a = whole_numbers(c.source_a * c.i, 7);
  std::vector<int32_t> tok(static_cast<size_t>(c.rows));
  for (size_t r = 0; r < tok.size(); ++r) tok[r] = static_cast<int32_t>((r * 3 + 1) % 5);
  c.gather_a = tok;
  expect_same_bits(c.run(), c.expected());
  c.source_b = 64;
  c.b = whole_numbers(c.source_b * c.j, 8);
  std::vector<int32_t> other(static_cast<size_t>(c.rows));
  for (size_t r = 0; r < other.size(); ++r) other[r] = static_cast<int32_t>(63 - r);
  c.gather_b = other;
  expect_same_bits(c.run(), c.expected());
  // -1: the row counts for nothing, on either side; group 0 then has no row at all.
  for (size_t r = 0; r < 7; ++r) (*c.gather_a)[r] = -1;
  (*c.gather_b)[9] = -1;
  c.alpha = std::vector<float>{kNaN, 2, 3};
  const std::vector<float> dw = c.run();
  expect_same_bits(dw, c.expected());
  EXPECT_EQ(dw[0], 0);
}

TEST(GroupedWgrad, BadEntriesAreFindings) {
  for (const int32_t bad : {-2, 5}) {
    WgradCase c;
    c.source_a = 5;
    c.a = whole_numbers(c.source_a * c.i, 7);
    c.gather_a = std::vector<int32_t>(static_cast<size_t>(c.rows), 0);
    (*c.gather_a)[11] = bad;
    Bench bench(c.graph(), {{"T", c.rows}});
    c.fill(bench.tensors);
    const Status s = bench.run();
    ASSERT_FALSE(s);
    const auto f = only(s.findings());
    EXPECT_EQ(f.code, "E-INDEX");
    EXPECT_EQ(f.op, "gather_a");
    EXPECT_EQ(f.wanted, "-1 .. 4");
    EXPECT_EQ(f.got, std::to_string(bad));
  }
}

// quack#189: slots of 128 rows, what is behind the used ones is NaN.
TEST(GroupedWgrad, SlotsWithNotANumberBehindThem) {
  WgradCase c;
  c.rows = c.source_a = c.source_b = 512;
  c.form = GroupForm::slots;
  c.ranges = {{0, 5}, {128, 128}, {256, 0}, {384, 77}};
  c.a = whole_numbers(c.rows * c.i, 3);
  c.b = whole_numbers(c.rows * c.j, 4);
  const std::vector<float> wanted = c.expected();
  for (int64_t r = 0; r < c.rows; ++r) {
    const Range& slot = c.ranges[static_cast<size_t>(r / 128)];
    if (r < slot.begin + slot.rows) continue;
    std::fill_n(c.a.begin() + r * c.i, c.i, kNaN);
    std::fill_n(c.b.begin() + r * c.j, c.j, kNaN);
  }
  const std::vector<float> dw = c.run();
  expect_same_bits(dw, wanted);
  for (int64_t k = 2 * c.i * c.j; k < 3 * c.i * c.j; ++k) EXPECT_EQ(dw[static_cast<size_t>(k)], 0);
}

// MSLK#158: 512 rows over 30 of 256 experts, or over none; the output begins as NaN.
TEST(GroupedWgrad, MostGroupsEmptyOrAll) {
  WgradCase c;
  c.rows = c.source_a = c.source_b = 512;
  c.i = c.j = 16;
  std::vector<int64_t> sizes(256, 0);
  for (size_t k = 0; k < 30; ++k) sizes[k * 83 % 256] = k < 2 ? 32 : 16;
  ASSERT_EQ(std::accumulate(sizes.begin(), sizes.end(), int64_t{0}), 512);
  c.ranges = consecutive(sizes);
  c.a = whole_numbers(c.rows * c.i, 3);
  c.b = whole_numbers(c.rows * c.j, 4);
  for (const bool all_empty : {false, true}) {
    if (all_empty) c.ranges = consecutive(std::vector<int64_t>(256, 0));
    Bench bench(c.graph(), {{"T", c.rows}});
    c.fill(bench.tensors);
    bench.tensors.fill("dw", 0xFF);
    bench.run_well();
    const auto dw = bench.tensors.values<float>("dw");
    expect_same_bits(dw, c.expected());
    int64_t zero_groups = 0;
    for (size_t g = 0; g < 256; ++g) {
      const auto at = dw.begin() + static_cast<int64_t>(g) * 256;
      zero_groups += std::all_of(at, at + 256, [](float x) { return x == 0; }) ? 1 : 0;
    }
    EXPECT_EQ(zero_groups, all_empty ? 256 : 226);
  }
}

// pytorch#172439: counts {162, 0, 2577, 446, 0, 83}, 2048 x 768, bf16, into memory that holds NaN.
// Elements are a number of the row plus one of the feature, so the sums of a group follow from a
// few sums over its rows; all are whole and below 2^24.
TEST(GroupedWgrad, EmptyGroupsBetweenLargeOnes) {
  WgradCase c;
  c.in = DType::bf16;
  c.ranges = consecutive({162, 0, 2577, 446, 0, 83});
  c.form = GroupForm::counts;
  c.rows = c.source_a = c.source_b = 3268;
  c.i = 2048;
  c.j = 768;
  const std::vector<float> u = whole_numbers(c.rows, 3), v = whole_numbers(c.rows, 4);
  const std::vector<float> p = whole_numbers(c.i, 5), q = whole_numbers(c.j, 6);
  const auto plus = [](const std::vector<float>& of_row, const std::vector<float>& of_feature) {
    std::vector<float> sum;
    sum.reserve(of_row.size() * of_feature.size());
    for (const float r : of_row) {
      for (const float f : of_feature) sum.push_back(r + f);
    }
    return sum;
  };
  c.a = plus(u, p);
  c.b = plus(v, q);
  Bench bench(c.graph(), {{"T", c.rows}});
  c.fill(bench.tensors);
  bench.tensors.fill("dw", 0xFF);
  bench.run_well();
  const auto dw = bench.tensors.values<float>("dw");
  std::vector<float> wanted;
  wanted.reserve(dw.size());
  for (const Range& range : c.ranges) {
    float of_u = 0, of_v = 0, of_uv = 0;
    for (int64_t r = range.begin; r < range.begin + range.rows; ++r) {
      const auto k = static_cast<size_t>(r);
      of_u += u[k];
      of_v += v[k];
      of_uv += u[k] * v[k];
    }
    for (const float m : p) {
      for (const float n : q) {
        wanted.push_back(of_uv + of_u * n + of_v * m + static_cast<float>(range.rows) * m * n);
      }
    }
  }
  expect_same_bits(dw, wanted);
  for (const int64_t empty : {1, 4}) {
    const auto first = dw.begin() + empty * c.i * c.j;
    EXPECT_TRUE(std::all_of(first, first + c.i * c.j, [](float f) { return f == 0; })) << empty;
  }
}

// Transformer Engine calls with 0 rows and strides (16, 1): zeros, or the old content.
TEST(GroupedWgrad, NoRows) {
  for (const bool accumulates : {false, true}) {
    Builder g("none");
    const Dim t = g.dynamic("T", 1024);
    const Strides strides{16, 1};
    GroupedWgrad op{.a = g.input("a", {t, 8}, DType::bf16, {.strides = strides}),
                    .b = g.input("b", {t, 16}, DType::bf16, {.strides = strides}),
                    .groups = g.groups("g", 4, GroupForm::ends)};
    if (accumulates) op.accumulate = g.weights("old", {4, 8, 16}, DType::bf16);
    g.output("dw", g.add(op), {.dtype = DType::bf16});
    Bench bench(finish(g), {{"T", 0}});
    bench.tensors.set("g", std::vector<int32_t>(4, 0));
    std::vector<uint16_t> old(512);
    for (size_t k = 0; k < old.size(); ++k) old[k] = static_cast<uint16_t>(k * 37 % 0x7F80);
    if (accumulates) bench.tensors.set("old", old);
    bench.run_well();
    EXPECT_EQ(bench.tensors.values<uint16_t>("dw"),
              accumulates ? old : std::vector<uint16_t>(512, 0));
  }
}

TEST(GroupedWgrad, NoFeatures) {
  WgradCase c;
  c.j = 0;
  c.b.clear();
  EXPECT_TRUE(c.run().empty());
}

// The step of bf16 above 1 is 2^-7. 1 + 2^-9 + 2^-9 lies midway and goes to even, 1; rounded before
// the addition, 1 + 2^-9 + 2^-8 would do so too, but it lies nearer to 1 + 2^-7.
TEST(GroupedWgrad, AccumulationRoundsOnce) {
  WgradCase c;
  c.rows = c.source_a = c.source_b = 1;
  c.i = 1;
  c.j = 2;
  c.ranges = consecutive({1});
  c.a = {1};
  c.b = {1 + 0x1p-9f, 1 + 0x1p-9f};
  c.old = std::vector<float>{0x1p-9f, 0x1p-8f};
  Bench bench(c.graph(DType::bf16), {{"T", 1}});
  c.fill(bench.tensors);
  bench.run_well();
  EXPECT_EQ(bench.tensors.values<uint16_t>("dw"), (std::vector<uint16_t>{0x3F80, 0x3F81}));
}

TEST(GroupedWgrad, AccumulatesInPlace) {
  WgradCase c;
  c.ranges = consecutive({7, 0, 33});
  c.old = whole_numbers(3 * c.i * c.j, 9);
  Bench bench(c.graph(), {{"T", c.rows}});
  c.fill(bench.tensors);
  bench.tensors.view("dw").data = bench.tensors.view("old").data;
  const std::vector<NamedTensor> all = bench.tensors.all();
  Result<Execution> e = bench.plan.bind(bench.graph, {{"T", c.rows}}, all);
  ASSERT_TRUE(e) << e.findings().text();
  Workspace workspace(e->workspace_bytes());
  ASSERT_TRUE(e->run(workspace.data()));
  expect_same_bits(bench.tensors.values<float>("old"), c.expected());
}

TEST(GroupedWgrad, OtherOverlapsAreFindings) {
  WgradCase c;
  c.old = whole_numbers(3 * c.i * c.j, 9);
  Bench bench(c.graph(), {{"T", c.rows}});
  c.fill(bench.tensors);
  auto* const old = bench.tensors.data<float>("old");
  bench.tensors.view("dw").data = old + 4;
  const auto shifted = bench.plan.bind(bench.graph, {{"T", c.rows}}, bench.tensors.all());
  ASSERT_FALSE(shifted);
  EXPECT_EQ(only(shifted.findings()).code, "E-OVERLAP");
  bench.tensors.view("dw").data = bench.tensors.data<float>("a");
  const auto wrong = bench.plan.bind(bench.graph, {{"T", c.rows}}, bench.tensors.all());
  ASSERT_FALSE(wrong);
  EXPECT_EQ(only(wrong.findings()).code, "E-OVERLAP");
}

// One pointer an expert, for the gradients and for what they are added to.
TEST(GroupedWgrad, Discrete) {
  WgradCase c;
  Builder g("discrete");
  const GroupedWgrad op{.a = g.input("a", {c.rows, c.i}, DType::f32),
                        .b = g.input("b", {c.rows, c.j}, DType::f32),
                        .groups = g.groups("g", 3, GroupForm::ends),
                        .accumulate = g.weight_pointers("old", {3, c.i, c.j}, DType::f32)};
  const WeightGrad dw = g.add(op);
  g.output("dw", dw, {.discrete = true});
  g.output("dense", dw, {.dtype = DType::f32, .strides = {200, 10, 1}});
  Bench bench(finish(g));
  c.fill(bench.tensors);
  c.old = whole_numbers(3 * c.i * c.j, 9);
  const auto size = static_cast<size_t>(c.i * c.j);
  std::vector<std::vector<float>> matrices;
  std::vector<int64_t> old_at;
  std::vector<int64_t> new_at;
  const auto address = [](float* p) {
    return static_cast<int64_t>(reinterpret_cast<uintptr_t>(p));
  };
  for (size_t e = 0; e < 3; ++e) {
    const float* from = c.old->data() + e * size;
    matrices.emplace_back(from, from + size);
    matrices.emplace_back(size, -1.0f);
  }
  for (size_t e = 0; e < 3; ++e) {
    old_at.push_back(address(matrices[2 * e].data()));
    new_at.push_back(address(matrices[2 * e + (e == 1 ? 0 : 1)].data()));  // 1: in place
  }
  bench.tensors.set("old", old_at);
  bench.tensors.set("dw", new_at);
  bench.run_well();
  const std::vector<float> wanted = c.expected();
  const auto* dense = bench.tensors.data<float>("dense");
  for (size_t e = 0; e < 3; ++e) {
    const auto from = wanted.begin() + static_cast<int64_t>(e * size);
    expect_same_bits(matrices[2 * e + (e == 1 ? 0 : 1)], {from, from + static_cast<int64_t>(size)});
    for (size_t k = 0; k < size; ++k) {
      const size_t at = e * 200 + k / 9 * 10 + k % 9;
      EXPECT_EQ(dense[at], wanted[e * size + k]);
    }
  }
  new_at[2] = 0;
  bench.tensors.set("dw", new_at);
  const Status s = bench.run();
  ASSERT_FALSE(s);
  EXPECT_EQ(only(s.findings()).code, "E-POINTER");
}

TEST(GroupedWgrad, HalfTypesWithStrides) {
  for (const DType type : {DType::bf16, DType::f16}) {
    WgradCase c;
    Builder g("strided");
    g.output("dw", g.add(GroupedWgrad{.a = g.input("a", {c.rows, c.i}, type, {.strides = {24, 2}}),
                                      .b = g.input("b", {c.rows, c.j}, type, {.strides = {1, 48}}),
                                      .groups = g.groups("g", 3, GroupForm::ends)}));
    Bench bench(finish(g));
    put_groups(bench.tensors, "g", c.form, DType::i32, c.ranges);
    const auto put = [&](const char* name, const std::vector<float>& x, int64_t columns) {
      const TensorView v = bench.tensors.view(name);
      for (size_t k = 0; k < x.size(); ++k) {
        const auto r = static_cast<int64_t>(k) / columns;
        const auto n = static_cast<int64_t>(k) % columns;
        auto* to = static_cast<std::byte*>(v.data) + 2 * (r * v.strides[0] + n * v.strides[1]);
        ASSERT_TRUE(encode(type, &x[k], 1, to));
      }
    };
    put("a", c.a, c.i);
    put("b", c.b, c.j);
    bench.run_well();
    expect_same_bits(bench.tensors.values<float>("dw"), c.expected());
  }
}

}  // namespace
}  // namespace cohort::test
