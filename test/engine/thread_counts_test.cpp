// Sums and maxima over rows do not depend on how many threads there are.
#include <cstdlib>
#include <random>

#include "engine/gemm_case.h"

namespace cohort::test {
namespace {

// Before the library reads it: more threads than one on any machine.
[[maybe_unused]] const int kFourThreads = ::setenv("COHORT_THREADS", "4", 0);

constexpr int64_t kRows = 1100, kN = 96, kK = 128, kTokens = 700, kTopK = 2;
constexpr const char* kOutputs[] = {"tensor", "expert", "half", "d_bias", "o"};

// The product needs enough work for threads; the other ops read it.
Graph described() {
  Builder g("threads");
  const auto ends = g.groups("ends", 2, GroupForm::ends);
  const Value y = g.add(GroupedGemm{.a = g.input("x", {kRows, kK}, DType::f32),
                                    .b = g.weights("w", {2, kN, kK}, DType::f32),
                                    .groups = ends});
  g.output("tensor", y.then(Amax{}));
  g.output("expert", y.then(Amax{.per = AmaxPer::expert}));
  g.output("half", y.then(Amax{.per = AmaxPer::expert_half}));
  g.output("d_bias", y.then(DBias{}));
  g.output("o", g.add(Combine{.y = y, .rev = g.index("rev", Shape{kTokens, kTopK})}));
  return finish(g);
}

// Rows 0 and 400 cancel, and are so large that what is added between them is lost.
std::vector<float> tokens() {
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  std::vector<float> x(kRows * kK);
  for (float& v : x) v = normal(random);
  for (size_t k = 0; k < kK; ++k) {
    x[k] *= 0x1p80f;
    x[400 * kK + k] = -x[k];
  }
  return x;
}

TEST(ThreadCounts, ChangeNoBit) {
  const Graph graph = described();
  std::vector<std::vector<uint8_t>> first;
  for (const int32_t limit : {1, 2, 3, 4, 4, 4}) {
    SCOPED_TRACE("threads " + std::to_string(limit));
    Bench b(graph, {}, {.sm_limit = limit});
    b.tensors.set("x", tokens());
    b.tensors.set("w", whole_numbers(2 * kN * kK, 5));
    b.tensors.set<int32_t>("ends", {900, kRows});
    std::vector<int32_t> rev(kTokens * kTopK);
    for (size_t i = 0; i < rev.size(); ++i) rev[i] = static_cast<int32_t>(i * 613 % kRows);
    b.tensors.set("rev", rev);
    b.run_well();
    for (size_t o = 0; o < std::size(kOutputs); ++o) {
      std::vector<uint8_t> bytes = b.tensors.raw(kOutputs[o]);
      if (limit == 1) {
        first.push_back(std::move(bytes));
      } else {
        EXPECT_TRUE(bytes == first[o]) << kOutputs[o];
      }
    }
  }
}

}  // namespace
}  // namespace cohort::test
