// A layer as it serves: fp8 in blocks of 128 on both sides of SwiGLU, a slot an expert that is
// partly filled, and entries of -1 for experts on other devices.
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include <cohort/numerics.h>

#include "engine/gemm_case.h"

namespace cohort::test {
namespace {

constexpr int64_t kBlock = 128, kD = 2 * kBlock, kN = kBlock, kExperts = 3, kSlot = 8;
constexpr int64_t kRows = kExperts * kSlot, kTokens = 4, kTopK = 3;

// A matrix of e4m3 whose scales belong to blocks of `rows_a_scale` rows and 128 columns.
struct Blocks {
  int64_t columns = 0;
  int64_t rows_a_scale = 1;
  std::vector<std::byte> codes{};
  std::vector<float> values{};  // of the codes
  std::vector<float> scales{};

  [[nodiscard]] double operator()(int64_t r, int64_t c) const {
    const int64_t per_row = columns / kBlock;
    return static_cast<double>(values[static_cast<size_t>(r * columns + c)]) *
           scales[static_cast<size_t>(r / rows_a_scale * per_row + c / kBlock)];
  }
  void decode_codes() {
    values.resize(codes.size());
    ASSERT_TRUE(
        decode(DType::e4m3, codes.data(), static_cast<int64_t>(codes.size()), values.data()));
  }
};

Blocks drawn(int64_t rows, int64_t columns, int64_t rows_a_scale, std::mt19937& random) {
  Blocks b{.columns = columns, .rows_a_scale = rows_a_scale};
  for (int64_t i = 0; i < rows * columns; ++i) {  // 2^-2 .. 2^1, both signs
    const auto draw = static_cast<uint32_t>(random());
    b.codes.push_back(static_cast<std::byte>(0x28 + draw % 24 + (draw >> 24) % 2 * 0x80));
  }
  for (int64_t i = 0; i < rows / rows_a_scale * (columns / kBlock); ++i) {
    b.scales.push_back(0.05f + 0.1f * static_cast<float>(random() % 1000) / 1000);
  }
  b.decode_codes();
  return b;
}

void put(Tensors& t, const std::string& name, const Blocks& b) {
  t.set(name, b.codes);
  t.set(name + ".scale", b.scales);
}

Graph layer() {
  Builder g("serving");
  const Format blocks = Format::fp8_block128;
  const auto slots = g.groups("slots", kExperts, GroupForm::slots);
  const auto h = g.add(GroupedGemm{.a = g.scaled_input("x", {kRows, kD}, blocks),
                                   .b = g.scaled_weights("w1", {kExperts, 2 * kN, kD}, blocks),
                                   .groups = slots})
                     .then(Glu{.act = GluAct::swiglu, .packing = Packing::split})
                     .then(Quantize{.to = blocks});
  const auto y = g.add(GroupedGemm{
      .a = h.row, .b = g.scaled_weights("w2", {kExperts, kD, kN}, blocks), .groups = slots});
  g.output("h", h.row);
  g.output("o", g.add(Combine{.y = y,
                              .rev = g.index("rev", {kTokens, kTopK}),
                              .weights = g.input("p", {kTokens, kTopK}, DType::f32)}));
  return finish(g);
}

struct Serving : testing::Test {
  std::mt19937 random{45};
  Blocks x = drawn(kRows, kD, 1, random);
  Blocks w1 = drawn(kExperts * 2 * kN, kD, kBlock, random);
  Blocks w2 = drawn(kExperts * kD, kN, kBlock, random);
  const std::vector<Range> ranges{{0, 3}, {kSlot, 0}, {2 * kSlot, 5}};

  // Gate (half 0) or up (half 1) of a row, summed in f64.
  [[nodiscard]] double half(int64_t e, int64_t r, int64_t j, int64_t which) const {
    double sum = 0;
    for (int64_t k = 0; k < kD; ++k) sum += x(r, k) * w1((e * 2 + which) * kN + j, k);
    return sum;
  }
  // The scale that 448 stands for the largest with, and codes at most half a step away.
  void check_row(const Blocks& h, int64_t e, int64_t r) const {
    std::vector<double> act;
    double largest = 0;
    for (int64_t j = 0; j < kN; ++j) {
      const double gate = half(e, r, j, 0);
      act.push_back(gate / (1 + std::exp(-gate)) * half(e, r, j, 1));
      largest = std::max(largest, std::fabs(act.back()));
    }
    ASSERT_GT(largest, 0.0);
    const double scale = h.scales[static_cast<size_t>(r)];
    EXPECT_NEAR(scale, largest / 448, largest / 448 * 1e-5) << r;
    for (int64_t j = 0; j < kN; ++j) {
      const double wanted = act[static_cast<size_t>(j)];
      const double step = std::max(std::fabs(wanted) * 0x1p-4, scale * 0x1p-10);
      EXPECT_NEAR(h(r, j), wanted, step + largest * 1e-5) << r << " " << j;
    }
  }
};

TEST_F(Serving, SlotsBlocksAndExpertsElsewhere) {
  // What no slot uses is NaN.
  for (int64_t r = 0; r < kRows; ++r) {
    bool used = false;
    for (const Range& g : ranges) used = used || (r >= g.begin && r < g.begin + g.rows);
    if (used) continue;
    for (int64_t k = 0; k < kD; ++k) x.codes[static_cast<size_t>(r * kD + k)] = std::byte{0x7f};
    x.scales[static_cast<size_t>(2 * r)] = std::numeric_limits<float>::quiet_NaN();
  }
  const std::vector<int32_t> rev{0, 20, -1, -1, -1, -1, 16, 2, 18, 17, -1, 1};
  std::vector<float> p;
  for (size_t i = 0; i < rev.size(); ++i) p.push_back(0.1f + 0.05f * static_cast<float>(i));
  Bench bench(layer());
  Tensors& t = bench.tensors;
  put(t, "x", x);
  put(t, "w1", w1);
  put(t, "w2", w2);
  put_groups(t, "slots", GroupForm::slots, DType::i32, ranges);
  t.set("rev", rev);
  t.set("p", p);
  bench.run_well();

  Blocks h{.columns = kN, .codes = t.values<std::byte>("h"), .scales = t.values<float>("h.scale")};
  h.decode_codes();
  for (int64_t e = 0; e < kExperts; ++e) {
    const Range& g = ranges[static_cast<size_t>(e)];
    for (int64_t r = g.begin; r < g.begin + g.rows; ++r) check_row(h, e, r);
  }
  // FC2 and the sum from the codes that were made, so that nothing but f32 rounding is between.
  const auto o = t.values<float>("o");
  for (int64_t token = 0; token < kTokens; ++token) {
    for (int64_t n = 0; n < kD; ++n) {
      double wanted = 0;
      double size = 0;
      for (int64_t entry = token * kTopK; entry < (token + 1) * kTopK; ++entry) {
        const int64_t r = rev[static_cast<size_t>(entry)];
        for (int64_t k = 0; r >= 0 && k < kN; ++k) {
          const double term = p[static_cast<size_t>(entry)] * h(r, k) * w2(r / kSlot * kD + n, k);
          wanted += term;
          size += std::fabs(term);
        }
      }
      EXPECT_NEAR(o[static_cast<size_t>(token * kD + n)], wanted, size * 1e-6) << token << " " << n;
      if (token == 1) {  // every expert elsewhere
        EXPECT_EQ(o[static_cast<size_t>(token * kD + n)], 0) << n;
      }
    }
  }
}

}  // namespace
}  // namespace cohort::test
