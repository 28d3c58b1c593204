// What converts to extents, lists and optional fields.
#include <cohort/cohort.h>
#include <gtest/gtest.h>

#include <type_traits>

namespace cohort {
namespace {

TEST(Extents, EveryIntegerIsOne) {
  EXPECT_EQ(Dim(int16_t{3}).bound(), 3);
  EXPECT_EQ(Dim(size_t{3}).bound(), 3);
  EXPECT_EQ(Dim(3u).bound(), 3);
  EXPECT_EQ(Dim(3ll).bound(), 3);
  EXPECT_EQ(Dim(-3).bound(), -3);
  EXPECT_EQ(Dim(UINT64_MAX).bound(), INT64_MAX) << "and not -1";
  EXPECT_EQ(Dim(INT64_MIN).bound(), INT64_MIN);
}

TEST(Extents, NothingElseIsOne) {
  EXPECT_FALSE((std::is_convertible_v<bool, Dim>));
  EXPECT_FALSE((std::is_convertible_v<char, Dim>));
  EXPECT_FALSE((std::is_convertible_v<char16_t, Dim>));
  EXPECT_FALSE((std::is_convertible_v<double, Dim>));
  EXPECT_FALSE((std::is_convertible_v<DType, Dim>));
  EXPECT_TRUE((std::is_convertible_v<unsigned char, Dim>));
}

TEST(Extents, PackedViewsHaveNoStrideThatOverflows) {
  const int64_t large = int64_t{1} << 62;
  const TensorView v = TensorView::packed(nullptr, DType::f32, {0, large, large});
  EXPECT_EQ(v.strides[2], 1);
  EXPECT_EQ(v.strides[1], large);
  EXPECT_EQ(v.strides[0], INT64_MAX);
}

TEST(Extents, NoExtentIsDropped) {
  const TensorView v = TensorView::packed(nullptr, DType::f32, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  EXPECT_EQ(v.rank, 9) << "which whoever takes the view refuses";
  EXPECT_EQ(v.shape[7], 8);
}

TEST(Lists, ABuiltInArrayIsOne) {
  const Size sizes[] = {{"T", 1}, {"U", 2}};
  const Sizes list = sizes;
  ASSERT_EQ(list.size(), 2);
  EXPECT_EQ(list[1].name, "U");
}

// NOLINTBEGIN(clang-diagnostic-self-assign-overloaded): what is tested
TEST(Optional, AssignedToItselfItStays) {
  Maybe<float> f = 3.0F;
  Maybe<float>& same = f;
  f = same;
  ASSERT_TRUE(f);
  EXPECT_EQ(*f, 3.0F);
  Builder g("g");
  Maybe<Tensor> x = g.input("x", {2, 2}, DType::f32);
  Maybe<Tensor>& same_x = x;
  x = same_x;
  ASSERT_TRUE(x);
  Maybe<Tensor> none;
  x = none;
  EXPECT_FALSE(x);
}
// NOLINTEND(clang-diagnostic-self-assign-overloaded)

}  // namespace
}  // namespace cohort
