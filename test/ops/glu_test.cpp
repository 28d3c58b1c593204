// Gated activations: layouts and clamps by hand, packings of real weights, findings.
#include <cmath>
#include <limits>
#include <vector>

#include <cohort/numerics.h>

#include "engine/gemm_case.h"
#include "engine/near.h"
#include "fixtures/findings.h"

namespace cohort::test {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr Packing kPackings[] = {Packing::split, Packing::interleaved, Packing::bands8,
                                 Packing::bands32};

std::vector<float> run(const Glu& op, const std::vector<float>& x, int64_t features) {
  const int64_t rows = static_cast<int64_t>(x.size()) / features;
  Builder g("glu");
  const auto in = g.input("x", {rows, features}, DType::f32);
  g.output("y", g.add(Load{.x = in}).then(op));
  Bench bench(finish(g));
  bench.tensors.set("x", x);
  bench.run_well();
  return bench.tensors.values<float>("y");
}

TEST(Glu, SigmoidOfNothingIsAHalf) {
  // With alpha 0 the gate is halved: everything is exact.
  const Glu op{
      .act = GluAct::swiglu, .packing = Packing::split, .alpha = 0.0f, .beta = 1.0f, .limit = 7.0f};
  EXPECT_EQ(run(op, {2, -4, 8, -9, 3, 0.5f, 9, -9}, 8),
            (std::vector<float>{4, -3, 28, 27}));  // 1 * 4, -2 * 1.5, 3.5 * 8, -4.5 * -6
}

TEST(Glu, EveryPackingTakesItsColumns) {
  constexpr int64_t kN = 128;
  for (const Packing packing : kPackings) {
    const int64_t band = packing == Packing::split         ? kN / 2
                         : packing == Packing::interleaved ? 1
                         : packing == Packing::bands8      ? 8
                                                           : 32;
    std::vector<float> x(2 * kN);
    std::vector<float> want;
    for (int64_t r = 0; r < 2; ++r) {
      for (int64_t n = 0; n < kN; ++n) {
        const bool is_up = n / band % 2 == 1;
        const int64_t i = n / (2 * band) * band + n % band;
        x[static_cast<size_t>(r * kN + n)] = static_cast<float>(is_up ? 3 * i + r : 2 * i + 2);
      }
      for (int64_t i = 0; i < kN / 2; ++i) {
        want.push_back(static_cast<float>((i + 1) * (3 * i + r)));
      }
    }
    EXPECT_EQ(run({.act = GluAct::swiglu, .packing = packing, .alpha = 0.0f}, x, kN), want)
        << name(packing);
  }
}

TEST(Glu, DefaultsFollowTheActivation) {
  const std::vector<float> x{8, 6.5f, -3, 9, -8, 2};
  const auto same = [&](const Glu& a, const Glu& b) {
    expect_same_bits(run(a, x, 6), run(b, x, 6));
  };
  const auto split = Packing::split;
  same({.act = GluAct::swiglu, .packing = split},
       {.act = GluAct::swiglu, .packing = split, .alpha = 1.0f, .beta = 0.0f, .limit = kInfinity});
  same({.act = GluAct::geglu, .packing = split}, Glu::gpt_oss(split));
  same({.act = GluAct::situ, .packing = split},
       {.act = GluAct::situ, .packing = split, .gate_bound = 4.0f, .up_bound = 25.0f});
  same(Glu::clamped(split, 10.0f),
       {.act = GluAct::swiglu, .packing = split, .alpha = 1.0f, .beta = 0.0f, .limit = 10.0f});
  EXPECT_NE(run(Glu::gpt_oss(split), x, 6), run(Glu::clamped(split, 7.0f), x, 6));
}

TEST(Glu, ClampsAtTheirEdges) {
  // The gate has an upper limit only; up has both.
  const float below = std::nextafter(7.0f, 0.0f);
  const Glu op{
      .act = GluAct::swiglu, .packing = Packing::interleaved, .alpha = 0.0f, .limit = 7.0f};
  EXPECT_EQ(run(op, {7, 2, 8, 2, below, 2, -8, 2, 2, 7, 2, 8, 2, -7, 2, -8, kInfinity, 2}, 18),
            (std::vector<float>{7, 7, below, -8, 7, 7, -7, -7, 7}));
}

TEST(Glu, NanAndInfinity) {
  const Glu op{.act = GluAct::swiglu, .packing = Packing::interleaved, .limit = 7.0f};
  const auto y = run(op, {kNan, 1, 1, kNan, -kInfinity, 1, 7, kInfinity}, 8);
  EXPECT_TRUE(std::isnan(y[0]) && std::isnan(y[1]) && std::isnan(y[2]));
  EXPECT_EQ(y[3], run(op, {7, 7}, 2)[0]);
  const auto situ = run({.act = GluAct::situ, .packing = Packing::interleaved},
                        {kInfinity, kInfinity, -kInfinity, 1, kNan, 1}, 6);
  EXPECT_EQ(situ[0], 100);  // 4 * 1 * 1 * 25
  EXPECT_EQ(situ[1], 0);
  EXPECT_TRUE(std::isnan(situ[2]));
}

// x W1^T with W1 in some packing, through the activation.
std::vector<float> layer(const std::vector<float>& x, const std::vector<float>& w, int64_t features,
                         int64_t k, Packing packing) {
  const int64_t rows = static_cast<int64_t>(x.size()) / k;
  Builder g("fc1");
  const auto a = g.input("x", {rows, k}, DType::f32);
  const auto b = g.weights("w", {1, features, k}, DType::f32);
  const auto h = g.add(GroupedGemm{.a = a, .b = b, .groups = g.groups("ends", 1, GroupForm::ends)});
  g.output("y", h.then(Glu{.act = GluAct::swiglu, .packing = packing}));
  Bench bench(finish(g));
  bench.tensors.set("x", x);
  bench.tensors.set("w", w);
  bench.tensors.set<int32_t>("ends", {static_cast<int32_t>(rows)});
  bench.run_well();
  return bench.tensors.values<float>("y");
}

// Megatron-LM#7576: a weight packed [gate; up] under a graph that says bands32.
TEST(Glu, RepackedWeightsGiveTheSameActivation) {
  constexpr int64_t kFeatures = 128, kK = 32, kRows = 5;
  const auto x = whole_numbers(kRows * kK, 21);
  std::vector<float> w = whole_numbers(kFeatures * kK, 22);
  for (float& v : w) v /= 64;
  const auto want = layer(x, w, kFeatures, kK, Packing::split);
  for (int64_t r = 0; r < kRows; ++r) {
    for (int64_t j = 0; j < 64; ++j) {
      double gate = 0, up = 0;
      for (int64_t k = 0; k < kK; ++k) {
        const auto a = static_cast<double>(x[static_cast<size_t>(r * kK + k)]);
        gate += a * static_cast<double>(w[static_cast<size_t>(j * kK + k)]);
        up += a * static_cast<double>(w[static_cast<size_t>((64 + j) * kK + k)]);
      }
      const double y = gate / (1 + std::exp(-gate)) * up;
      EXPECT_NEAR(want[static_cast<size_t>(r * 64 + j)], y, 1e-6 * (1 + std::fabs(y))) << j;
    }
  }
  EXPECT_NE(layer(x, w, kFeatures, kK, Packing::bands32), want);  // wrong, and nothing can tell
  for (const Packing packing : kPackings) {
    std::vector<float> packed(w.size());
    const GluMatrix m{.dtype = DType::f32, .features = kFeatures, .inner = kK};
    ASSERT_TRUE(pack_glu(packing, m, reinterpret_cast<const std::byte*>(w.data()),
                         reinterpret_cast<std::byte*>(packed.data())));
    expect_same_bits(layer(x, packed, kFeatures, kK, packing), want);
  }
}

// sonic-moe#63, quack#133: the activation must be right on data of unit scale, in every column.
TEST(Glu, UnitScaleDataInEveryColumn) {
  constexpr int64_t kN = 256, kRows = 256;
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  std::vector<float> x(kRows * kN);
  for (float& v : x) v = normal(random);
  const auto y = run({.act = GluAct::swiglu, .packing = Packing::interleaved}, x, kN);
  for (size_t i = 0; i < y.size(); ++i) {
    const auto g = static_cast<double>(x[2 * i]);
    const double want = g / (1 + std::exp(-g)) * static_cast<double>(x[2 * i + 1]);
    ASSERT_NEAR(y[i], want, 4e-7 * std::fabs(want)) << i;
  }
}

std::vector<float> normal_bf16(int64_t count, double deviation, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal(0, deviation);
  std::vector<float> v(static_cast<size_t>(count));
  for (float& x : v) x = static_cast<float>(round_to(DType::bf16, normal(random)));
  return v;
}

void put_bf16(Tensors& t, const char* name, const std::vector<float>& v) {
  ASSERT_TRUE(
      encode(DType::bf16, v.data(), static_cast<int64_t>(v.size()), t.data<std::byte>(name)));
}

// A bf16 result: half a step, relative, and what the f32 sums may be wrong by.
void expect_bf16(Tensors& t, const char* name, const std::vector<Near>& want) {
  std::vector<float> got(want.size());
  ASSERT_EQ(t.bytes(name), static_cast<int64_t>(2 * want.size()));
  ASSERT_TRUE(
      decode(DType::bf16, t.data<std::byte>(name), static_cast<int64_t>(got.size()), got.data()));
  for (size_t i = 0; i < want.size(); ++i) {
    const double bound = 0x1p-8 * (std::fabs(want[i].v) + want[i].e) + want[i].e;
    ASSERT_LT(want[i].e, 0.002 * (1 + std::fabs(want[i].v))) << "an error that large says nothing";
    ASSERT_NEAR(static_cast<double>(got[i]), want[i].v, bound) << name << " " << i;
  }
}

// sonic-moe#63, quack#133: gated FC1 in bf16, M = 256, 2n = 256, K = 256, pre-activations of unit
// scale. Both h and the activation are right in every column, whatever the packing.
TEST(Glu, GatedFc1InBf16) {
  constexpr int64_t kM = 256, kN = 256, kK = 256;
  const auto x = normal_bf16(kM * kK, 1, 31);
  const auto w = normal_bf16(kN * kK, 1.0 / 16, 32);
  std::vector<Near> h;
  for (int64_t i = 0; i < kM * kN; ++i) {
    double sum = 0, magnitude = 0;
    for (int64_t k = 0; k < kK; ++k) {
      const double term = static_cast<double>(x[static_cast<size_t>(i / kN * kK + k)]) *
                          static_cast<double>(w[static_cast<size_t>(i % kN * kK + k)]);
      sum += term;
      magnitude += std::fabs(term);
    }
    h.emplace_back(sum, kK * kUnit * magnitude);  // f32 additions in any order
  }
  for (const Packing packing : {Packing::split, Packing::interleaved, Packing::bands32}) {
    SCOPED_TRACE(std::string(name(packing)));
    Builder g("fc1");
    const auto pre = g.add(GroupedGemm{.a = g.input("x", {kM, kK}, DType::bf16),
                                       .b = g.weights("w", {1, kN, kK}, DType::bf16),
                                       .groups = g.groups("ends", 1, GroupForm::ends)});
    g.output("h", pre, {.dtype = DType::bf16});
    g.output("y", pre.then(Glu{.act = GluAct::swiglu, .packing = packing}), {.dtype = DType::bf16});
    Bench bench(finish(g));
    put_bf16(bench.tensors, "x", x);
    put_bf16(bench.tensors, "w", w);
    bench.tensors.set<int32_t>("ends", {kM});
    bench.run_well();
    expect_bf16(bench.tensors, "h", h);
    const int64_t band = packing == Packing::split ? kN / 2 : packing == Packing::bands32 ? 32 : 1;
    std::vector<Near> y;
    for (int64_t i = 0; i < kM * kN / 2; ++i) {
      const int64_t n = i % (kN / 2);
      const auto gate = static_cast<size_t>(i / (kN / 2) * kN + n / band * 2 * band + n % band);
      y.push_back(h[gate] * sigmoid(h[gate]) * h[gate + static_cast<size_t>(band)]);
    }
    expect_bf16(bench.tensors, "y", y);
  }
}

TEST(Glu, MistakesAreFound) {
  Builder g("wrong");
  const auto x = g.add(Load{.x = g.input("x", {4, 24}, DType::f32)});
  const auto odd = g.add(Load{.x = g.input("odd", {4, 5}, DType::f32)});
  const auto d = g.dynamic("N", 64);
  const auto named = g.add(Load{.x = g.input("named", {4, d}, DType::f32)});
  const auto swiglu = GluAct::swiglu;
  g.output("a", odd.then(Glu{.act = swiglu, .packing = Packing::split}));
  g.output("b", x.then(Glu{.act = swiglu, .packing = Packing::bands8}));
  g.output("c", x.then(Glu{.act = swiglu, .packing = Packing::bands32}));
  g.output("d", named.then(Glu{.act = swiglu, .packing = Packing::split}));
  g.output("e", x.then(Glu{.act = swiglu, .packing = Packing::split, .limit = -1.0f}));
  g.output("f", x.then(Glu{.act = swiglu, .packing = Packing::split, .up_bound = 1.0f}));
  g.output("g", x.then(Glu{.act = GluAct::situ, .packing = Packing::split, .alpha = 1.0f}));
  const Findings f = std::move(g).finish().findings();
  const char* wanted[7][2] = {{"E-SHAPE", "in"},        {"E-SHAPE", "in"},
                              {"E-SHAPE", "in"},        {"E-SHAPE", "in"},
                              {"E-ATTRIBUTE", "limit"}, {"E-ATTRIBUTE", "up_bound"},
                              {"E-ATTRIBUTE", "alpha"}};
  ASSERT_EQ(f.size(), 7) << f.text();
  for (int i = 0; i < 7; ++i) {
    EXPECT_EQ(f[i].op, "glu") << f.text();
    EXPECT_EQ(f[i].code, wanted[i][0]) << f.text();
    EXPECT_EQ(f[i].field, wanted[i][1]) << f.text();
  }
}

TEST(Glu, InfiniteLimitIsReadBack) {
  Builder g("limit");
  const auto x = g.add(Load{.x = g.input("x", {4, 24}, DType::f32)});
  g.output("y", x.then(Glu{.act = GluAct::geglu, .packing = Packing::split, .limit = kInfinity}));
  const Graph graph = finish(g);
  EXPECT_TRUE(has(graph.json(), "\"limit\":\"inf\"")) << graph.json();
  const Result<Graph> again = parse_json(graph.json());
  ASSERT_TRUE(again) << again.findings().text();
  EXPECT_EQ(again->key(), graph.key());
}

}  // namespace
}  // namespace cohort::test
