// The path of a layer without its activation, forward and backward in one graph: gather, product,
// combine; then the gradients of tokens, weights and scores, against finite differences in f64.
#include <vector>

#include <cohort/numerics.h>

#include "engine/gemm_case.h"

namespace cohort::test {
namespace {

constexpr int64_t kTokens = 6, kTopK = 2, kExperts = 3, kIn = 8, kOut = 5;
constexpr int64_t kRows = kTokens * kTopK;

struct Numbers {
  std::vector<double> x, w, s;  // (tokens, in), (experts, out, in), (tokens, top_k)
};

struct Routing {
  std::vector<int32_t> ends{5, 5, 12};                              // expert 1 gets nothing
  std::vector<int32_t> scat{3, 0, 8, 6, 11, 1, 2, 4, 5, 7, 9, 10};  // row -> entry
  std::vector<int32_t> tok, rev;

  Routing() : tok(scat.size()), rev(scat.size()) {
    for (size_t r = 0; r < scat.size(); ++r) {
      tok[r] = scat[r] / static_cast<int32_t>(kTopK);
      rev[static_cast<size_t>(scat[r])] = static_cast<int32_t>(r);
    }
  }
  [[nodiscard]] int64_t expert(int64_t row) const {
    int64_t e = 0;
    while (row >= ends[static_cast<size_t>(e)]) ++e;
    return e;
  }
};

// sum of c * o, o as the formulas say.
double loss(const Routing& routing, const Numbers& v, const std::vector<float>& c) {
  double sum = 0;
  for (int64_t r = 0; r < kRows; ++r) {
    const auto entry = static_cast<size_t>(routing.scat[static_cast<size_t>(r)]);
    const int64_t token = routing.tok[static_cast<size_t>(r)];
    for (int64_t n = 0; n < kOut; ++n) {
      double y = 0;
      for (int64_t k = 0; k < kIn; ++k) {
        y += v.x[static_cast<size_t>(token * kIn + k)] *
             v.w[static_cast<size_t>((routing.expert(r) * kOut + n) * kIn + k)];
      }
      sum += static_cast<double>(c[static_cast<size_t>(token * kOut + n)]) * v.s[entry] * y;
    }
  }
  return sum;
}

Graph layer() {
  Builder g("layer");
  const auto x = g.input("x", {kTokens, kIn}, DType::bf16);
  const auto w = g.weights("w", {kExperts, kOut, kIn}, DType::bf16);
  // The same memory, read as the weights of the gradient: (E, in, out), N-major.
  const auto w_t = g.weights("w_t", {kExperts, kIn, kOut}, DType::bf16, {.major = Major::n});
  const auto ends = g.groups("ends", kExperts, GroupForm::ends);
  const auto tok = g.index("tok", kRows);
  const auto rev = g.index("rev", {kTokens, kTopK});
  const auto s = g.input("s", {kTokens, kTopK}, DType::f32);
  const auto d_out = g.input("d_out", {kTokens, kOut}, DType::f32);
  const auto y = g.add(GroupedGemm{.a = x, .b = w, .groups = ends, .gather = tok});
  g.output("o", g.add(Combine{.y = y, .rev = rev, .weights = s}));

  const auto dy = g.add(DCombine{.d_out = d_out,
                                 .scat = g.index("scat", kRows),
                                 .top_k = kTopK,
                                 .weights = s,
                                 .groups = ends})
                      .then(Cast{.to = DType::bf16});
  const auto dx_rows = g.add(GroupedGemm{.a = dy, .b = w_t, .groups = ends});
  g.output("dx", g.add(Combine{.y = dx_rows, .rev = rev}));
  g.output("dw", g.add(GroupedWgrad{.a = dy, .b = x, .groups = ends, .gather_b = tok}));
  g.output("ds", g.add(DCombineWeights{.d_out = d_out, .y = y, .rev = rev}));
  return finish(g);
}

std::vector<double> widened(const std::vector<float>& v) { return {v.begin(), v.end()}; }

void put_bf16(Tensors& t, const char* name, const std::vector<float>& v) {
  ASSERT_EQ(t.bytes(name), static_cast<int64_t>(2 * v.size()));
  ASSERT_TRUE(
      encode(DType::bf16, v.data(), static_cast<int64_t>(v.size()), t.data<std::byte>(name)));
}

TEST(ProductGradients, AgreeWithFiniteDifferences) {
  const Routing routing;
  const std::vector<float> x = whole_numbers(kTokens * kIn, 1);
  const std::vector<float> w = whole_numbers(kExperts * kOut * kIn, 2);
  std::vector<float> s = whole_numbers(kRows, 3);
  for (float& f : s) f = f * 0.25f + 0.125f;
  const std::vector<float> c = whole_numbers(kTokens * kOut, 4);
  Bench bench(layer());
  put_bf16(bench.tensors, "x", x);
  put_bf16(bench.tensors, "w", w);
  put_bf16(bench.tensors, "w_t", w);
  bench.tensors.set("ends", routing.ends);
  bench.tensors.set("tok", routing.tok);
  bench.tensors.set("rev", routing.rev);
  bench.tensors.set("scat", routing.scat);
  bench.tensors.set("s", s);
  bench.tensors.set("d_out", c);
  bench.run_well();

  Numbers v{widened(x), widened(w), widened(s)};
  double total = 0;
  const auto o = bench.tensors.values<float>("o");
  for (size_t i = 0; i < o.size(); ++i) {
    total += static_cast<double>(o[i]) * static_cast<double>(c[i]);
  }
  EXPECT_EQ(total, loss(routing, v, c));
  // The loss is linear in each number, and all numbers are short: differences are exact.
  const auto check = [&](const char* name, std::vector<double>& numbers) {
    const auto got = bench.tensors.values<float>(name);
    ASSERT_EQ(got.size(), numbers.size());
    for (size_t i = 0; i < numbers.size(); ++i) {
      const double at = numbers[i];
      numbers[i] = at + 0.5;
      const double above = loss(routing, v, c);
      numbers[i] = at - 0.5;
      const double below = loss(routing, v, c);
      numbers[i] = at;
      EXPECT_EQ(static_cast<double>(got[i]), above - below) << name << " " << i;
    }
  };
  check("dx", v.x);
  check("dw", v.w);
  check("ds", v.s);
}

}  // namespace
}  // namespace cohort::test
