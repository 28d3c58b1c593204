#include <gtest/gtest.h>

#include <cstddef>
#include <limits>
#include <set>
#include <vector>

#include <cohort/numerics.h>

namespace cohort::test {
namespace {

std::vector<std::byte> numbered(int64_t n) {
  std::vector<std::byte> x(static_cast<size_t>(n));
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<std::byte>(i * 31 % 251 + 1);
  return x;
}

// The atom as pictures of it show: 32 rows of 16 bytes, each with 4 rows of the matrix.
int64_t atom_byte(int64_t r, int64_t s) { return (r % 32) * 16 + (r / 32) * 4 + s; }

TEST(Layout, OneAtom) {
  const ScaleMatrix m{.rows = 128, .columns = 128};
  for (int64_t r = 0; r < 128; ++r) {
    for (int64_t s = 0; s < 4; ++s) {
      EXPECT_EQ(*scale_offset(m, r, s * 32 + 31), atom_byte(r, s));
    }
  }
}

TEST(Layout, AtomsStandRowByRow) {
  const ScaleMatrix m{.rows = 300, .columns = 32 * 9};
  EXPECT_EQ(*scale_bytes(m), 3 * 3 * 512);
  EXPECT_EQ(*scale_offset(m, 0, 32 * 4), 512);
  EXPECT_EQ(*scale_offset(m, 128, 0), 3 * 512);
  EXPECT_EQ(*scale_offset(m, 299, 32 * 8), (2 * 3 + 2) * 512 + atom_byte(43, 0));
}

TEST(Layout, SizePerGroupIsPadded) {
  // 64 x 64 MXFP8: (64, 2) compact, (128, 4) tiled; groups of 40 and 200 rows.
  EXPECT_EQ(*scale_bytes(ScaleLayout::linear, 64, 64, 32), 64 * 2);
  EXPECT_EQ(*scale_bytes(ScaleLayout::tiled_128x4, 64, 64, 32), 128 * 4);
  EXPECT_EQ(*scale_bytes(ScaleLayout::tiled_128x4, 40, 64, 32), 128 * 4);
  EXPECT_EQ(*scale_bytes(ScaleLayout::tiled_128x4, 200, 64, 32), 256 * 4);
}

TEST(Layout, ShiftedGroupsStartAtTheirOwnTile) {
  const int64_t boundaries[] = {0, 5, 135, 135, 263};
  const ScaleMatrix m{
      .layout = ScaleLayout::shifted_128, .rows = 263, .columns = 128, .boundaries = boundaries};
  EXPECT_EQ(*scale_bytes(m), 6 * 512);
  EXPECT_EQ(*scale_bytes_bound(m, 4), 6 * 512);
  EXPECT_EQ(*scale_offset(m, 0, 0), 0);
  EXPECT_EQ(*scale_offset(m, 5, 0), 512);
  EXPECT_EQ(*scale_offset(m, 134, 0), 2 * 512 + atom_byte(1, 0));
  EXPECT_EQ(*scale_offset(m, 135, 0), 4 * 512);
}

// TE#2924: groups of 40 and 200 rows take roundup(rows, 128) rows of scales each.
TEST(Layout, PaddedGroupsStartAtTheNextTile) {
  const int64_t two[] = {0, 40, 240};
  const ScaleMatrix padded{
      .layout = ScaleLayout::padded_128, .rows = 240, .columns = 64, .boundaries = two};
  EXPECT_EQ(*scale_bytes(padded), (128 + 256) * 4);
  EXPECT_EQ(*scale_offset(padded, 39, 33), atom_byte(39, 1));
  EXPECT_EQ(*scale_offset(padded, 40, 0), 512);
  EXPECT_EQ(*scale_offset(padded, 239, 0), 2 * 512 + atom_byte(71, 0));
  const int64_t boundaries[] = {0, 5, 135, 135, 263};
  const ScaleMatrix m{
      .layout = ScaleLayout::padded_128, .rows = 263, .columns = 128, .boundaries = boundaries};
  EXPECT_EQ(*scale_bytes(m), 4 * 512);
  EXPECT_EQ(*scale_bytes_bound(m, 4), 6 * 512);
  EXPECT_EQ(*scale_offset(m, 5, 0), 512);
  EXPECT_EQ(*scale_offset(m, 134, 0), 2 * 512 + atom_byte(1, 0));
  EXPECT_EQ(*scale_offset(m, 135, 0), 3 * 512);
}

TEST(Layout, PerGroupIsARunningSum) {
  const int64_t boundaries[] = {0, 128, 128, 161};
  const ScaleMatrix m{
      .layout = ScaleLayout::per_group, .rows = 200, .columns = 48, .boundaries = boundaries};
  EXPECT_EQ(*scale_bytes(m), 2 * 512);
  EXPECT_EQ(*scale_bytes_bound(m, 3), 512 * (2 + 3));
  EXPECT_EQ(*scale_offset(m, 127, 47), atom_byte(47, 3));
  EXPECT_EQ(*scale_offset(m, 128, 0), 512);
  EXPECT_EQ(*scale_offset(m, 160, 1), 512 + atom_byte(1, 1));
  EXPECT_EQ(scale_offset(m, 161, 0).findings()[0].code, "E-GROUPS");
}

TEST(Layout, GlobalIsOneMatrixOfFeatures) {
  const ScaleMatrix m{.layout = ScaleLayout::global, .rows = 300, .columns = 130};
  EXPECT_EQ(*scale_bytes(m), 2 * 3 * 512);
  EXPECT_EQ(*scale_offset(m, 299, 129), (3 + 2) * 512 + atom_byte(1, 1));
}

TEST(Layout, EveryScaleHasAByteOfItsOwn) {
  const int64_t boundaries[] = {3, 40, 40, 171, 290};
  for (ScaleLayout layout :
       {ScaleLayout::tiled_128x4, ScaleLayout::linear, ScaleLayout::shifted_128,
        ScaleLayout::padded_128, ScaleLayout::per_group}) {
    const ScaleMatrix m{.layout = layout, .rows = 300, .columns = 70, .boundaries = boundaries};
    const bool by_column = layout == ScaleLayout::per_group;
    std::set<int64_t> seen;
    int64_t count = 0;
    for (size_t g = 0; g + 1 < std::size(boundaries); ++g) {
      for (int64_t r = boundaries[g]; r < boundaries[g + 1]; r += by_column ? 32 : 1) {
        for (int64_t c = 0; c < 70; c += by_column ? 1 : 32, ++count) {
          const int64_t at = *scale_offset(m, r, c);
          EXPECT_LT(at, *scale_bytes(m));
          seen.insert(at);
        }
      }
    }
    EXPECT_EQ(static_cast<int64_t>(seen.size()), count) << name(layout);
    EXPECT_LE(*scale_bytes(m), *scale_bytes_bound(m, 4)) << name(layout);
  }
}

TEST(Layout, SwizzleHasAnInverseAndZeroPadding) {
  for (const auto& [rows, columns] :
       {std::pair<int64_t, int64_t>{1, 1}, {128, 4}, {130, 9}, {31, 5}, {257, 3}, {0, 4}}) {
    const auto linear = numbered(rows * columns);
    const int64_t bytes = *scale_bytes(ScaleLayout::tiled_128x4, rows, columns, 1);
    std::vector<std::byte> tiled(static_cast<size_t>(bytes), std::byte{0xFF});
    ASSERT_TRUE(swizzle_scales(rows, columns, linear.data(), tiled.data()));
    int64_t zeros = 0;
    for (std::byte b : tiled) zeros += b == std::byte{0} ? 1 : 0;
    EXPECT_EQ(zeros, bytes - rows * columns);
    std::vector<std::byte> back(linear.size());
    ASSERT_TRUE(unswizzle_scales(rows, columns, tiled.data(), back.data()));
    EXPECT_EQ(back, linear);
  }
}

TEST(Layout, NamesWhatIsWrong) {
  constexpr int64_t kHuge = std::numeric_limits<int64_t>::max() / 2;
  EXPECT_EQ(scale_bytes(ScaleLayout::linear, kHuge, kHuge, 32).findings()[0].code, "E-OVERFLOW");
  EXPECT_EQ(scale_bytes(ScaleLayout::linear, -1, 4, 32).findings()[0].field, "rows");
  EXPECT_EQ(scale_bytes(ScaleLayout::linear, 1, 4, 0).findings()[0].field, "block");
  EXPECT_EQ(scale_bytes(ScaleLayout::per_group, 1, 4, 32).findings()[0].code, "E-LAYOUT");
  const int64_t falling[] = {0, 5, 4};
  EXPECT_EQ(scale_bytes({.layout = ScaleLayout::per_group, .rows = 9, .boundaries = falling})
                .findings()[0]
                .field,
            "boundaries[2]");
  const int64_t past[] = {0, 10};
  EXPECT_FALSE(scale_bytes({.layout = ScaleLayout::per_group, .rows = 9, .boundaries = past}));
  EXPECT_EQ(scale_offset({.rows = 9, .columns = 4}, 9, 0).findings()[0].wanted, "0 to 8");
}

TEST(Glu, PackingsOfSixtyFourFeatures) {
  // Feature i of gate is i, of up 100 + i.
  std::vector<std::byte> split(64);
  for (int i = 0; i < 32; ++i) {
    split[static_cast<size_t>(i)] = static_cast<std::byte>(i);
    split[static_cast<size_t>(32 + i)] = static_cast<std::byte>(100 + i);
  }
  const GluMatrix m{.dtype = DType::e4m3, .features = 64};
  std::vector<std::byte> packed(64);
  ASSERT_TRUE(pack_glu(Packing::interleaved, m, split.data(), packed.data()));
  EXPECT_EQ(packed[6], std::byte{3});
  EXPECT_EQ(packed[7], std::byte{103});
  ASSERT_TRUE(pack_glu(Packing::bands8, m, split.data(), packed.data()));
  EXPECT_EQ(packed[7], std::byte{7});
  EXPECT_EQ(packed[8], std::byte{100});
  EXPECT_EQ(packed[16], std::byte{8});
  ASSERT_TRUE(pack_glu(Packing::bands32, m, split.data(), packed.data()));
  EXPECT_EQ(packed, split);
}

TEST(Glu, EveryPairOfPackingsIsInverse) {
  constexpr Packing kAll[] = {Packing::split, Packing::interleaved, Packing::bands8,
                              Packing::bands32};
  for (DType type : {DType::bf16, DType::e2m1, DType::e3m2, DType::f32}) {
    for (int64_t inner : {1, 3, 8}) {
      const GluMatrix m{.dtype = type, .outer = 3, .features = 192, .inner = inner};
      const auto source = numbered(*code_bytes(type, 3 * 192 * inner));
      for (Packing from : kAll) {
        for (Packing to : kAll) {
          std::vector<std::byte> there(source.size());
          std::vector<std::byte> back(source.size());
          ASSERT_TRUE(repack_glu(from, to, m, source.data(), there.data()));
          ASSERT_TRUE(repack_glu(to, from, m, there.data(), back.data()));
          EXPECT_EQ(back, source) << name(type) << " " << name(from) << " " << name(to);
          EXPECT_EQ(there == source, from == to);
        }
      }
    }
  }
}

TEST(Glu, NamesWhatIsWrong) {
  std::byte b[64] = {};
  const Status odd = pack_glu(Packing::bands8, {.features = 24}, b, b);
  ASSERT_FALSE(odd);
  EXPECT_EQ(odd.findings()[0].wanted, "a multiple of 16 for bands8");
  EXPECT_FALSE(pack_glu(Packing::split, {.features = 3}, b, b));
  EXPECT_EQ(pack_glu(Packing::split, {.outer = int64_t{1} << 40, .features = 1 << 30}, b, b)
                .findings()[0]
                .code,
            "E-OVERFLOW");
}

}  // namespace
}  // namespace cohort::test
