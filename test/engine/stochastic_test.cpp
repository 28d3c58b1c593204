// Stochastic rounding in a graph: which random word an element takes is settled, so neither panels
// nor groups nor threads may change it.
#include <cmath>

#include "engine/gemm_case.h"
#include "numerics/codec.h"
#include "numerics/philox.h"

namespace cohort::test {
namespace {

constexpr int64_t kRows = 450, kColumns = 96;  // three panels of 192 rows
constexpr int64_t kSeed = 0x123456789ABCDEF, kOffset = 41;

struct Codes {
  std::vector<uint8_t> row, col, row_scale;
};

Codes quantised(const std::vector<float>& x, const std::vector<Range>& ranges, int32_t threads) {
  Builder g("stochastic");
  const Dim t = g.dynamic("T", 4096);
  const auto groups = g.groups("g", static_cast<int64_t>(ranges.size()), GroupForm::ends);
  const auto q = g.add(Load{.x = g.input("x", {t, kColumns}, DType::f32), .groups = groups})
                     .then(Quantize{.to = Format::mxfp8_e4m3,
                                    .axes = Axes::both,
                                    .rounding = Rounding::stochastic,
                                    .seed = g.scalar("seed", DType::i64),
                                    .offset = g.scalar("offset", DType::i64),
                                    .row_layout = ScaleLayout::linear});
  g.output("row", q.row);
  g.output("col", q.col);
  Bench bench(finish(g), {{"T", kRows}}, {.sm_limit = threads});
  bench.tensors.set("x", x);
  put_groups(bench.tensors, "g", GroupForm::ends, DType::i32, ranges);
  bench.tensors.set<int64_t>("seed", {kSeed});
  bench.tensors.set<int64_t>("offset", {kOffset});
  bench.run_well();
  return {bench.tensors.raw("row"), bench.tensors.raw("col"), bench.tensors.raw("row.scale")};
}

TEST(Stochastic, WordsBelongToElements) {
  std::vector<float> x(kRows * kColumns);
  std::mt19937 random(8);
  std::normal_distribution<float> normal;
  for (float& v : x) v = normal(random);
  const Codes whole = quantised(x, consecutive({kRows}), 1);
  int up = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const float scale = numerics::decode_e8m0(whole.row_scale[i / 32]);
    const auto index = static_cast<uint64_t>(i);
    const uint32_t word = numerics::philox4x32_10(
        static_cast<uint64_t>(kSeed), static_cast<uint64_t>(kOffset) + index / 4)[index % 4];
    ASSERT_EQ(whole.row[i], numerics::encode(numerics::kE4m3, x[i] / scale, numerics::Round::random,
                                             numerics::Overflow::saturate, word))
        << i;
    up += std::fabs(numerics::decode(numerics::kE4m3, whole.row[i])) > std::fabs(x[i] / scale);
  }
  EXPECT_NEAR(up, kRows * kColumns / 2, kRows * kColumns / 20);
  // Row blocks do not see groups: the same codes, however rows are divided, on any threads.
  EXPECT_EQ(quantised(x, consecutive({7, 200, 0, 243}), 0).row, whole.row);
  EXPECT_EQ(quantised(x, consecutive({kRows}), 0).row, whole.row);
  EXPECT_EQ(quantised(x, consecutive({kRows}), 0).col, whole.col);
  EXPECT_EQ(quantised(x, consecutive({192, 258}), 0).col,
            quantised(x, consecutive({192, 258}), 1).col);
}

}  // namespace
}  // namespace cohort::test
