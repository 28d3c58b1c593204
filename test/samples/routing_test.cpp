// The routing helper of the samples.
#include "../../samples/common/routing.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <vector>

namespace sample {
namespace {

// flashinfer#2822: all logits negative.
TEST(Routing, NegativeLogitsAreRankedLikeOthers) {
  const std::vector<float> logits{-9, -1, -5, -3, -7, -2, -8, -6};
  const Routing r = route(logits, 8, 2);
  EXPECT_EQ(r.expert, (std::vector<int32_t>{1, 5}));
  EXPECT_NEAR(r.weight[0], 0.7311, 5e-5);
  EXPECT_NEAR(r.weight[1], 0.2689, 5e-5);
  EXPECT_EQ(r.ends, (std::vector<int32_t>{0, 1, 1, 1, 1, 2, 2, 2}));
}

TEST(Routing, TiesGoToTheLowerExpertAndNaNComesLast) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(top_k(std::vector<float>{1, 3, 3, nan, 3, 0}, 6, 6),
            (std::vector<int32_t>{1, 2, 4, 0, 5, 3}));
}

TEST(Routing, RowsAndEntriesAreInverseAndGroupsHoldTheirExpert) {
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  std::vector<float> logits(50 * 7);
  for (float& l : logits) l = normal(random);
  const Routing r = route(logits, 7, 3);
  ASSERT_EQ(r.entry.size(), 150u);
  for (size_t row = 0; row < r.entry.size(); ++row) {
    const auto entry = static_cast<size_t>(r.entry[row]);
    EXPECT_EQ(r.row[entry], static_cast<int32_t>(row));
    EXPECT_EQ(r.token[row], static_cast<int32_t>(entry / 3));
    EXPECT_EQ(r.row_weight[row], r.weight[entry]);
    const auto e = static_cast<size_t>(r.expert[entry]);
    EXPECT_LT(static_cast<int32_t>(row), r.ends[e]);
    EXPECT_GE(static_cast<int32_t>(row), e > 0 ? r.ends[e - 1] : 0);
  }
}

}  // namespace
}  // namespace sample
