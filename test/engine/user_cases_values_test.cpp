// Values that users of other libraries did not get, as their reports say; each names its origin.
#include <limits>

#include <cohort/numerics.h>

#include "engine/gemm_case.h"
#include "engine/near.h"
#include "fixtures/findings.h"

namespace cohort::test {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// pytorch#190449: an fp8 output with a given scale, and the maximum before it. D is the code of
// acc * scale, saturated; another scale gives another D and the same maximum.
TEST(UserCases, Fp8OutputWithScaleAndMaximum) {
  GemmCase c;
  c.rows = 40;
  Builder g("fp8");
  const auto x = g.input("x", {c.rows, c.sum}, DType::f32);
  const auto w = g.weights("w", {c.experts, c.features, c.sum}, DType::f32);
  const auto y = g.add(GroupedGemm{.a = x, .b = w, .groups = g.groups("g", 3, GroupForm::ends)});
  g.output("d", y.then(Cast{.to = DType::e4m3, .scale = g.scalar("s")}));
  g.output("amax", y.then(Amax{}));
  Bench bench(finish(g));
  bench.tensors.set("x", c.x);
  bench.tensors.set("w", c.w);
  put_groups(bench.tensors, "g", c.form, c.offsets, c.ranges);
  const std::vector<float> acc = c.expected();
  float largest = 0;
  for (const float a : acc) largest = std::max(largest, std::fabs(a));
  std::vector<std::vector<uint8_t>> seen;
  for (const float scale : {1.0f / 64, 1.0f / 3, 16.0f}) {
    bench.tensors.set<float>("s", {scale});
    bench.run_well();
    EXPECT_EQ(bench.tensors.values<float>("amax")[0], largest);
    const auto codes = bench.tensors.raw("d");
    for (size_t i = 0; i < codes.size(); ++i) {
      const float product = acc[i] * scale;
      ASSERT_EQ(codes[i], slow_encode(slow_formats()[2], static_cast<double>(product),
                                      numerics::Round::nearest_even, true, 0))
          << i << " of scale " << scale;
    }
    for (const auto& other : seen) EXPECT_NE(codes, other);
    seen.push_back(codes);
  }
  EXPECT_GT(largest * 16, 448) << "nothing saturates";
}

// TE#3342, #3352: byte 0x3C of a gradient is 1 in e5m2; read as e4m3 it is 1.5.
TEST(UserCases, GradientsInE5m2) {
  Builder g("dsrelu");
  const auto dy = g.scaled_input("dy", {2, 32}, Format::mxfp8_e5m2);
  const auto w = g.scaled_weights("w", {1, 3, 32}, Format::mxfp8_e4m3);
  const auto c = g.input("c", {2, 3}, DType::bf16);
  const auto groups = g.groups("g", 1, GroupForm::ends);
  const DSrelu d = g.add(GroupedGemm{.a = dy, .b = w, .groups = groups})
                       .then(DReluSquared{.c = g.add(Load{.x = c, .groups = groups}),
                                          .prob = g.row_input("p", 2)});
  g.output("d", d);
  g.output("dprob", d.dprob);
  Bench bench(finish(g));
  bench.tensors.fill("dy", 0x3C);
  bench.tensors.fill("w", 0x38);  // 1 in e4m3
  bench.tensors.fill("dy.scale", 127);
  bench.tensors.fill("w.scale", 127);
  bench.tensors.set<uint16_t>("c", {0x3F80, 0x4000, 0xBF80, 0x3F80, 0x4000, 0xBF80});  // 1, 2, -1
  bench.tensors.set<float>("p", {1, 0.5f});
  bench.tensors.set<int32_t>("g", {2});
  bench.run_well();
  EXPECT_EQ(bench.tensors.values<float>("d"), (std::vector<float>{64, 128, 0, 32, 64, 0}));
  EXPECT_EQ(bench.tensors.values<float>("dprob"), (std::vector<float>{160, 160}));
}

// vllm#39593: token 2 is routed to expert 3 twice, which makes two rows of it in that group: both
// count, each with its weight. Token 1 has one expert only, -1 stands for the other.
TEST(UserCases, ATokenRoutedToOneExpertTwice) {
  constexpr int64_t kTokens = 4, kTopK = 2, kAll = 7, kIn = 9, kOut = 5, kFour = 4;
  Builder g("twice");
  const auto x = g.input("x", {kTokens, kIn}, DType::f32);
  const auto w = g.weights("w", {kFour, kOut, kIn}, DType::f32);
  const auto y = g.add(GroupedGemm{.a = x,
                                   .b = w,
                                   .groups = g.groups("g", kFour, GroupForm::ends),
                                   .gather = g.index("tok", kAll)});
  const auto s = g.input("s", {kTokens, kTopK}, DType::f32);
  g.output("o", g.add(Combine{.y = y, .rev = g.index("rev", {kTokens, kTopK}), .weights = s}));
  Bench bench(finish(g));
  const std::vector<float> xs = whole_numbers(kTokens * kIn, 1);
  const std::vector<float> ws = whole_numbers(kFour * kOut * kIn, 2);
  const std::vector<float> weights{0.5f, 2, 3, kNaN, 0.25f, 4, -1, 1.5f};
  // Experts by entry: 0 and 2, 3 and none, 3 and 3, 2 and 0.
  const int64_t experts[kTokens][kTopK] = {{0, 2}, {3, -1}, {3, 3}, {2, 0}};
  bench.tensors.set("x", xs);
  bench.tensors.set("w", ws);
  bench.tensors.set("s", weights);
  bench.tensors.set<int32_t>("g", {2, 2, 4, 7});
  bench.tensors.set<int32_t>("tok", {0, 3, 0, 3, 1, 2, 2});
  bench.tensors.set<int32_t>("rev", {0, 2, 4, -1, 5, 6, 3, 1});
  bench.run_well();
  const auto o = bench.tensors.values<float>("o");
  for (int64_t t = 0; t < kTokens; ++t) {
    for (int64_t n = 0; n < kOut; ++n) {
      double want = 0;
      for (int64_t j = 0; j < kTopK; ++j) {
        if (experts[t][j] < 0) continue;
        double sum = 0;
        for (int64_t k = 0; k < kIn; ++k) {
          sum += static_cast<double>(xs[static_cast<size_t>(t * kIn + k)]) *
                 static_cast<double>(ws[static_cast<size_t>((experts[t][j] * kOut + n) * kIn + k)]);
        }
        want += static_cast<double>(weights[static_cast<size_t>(t * kTopK + j)]) * sum;
      }
      EXPECT_EQ(static_cast<double>(o[static_cast<size_t>(t * kOut + n)]), want) << t << " " << n;
    }
  }
  // A row of no token is no row of a group: refused by name.
  bench.tensors.set<int32_t>("tok", {0, 3, 0, 3, 1, 2, -1});
  const Status status = bench.run();
  ASSERT_FALSE(status);
  EXPECT_EQ(only(status.findings()).code, "E-INDEX");
  EXPECT_EQ(only(status.findings()).op, "tok");
}

constexpr int64_t kRows = 12, kHidden = 8, kInter = 64, kExperts = 2;

// What one training step makes of W1, all in its packing.
struct Layer {
  std::vector<float> h, a, dw1, db1;
};

Layer layer(Packing packing, const std::vector<float>& w1, const std::vector<float>& b1) {
  Builder g("layer");
  const auto x = g.input("x", {kRows, kHidden}, DType::f32);
  const auto groups = g.groups("g", kExperts, GroupForm::ends);
  const Glu act{.act = GluAct::swiglu, .packing = packing};
  const auto h =
      g.add(GroupedGemm{.a = x,
                        .b = g.weights("w1", {kExperts, 2 * kInter, kHidden}, DType::f32),
                        .groups = groups})
          .then(Bias{.by = g.group_matrix("b1", {kExperts, 2 * kInter})});
  const auto da = g.input("da", {kRows, kInter}, DType::f32);
  const DGated dh = g.add(Load{.x = da, .groups = groups}).then(DGlu::of(act, h));
  g.output("h", h);
  g.output("a", h.then(act));
  g.output("dw1", g.add(GroupedWgrad{.a = dh, .b = x, .groups = groups}));
  g.output("db1", dh.then(DBias{}));
  Bench bench(finish(g));
  bench.tensors.set("x", whole_numbers(kRows * kHidden, 1));
  bench.tensors.set("da", whole_numbers(kRows * kInter, 2));
  bench.tensors.set("w1", w1);
  bench.tensors.set("b1", b1);
  bench.tensors.set<int32_t>("g", {5, 12});
  bench.run_well();
  return {bench.tensors.values<float>("h"), bench.tensors.values<float>("a"),
          bench.tensors.values<float>("dw1"), bench.tensors.values<float>("db1")};
}

std::vector<float> repacked(Packing from, Packing to, const std::vector<float>& x, int64_t outer,
                            int64_t inner) {
  std::vector<float> y(x.size());
  const GluMatrix m{.dtype = DType::f32, .outer = outer, .features = 2 * kInter, .inner = inner};
  EXPECT_TRUE(repack_glu(from, to, m, reinterpret_cast<const std::byte*>(x.data()),
                         reinterpret_cast<std::byte*>(y.data())));
  return y;
}

// sonic-moe#12, #45-47: W1 in another packing gives the same activation; its gradient and that of
// its bias come back in that packing.
TEST(UserCases, GradientsComeBackInThePackingOfTheWeights) {
  std::vector<float> w1 = whole_numbers(kExperts * 2 * kInter * kHidden, 3);
  for (float& w : w1) w /= 16;
  const std::vector<float> b1 = whole_numbers(kExperts * 2 * kInter, 4);
  const Layer want = layer(Packing::split, w1, b1);
  for (const Packing p : {Packing::interleaved, Packing::bands8, Packing::bands32}) {
    SCOPED_TRACE(std::string(name(p)));
    const Layer got = layer(p, repacked(Packing::split, p, w1, kExperts, kHidden),
                            repacked(Packing::split, p, b1, kExperts, 1));
    expect_same_bits(got.a, want.a);
    expect_same_bits(repacked(p, Packing::split, got.h, kRows, 1), want.h);
    expect_same_bits(repacked(p, Packing::split, got.dw1, kExperts, kHidden), want.dw1);
    expect_same_bits(repacked(p, Packing::split, got.db1, kExperts, 1), want.db1);
    EXPECT_NE(got.dw1, want.dw1);
    EXPECT_NE(got.db1, want.db1);
  }
}

}  // namespace
}  // namespace cohort::test
