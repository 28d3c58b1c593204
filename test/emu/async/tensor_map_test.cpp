// Encoding of tensor maps: by hand, and against what a driver made of 800 of them.
#include "emu/async/tensor_map.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace cohort::emu {
namespace {

TensorMap matrix() {
  TensorMap m;
  m.type = MapType::bf16;
  m.rank = 2;
  m.address = 0x7F0012345600;
  m.dims = {4096, 1000};
  m.strides = {8192};
  m.box = {64, 128};
  m.element_strides = {1, 1};
  m.swizzle = MapSwizzle::bytes128;
  return m;
}

TEST(TensorMap, IsReadBack) {
  const TensorMap m = matrix();
  ASSERT_FALSE(check(m));
  EXPECT_EQ(decode(encode(m)), m);
  EXPECT_EQ(box_bytes(m), 64 * 128 * 2U);
}

TEST(TensorMap, FaultsSayFieldWantedAndGot) {
  const auto fault = [](auto change) {
    TensorMap m = matrix();
    change(m);
    const auto f = check(m);
    if (!f) return std::string("none");
    const std::string at = f->dimension < 0 ? "" : " " + std::to_string(f->dimension);
    return f->field + at + ": wanted " + f->wanted + ", got " + std::to_string(f->got);
  };
  EXPECT_EQ(fault([](TensorMap& m) { m.rank = 6; }), "rank: wanted 1 to 5, got 6");
  EXPECT_EQ(fault([](TensorMap& m) { m.address += 8; }),
            "address: wanted a multiple of 16, got 139638282147336");
  EXPECT_EQ(fault([](TensorMap& m) { m.strides[0] = 8200; }),
            "strides 1: wanted a multiple of 16 bytes, got 8200");
  EXPECT_EQ(fault([](TensorMap& m) { m.box[0] = 72; }),
            "box 0: wanted at most 128 bytes, as it is swizzled, got 144");
  EXPECT_EQ(fault([](TensorMap& m) { m.box[1] = 257; }), "box 1: wanted 1 to 256, got 257");
  EXPECT_EQ(fault([](TensorMap& m) { m.interleave = MapInterleave::bytes16; }),
            "rank: wanted 3 to 5, as it is interleaved, got 2");
}

// Types and modes that no driver showed are no map.
TEST(TensorMap, UnknownBytesAreNone) {
  TensorMapBytes bytes = encode(matrix());
  bytes[8] |= 0x70;  // rank 8
  EXPECT_FALSE(decode(bytes));
  bytes = encode(matrix());
  bytes[9] |= 0x07;  // type 15
  EXPECT_FALSE(decode(bytes));
}

// A record of the file is what was given to cuTensorMapEncodeTiled, its result, and the bytes.
struct Record {
  uint32_t type;
  uint32_t rank;
  uint64_t address;  ///< Relative to one of the driver's, which is a multiple of 2 MiB.
  uint64_t dims[5];
  uint64_t strides[4];
  uint32_t box[5];
  uint32_t element_strides[5];
  uint32_t interleave;
  uint32_t swizzle;
  uint32_t promotion;
  uint32_t fill;
  uint32_t result;
  uint32_t unused;
  uint8_t bytes[128];
};

TEST(TensorMap, AsADriverMakesThem) {
  std::ifstream in(std::string(COHORT_TEST_DATA) + "/tensor_map/h200.bin", std::ios::binary);
  const std::vector<char> file{std::istreambuf_iterator<char>(in), {}};
  ASSERT_EQ(file.size(), 800 * sizeof(Record));
  int accepted = 0;
  for (size_t at = 0; at < file.size(); at += sizeof(Record)) {
    Record r;
    std::memcpy(&r, file.data() + at, sizeof r);
    TensorMap m;
    m.type = static_cast<MapType>(r.type);
    m.rank = r.rank;
    m.address = r.address;
    for (size_t i = 0; i < std::min<size_t>(r.rank, 5); ++i) {
      m.dims[i] = r.dims[i];
      m.box[i] = r.box[i];
      m.element_strides[i] = r.element_strides[i];
      if (i > 0) m.strides[i - 1] = r.strides[i - 1];
    }
    m.interleave = static_cast<MapInterleave>(r.interleave);
    m.swizzle = static_cast<MapSwizzle>(r.swizzle);
    m.promotion = static_cast<MapPromotion>(r.promotion);
    m.fill = static_cast<MapFill>(r.fill);
    const auto fault = check(m);
    ASSERT_EQ(!fault, r.result == 0)
        << "record " << at / sizeof r << ": " << (fault ? fault->field : "accepted");
    if (fault) continue;
    ++accepted;
    std::memcpy(&m.address, r.bytes, sizeof m.address);  // the absolute one
    const TensorMapBytes bytes = encode(m);
    ASSERT_EQ(std::memcmp(bytes.data(), r.bytes, sizeof r.bytes), 0) << "record " << at / sizeof r;
    ASSERT_EQ(decode(bytes), m) << "record " << at / sizeof r;
  }
  EXPECT_EQ(accepted, 400);
}

}  // namespace
}  // namespace cohort::emu
