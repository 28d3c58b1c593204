// hadamard and d_bias: hand-worked values, edges, checks.
#include "ops/small.h"

namespace cohort::test {
namespace {

std::vector<float> transformed(const Hadamard& op, int64_t rows, int64_t columns,
                               const std::vector<float>& x) {
  Small s(rows, columns);
  Bench b = s.bench(s.x.then(op));
  b.tensors.set("x", x);
  b.run_well();
  return b.tensors.values<float>("y");
}

TEST(Hadamard, AUnitVectorGivesARowOfTheMatrix) {
  std::vector<float> x(16, 0);
  x[3] = 4;
  // Row 3 of Sylvester's matrix: + - - + repeated.
  std::vector<float> wanted;
  for (int i = 0; i < 4; ++i) wanted.insert(wanted.end(), {1, -1, -1, 1});
  expect_numbers(transformed({}, 1, 16, x), wanted);
  for (float& w : wanted) w *= 4;
  expect_numbers(transformed({.normalised = false}, 1, 16, x), wanted);
  // The same along tokens.
  expect_numbers(transformed({.axis = Axes::col, .normalised = false}, 16, 1, x), wanted);
}

TEST(Hadamard, NormalisedIsItsOwnInverse) {
  const std::vector<float> x = whole_numbers(int64_t{32} * 48, 3);
  for (const Axes axis : {Axes::row, Axes::col}) {
    const std::vector<float> y = transformed({.axis = axis}, 32, 48, x);
    EXPECT_NE(y, x);
    expect_numbers(transformed({.axis = axis}, 32, 48, y), x);
  }
}

TEST(Hadamard, RoundsThroughAType) {
  // 257 is no bf16: it becomes 256 before, and 256 + 1 becomes 256 after.
  std::vector<float> x(16, 0);
  x[0] = 257;
  x[1] = 1;
  Small r(1, 16);
  Bench b = r.bench(r.x.then(Hadamard{.normalised = false, .round_through = DType::bf16}));
  b.tensors.set("x", x);
  b.run_well();
  const std::vector<uint16_t> y = b.tensors.values<uint16_t>("y");  // bf16, as the value is
  EXPECT_EQ(y[0], 0x4380);                                          // 256
  EXPECT_EQ(y[1], 0x437F);                                          // 255
  Small s(1, 16);
  EXPECT_EQ(s.faults(s.x.then(Hadamard{.round_through = DType::bf16})), "");
  Small wrong(1, 16);
  EXPECT_EQ(wrong.faults(wrong.x.then(Hadamard{.round_through = DType::e4m3})), "E-ATTRIBUTE");
}

TEST(Hadamard, NaNAndInfinityStayInTheirBlock) {
  std::vector<float> x(48, 1);
  x[5] = kNaN;
  x[20] = kInf;
  x[32] = 16;
  const std::vector<float> y = transformed({}, 1, 48, x);
  for (size_t i = 0; i < 16; ++i) EXPECT_TRUE(std::isnan(y[i])) << i;
  for (size_t i = 16; i < 32; ++i) EXPECT_TRUE(std::isinf(y[i])) << i;
  for (size_t i = 32; i < 48; ++i) EXPECT_TRUE(std::isfinite(y[i])) << i;
}

TEST(Hadamard, ColumnBlocksRestartAtAGroup) {
  // Groups of 16 and 32 rows behind 5 rows that nobody owns.
  Builder g("columns");
  const auto x = g.input("x", {64, 1}, DType::f32);
  const auto bounds = g.groups("g", 2, GroupForm::boundaries);
  const auto y = g.add(Load{.x = x, .groups = bounds}).then(Hadamard{.axis = Axes::col});
  g.output("y", y, {.tail = Tail::zero});
  Bench b(finish(g));
  std::vector<float> data(64, 0), wanted(64, 0);
  for (const size_t first : {5, 21, 37}) {
    data[first] = 4;  // the first token of a block: all ones
    for (size_t i = 0; i < 16; ++i) wanted[first + i] = 1;
  }
  b.tensors.set("x", data);
  b.tensors.set<int32_t>("g", {5, 21, 53});
  b.run_well();
  expect_numbers(b.tensors.values<float>("y"), wanted);
}

TEST(Hadamard, GroupsOfOtherSizesAreRefusedBeforeAnythingIsWritten) {
  Builder g("columns");
  const Dim t = g.dynamic("T", 4096);
  const auto x = g.input("x", {t, 1}, DType::f32);
  const auto ends = g.groups("g", 2, GroupForm::ends);
  g.output("y", g.add(Load{.x = x, .groups = ends}).then(Hadamard{.axis = Axes::col}));
  Bench b(finish(g), {{"T", 300}});
  b.tensors.fill("x", 0);
  b.tensors.set<int32_t>("g", {288, 300});
  const std::vector<uint8_t> before = b.tensors.raw("y");
  const Status status = b.run();
  ASSERT_FALSE(status);
  const auto f = only(status.findings());
  EXPECT_EQ(f.code, "E-GROUPS");
  EXPECT_EQ(f.op, "hadamard");
  EXPECT_EQ(f.got, "12");
  EXPECT_TRUE(has(f.message, "group 1")) << f.message;
  EXPECT_EQ(b.tensors.raw("y"), before);
  b.tensors.set<int32_t>("g", {288, 288});
  EXPECT_TRUE(b.run());
}

TEST(Hadamard, WhatIsKnownIsAFinding) {
  Small features(16, 24);
  features.g.output("y", features.x.then(Hadamard{}));
  const Findings findings = std::move(features.g).finish().findings();
  const auto f = only(findings);
  EXPECT_EQ(f.code, "E-SHAPE");
  EXPECT_EQ(f.dimension, 1);
  EXPECT_EQ(f.got, "24");
  Small tokens(24, 16);
  EXPECT_EQ(tokens.faults(tokens.x.then(Hadamard{.axis = Axes::col})), "E-SHAPE");
  Small both(16, 16);
  EXPECT_EQ(both.faults(both.x.then(Hadamard{.axis = Axes::both})), "E-ATTRIBUTE");
  Builder g("named");
  const auto x = g.input("x", {16, g.dynamic("N", 64)}, DType::f32);
  g.output("y", g.add(Load{.x = x}).then(Hadamard{}));
  const Findings named = std::move(g).finish().findings();
  EXPECT_EQ(codes(named), "E-SHAPE");
}

TEST(DBias, SumsTheRowsOfEachGroup) {
  Small s(4, 2, {3, 3, 4});
  const auto p = s.g.row_input("p", 4);
  s.g.output("scaled", s.x.then(DBias{.scaled_by = p}));
  Bench b = s.bench(s.x.then(DBias{}));
  b.tensors.set<float>("x", {1, 2, 3, 4, 5, 6, 7, kInf});
  b.tensors.set<float>("p", {1, 10, 100, 0.5f});
  b.run_well();
  expect_numbers(b.tensors.values<float>("y"), {9, 12, 0, 0, 7, kInf});
  expect_numbers(b.tensors.values<float>("scaled"), {531, 642, 0, 0, 3.5f, kInf});
}

TEST(DBias, OfManyRowsIsExactWhereF64Is) {
  // 2^24 and then ones: an f32 sum would stay at 2^24. Several panels, several threads.
  constexpr int64_t kRows = 1001;
  Small s(kRows, 1);
  Bench b = s.bench(s.x.then(DBias{}));
  std::vector<float> x(kRows, 1);
  x[0] = 0x1p24f;
  b.tensors.set("x", x);
  b.run_well();
  expect_numbers(b.tensors.values<float>("y"), {0x1p24f + 1000});
}

TEST(DBias, IsStoredAsBf16WhenAsked) {
  Small s(3, 1);
  Bench b = s.bench(s.x.then(DBias{}), {.dtype = DType::bf16});
  b.tensors.set<float>("x", {256, 0.5f, 0.75f});
  b.run_well();
  EXPECT_EQ(b.tensors.values<uint16_t>("y")[0], 0x4381);  // 257.25 is nearest to 258
  Small f16(3, 1);
  f16.g.output("y", f16.x.then(DBias{}), {.dtype = DType::f16});
  const Findings findings = std::move(f16.g).finish().findings();
  EXPECT_EQ(codes(findings), "E-DTYPE");
}

// The loss sum(dY * (x + p * b)), x and b at some numbers, moved by each b in turn: linear in it,
// and every number is short, so that central differences are exact. Without p, p is 1.
TEST(DBias, IsTheGradientOfABias) {
  constexpr size_t kRows = 7, kN = 3, kGroups = 3;
  const std::vector<int32_t> ends{2, 2, 7};
  const std::vector<float> d = whole_numbers(kRows * kN, 4), x = whole_numbers(kRows * kN, 5);
  const std::vector<float> prob = whole_numbers(kRows, 9);
  for (const bool is_scaled : {false, true}) {
    Small s(kRows, kN, ends);  // its x is dY
    const auto forward =
        s.g.add(Load{.x = s.g.input("fc", {kRows, kN}, DType::f32), .groups = s.groups});
    Bias bias{.by = s.g.group_matrix("b", {kGroups, kN})};
    DBias gradient;
    if (is_scaled) bias.scaled_by = gradient.scaled_by = s.g.row_input("p", kRows);
    s.g.output("out", forward.then(bias));
    Bench bench = s.bench(s.x.then(gradient));
    std::vector<float> b = whole_numbers(kGroups * kN, 6);
    bench.tensors.set("x", d);
    bench.tensors.set("fc", x);
    bench.tensors.set("b", b);
    if (is_scaled) bench.tensors.set("p", prob);
    bench.run_well();
    const auto loss = [&] {
      double sum = 0;
      for (size_t i = 0; i < kRows * kN; ++i) {
        const size_t r = i / kN, group = r < 2 ? 0 : 2;
        const double p = is_scaled ? static_cast<double>(prob[r]) : 1;
        sum += static_cast<double>(d[i]) *
               (static_cast<double>(x[i]) + p * static_cast<double>(b[group * kN + i % kN]));
      }
      return sum;
    };
    double total = 0;  // the same loss of what the graph gives
    const auto out = bench.tensors.values<float>("out");
    for (size_t i = 0; i < out.size(); ++i) {
      total += static_cast<double>(out[i]) * static_cast<double>(d[i]);
    }
    EXPECT_EQ(total, loss());
    const auto got = bench.tensors.values<float>("y");
    ASSERT_EQ(got.size(), b.size());
    for (size_t i = 0; i < b.size(); ++i) {
      const float at = b[i];
      b[i] = at + 0.5f;
      const double above = loss();
      b[i] = at - 0.5f;
      const double below = loss();
      b[i] = at;
      EXPECT_EQ(static_cast<double>(got[i]), above - below) << is_scaled << " " << i;
    }
  }
}

}  // namespace
}  // namespace cohort::test
