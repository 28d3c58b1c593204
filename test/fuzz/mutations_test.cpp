// Graphs that are damaged at random: none is accepted that means nothing, and none that is accepted
// breaks a plan or a run. COHORT_MUTATIONS in the environment asks for more of them.
#include <cstdio>
#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

#include <cohort/plan.h>

#include "fuzz/mutate.h"
#include "fuzz/seeds.h"
#include "fuzz/verdict.h"

namespace cohort::test {
namespace {

TEST(Mutations, SeedsThemselvesRun) {
  ASSERT_GT(seeds().size(), 20u);
  int ran = 0;
  for (const Seed& s : seeds()) {
    const Verdict v = judge(s.json, 3);
    EXPECT_EQ(v.problem, "") << s.label;
    EXPECT_TRUE(v.accepted) << s.label;
    ran += v.ran ? 1 : 0;
  }
  EXPECT_GT(ran, static_cast<int>(seeds().size() / 2));
}

// Each row goes to a place of its own, so these come to their end and not to E-INDEX.
TEST(Mutations, SeedsThatScatterRun) {
  int scattered = 0;
  for (const Seed& s : seeds()) {
    if (s.json.find("\"scatter\":\"") == std::string::npos) continue;
    EXPECT_TRUE(judge(s.json, 2).ran) << s.label;
    ++scattered;
  }
  EXPECT_GT(scattered, 0);
}

TEST(Mutations, AreRefusedOrRun) {
  const char* asked = std::getenv("COHORT_MUTATIONS");
  const int64_t count = asked == nullptr ? 4000 : std::atoll(asked);
  Mutator mutator(20261130);
  int64_t accepted = 0;
  int64_t planned = 0;
  int64_t ran = 0;
  int64_t problems = 0;
  for (int64_t i = 0; i < count && problems < 20; ++i) {
    const Seed& a = seeds()[mutator.below(seeds().size())];
    const Seed& b = seeds()[mutator.below(seeds().size())];
    const std::string text = mutator.damaged(a.json, b.json);
    const Verdict v = judge(text, static_cast<uint64_t>(i));
    accepted += v.accepted ? 1 : 0;
    planned += v.planned ? 1 : 0;
    ran += v.ran ? 1 : 0;
    if (v.problem.empty()) continue;
    ++problems;
    ADD_FAILURE() << "mutation " << i << " of " << a.label << ": " << v.problem << "\n" << text;
  }
  std::printf("%lld damaged graphs: %lld accepted, %lld planned, %lld ran to their end\n",
              static_cast<long long>(count), static_cast<long long>(accepted),
              static_cast<long long>(planned), static_cast<long long>(ran));
  // Otherwise they prove nothing.
  EXPECT_GT(accepted, count / 50);
  EXPECT_GT(ran, count / 200);
  EXPECT_LT(accepted, count * 9 / 10);
}

}  // namespace
}  // namespace cohort::test
