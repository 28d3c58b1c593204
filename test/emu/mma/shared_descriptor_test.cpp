// Shared-memory descriptors: fields, reserved bits, addresses.
#include "emu/mma/shared_descriptor.h"

#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace cohort::emu {
namespace {

constexpr uint64_t kVersion = uint64_t{1} << 46;

uint64_t fields(uint64_t start, uint64_t lbo, uint64_t sbo) {
  return start >> 4 | (lbo >> 4) << 16 | (sbo >> 4) << 32;
}

std::string only_field(const Decoded<SharedDescriptor>& d) {
  return d.faults.size() == 1 ? d.faults[0].field : std::to_string(d.faults.size()) + " faults";
}

TEST(SharedDescriptor, FieldsOfTcgen05) {
  const uint64_t bits =
      fields(0x3FFF0, 0x10, 1024) | kVersion | uint64_t{5} << 49 | uint64_t{2} << 61;
  const auto d = decode_tcgen05_descriptor(bits);
  EXPECT_TRUE(d.is_legal());
  EXPECT_EQ(d.value.start, 0x3FFF0U);
  EXPECT_EQ(d.value.leading, 0x10U);
  EXPECT_EQ(d.value.stride, 1024U);
  EXPECT_EQ(d.value.base_offset, 5);
  EXPECT_EQ(d.value.swizzle, Swizzle::bytes128);
  EXPECT_FALSE(d.value.leading_is_address);
}

TEST(SharedDescriptor, SwizzleCodes) {
  const auto tcgen05 = [](uint64_t code) {
    return decode_tcgen05_descriptor(kVersion | code << 61);
  };
  EXPECT_EQ(tcgen05(0).value.swizzle, Swizzle::none);
  EXPECT_EQ(tcgen05(1).value.swizzle, Swizzle::bytes128_atom32);
  EXPECT_EQ(tcgen05(4).value.swizzle, Swizzle::bytes64);
  EXPECT_EQ(tcgen05(6).value.swizzle, Swizzle::bytes32);
  for (const uint64_t code : {3U, 5U, 7U}) {
    const auto d = tcgen05(code);
    EXPECT_EQ(only_field(d), "swizzle (bits 61-63)");
    EXPECT_EQ(d.faults.at(0).got, code);
    EXPECT_EQ(d.faults.at(0).wanted, "0, 1, 2, 4 or 6");
  }
  const auto wgmma = [](uint64_t code) {
    return decode_wgmma_descriptor(code << 62).value.swizzle;
  };
  EXPECT_EQ(wgmma(0), Swizzle::none);
  EXPECT_EQ(wgmma(1), Swizzle::bytes128);
  EXPECT_EQ(wgmma(2), Swizzle::bytes64);
  EXPECT_EQ(wgmma(3), Swizzle::bytes32);
}

// Every bit that is no field is reported, alone, and no bit of a field is.
TEST(SharedDescriptor, ReservedBits) {
  for (int bit = 0; bit < 64; ++bit) {
    const uint64_t one = uint64_t{1} << bit;
    const bool reserved_in_both = bit == 14 || bit == 15 || bit == 30 || bit == 31;
    const bool version = bit >= 46 && bit <= 48;
    const auto tcgen05 = decode_tcgen05_descriptor(kVersion ^ one);
    // Bit 52 wants another swizzle; bits 61 to 63 alone are swizzles.
    const bool bad = reserved_in_both || version || (bit >= 52 && bit <= 60);
    EXPECT_EQ(tcgen05.faults.size(), bad ? 1U : 0U) << bit;
    const auto wgmma = decode_wgmma_descriptor(one);
    EXPECT_EQ(wgmma.faults.size(),
              reserved_in_both || version || (bit >= 52 && bit <= 61) ? 1U : 0U)
        << bit;
  }
}

TEST(SharedDescriptor, AnAddressInPlaceOfTheLeadingOffset) {
  const uint64_t bits = kVersion | uint64_t{1} << 52 | uint64_t{2} << 61;
  const auto d = decode_tcgen05_descriptor(bits | fields(0x400 + 96, 0x2000, 1024));
  ASSERT_TRUE(d.is_legal());
  EXPECT_EQ(operand_address(d.value, Major::k, 0, 31), 0x400 + 127U);
  EXPECT_EQ(operand_address(d.value, Major::k, 0, 32), 0x2000U);
  EXPECT_EQ(operand_address(d.value, Major::k, 8, 47), 0x2400 + 15U);
  EXPECT_EQ(operand_address(d.value, Major::k, 1, 32), 0x2080U ^ 0x10)
      << "swizzled as its own line";
  EXPECT_EQ(only_field(decode_tcgen05_descriptor(bits | uint64_t{1} << 49)),
            "base offset (bits 49-51)");
}

struct Golden {
  Swizzle swizzle;
  Major major;
  uint64_t mn;
  uint64_t k;
  uint64_t address;
};

// start 0x1000, LBO 0x200, SBO 0x800. By hand from the table of canonical layouts.
TEST(SharedDescriptor, AddressesByHand) {
  const Golden rows[] = {
      {Swizzle::none, Major::k, 3, 5, 0x1000 + 3 * 16 + 5},
      {Swizzle::none, Major::k, 9, 20, 0x1000 + 0x800 + 16 + 0x200 + 4},
      {Swizzle::bytes32, Major::k, 3, 17, 0x1000 + 3 * 32 + 17},
      {Swizzle::bytes32, Major::k, 5, 17, 0x1000 + 5 * 32 + 1},
      {Swizzle::bytes64, Major::k, 2, 0, 0x1000 + 2 * 64 + 16},
      {Swizzle::bytes64, Major::k, 7, 48, 0x1000 + 7 * 64},
      {Swizzle::bytes128, Major::k, 1, 0, 0x1000 + 128 + 16},
      {Swizzle::bytes128, Major::k, 7, 33, 0x1000 + 7 * 128 + (0x2 ^ 7) * 16 + 1},
      {Swizzle::bytes128, Major::k, 17, 64, 0x1000 + 2 * 0x800 + 128 + (0x4 ^ 1) * 16},
      {Swizzle::none, Major::mn, 35, 2, 0x1000 + 3 + 2 * 0x800 + 2 * 16},
      {Swizzle::none, Major::mn, 0, 11, 0x1000 + 3 * 16 + 0x200},
      {Swizzle::bytes32, Major::mn, 33, 4, 0x1000 + 1 + 0x200 + 4 * 32 + 16},
      {Swizzle::bytes64, Major::mn, 70, 10, 0x1000 + 6 + 0x200 + 2 * 64 + 0x800 + 16},
      {Swizzle::bytes128, Major::mn, 130, 13,
       0x1000 + 2 + 0x200 + 5 * 128 + 0x800 + (5 + 4) % 8 * 16},
      {Swizzle::bytes128_atom32, Major::mn, 40, 6, 0x1000 + 8 + (0x1 ^ 2) * 32 + 2 * 128 + 0x800},
  };
  SharedDescriptor d{.start = 0x1000, .leading = 0x200, .stride = 0x800};
  for (const Golden& row : rows) {
    d.swizzle = row.swizzle;
    EXPECT_EQ(operand_address(d, row.major, row.mn, row.k), row.address)
        << static_cast<int>(row.swizzle) << ' ' << static_cast<int>(row.major) << ' ' << row.mn
        << ' ' << row.k;
  }
}

// A dense tile of 64 lines fills its bytes, each once, in every layout.
TEST(SharedDescriptor, DenseTilesAreFilledOnce) {
  for (const Swizzle swizzle : {Swizzle::none, Swizzle::bytes32, Swizzle::bytes64,
                                Swizzle::bytes128, Swizzle::bytes128_atom32}) {
    for (const Major major : {Major::k, Major::mn}) {
      const bool atom32 = swizzle == Swizzle::bytes128_atom32;
      if (atom32 && major == Major::k) continue;
      const uint32_t line = line_bytes(swizzle);
      const uint32_t group = (atom32 ? 4 : 8) * line;
      SharedDescriptor d{.start = 0x2000, .swizzle = swizzle};
      // 64 bytes of k in `none`, one line elsewhere; MN-major: 256 bytes by 16 rows.
      const bool plain = swizzle == Swizzle::none;
      const uint64_t mn = major == Major::k ? 64 : 256;
      const uint64_t k = major == Major::k ? (plain ? 64 : line) : 16;
      if (major == Major::k) {
        d.leading = 16 * 64;
        d.stride = group;
      } else {
        // Groups of rows follow each other, then the next line.
        const uint32_t rows = group;
        const uint32_t lines = group * (16 / (atom32 ? 4 : 8));
        d.leading = plain ? rows : lines;
        d.stride = plain ? lines : rows;
      }
      std::set<uint64_t> seen;
      for (uint64_t i = 0; i < mn; ++i) {
        for (uint64_t j = 0; j < k; ++j) seen.insert(operand_address(d, major, i, j));
      }
      EXPECT_EQ(seen.size(), mn * k);
      EXPECT_EQ(*seen.begin(), 0x2000U);
      EXPECT_EQ(*seen.rbegin(), 0x2000 + mn * k - 1) << static_cast<int>(swizzle);
    }
  }
}

// The same bytes, moved by 384: the pattern begins at line 3, and the base offset says so.
TEST(SharedDescriptor, TheBaseOffsetMovesThePattern) {
  for (const Swizzle swizzle : {Swizzle::bytes32, Swizzle::bytes64, Swizzle::bytes128}) {
    SharedDescriptor d{.start = 0x1000, .stride = 8 * line_bytes(swizzle), .swizzle = swizzle};
    SharedDescriptor moved = d;
    moved.start += 384;
    moved.base_offset = 3;
    for (uint64_t row = 0; row < 32; ++row) {
      EXPECT_EQ(operand_address(moved, Major::k, row, 3),
                operand_address(d, Major::k, row, 3) + 384);
    }
  }
}

// A step along k inside of a line is a larger start, nothing else.
TEST(SharedDescriptor, StepsInsideOfALine) {
  SharedDescriptor d{.start = 0x800, .stride = 1024, .swizzle = Swizzle::bytes128};
  SharedDescriptor later = d;
  later.start += 64;
  for (uint64_t row = 0; row < 24; ++row) {
    EXPECT_EQ(operand_address(later, Major::k, row, 5), operand_address(d, Major::k, row, 69));
  }
}

}  // namespace
}  // namespace cohort::emu
