#include <cohort/dlpack.h>
#include <gtest/gtest.h>

namespace cohort {
namespace {

// The layout of DLPack v1 (dlpack.h), spelt out here because the adapter includes none.
struct DLDevice {
  int device_type;
  int32_t device_id;
};
struct DLDataType {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
};
struct DLTensor {
  void* data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t* shape;
  int64_t* strides;
  uint64_t byte_offset;
};

class Dlpack : public ::testing::Test {
 protected:
  float memory[12] = {};
  int64_t shape[2] = {3, 4};
  int64_t strides[2] = {1, 3};
  DLTensor tensor{memory, {1, 0}, 2, {2, 32, 1}, shape, nullptr, 0};
  TensorView view;
};

TEST_F(Dlpack, NullStridesArePacked) {
  ASSERT_EQ(from_dlpack(tensor, view), DlpackStatus::ok);
  EXPECT_EQ(view.dtype, DType::f32);
  EXPECT_EQ(view.rank, 2);
  EXPECT_EQ(view.shape[0], 3);
  EXPECT_EQ(view.strides[0], 4);
  EXPECT_EQ(view.strides[1], 1);
  EXPECT_EQ(view.data, memory);
}

TEST_F(Dlpack, StridesAndOffsetAreKept) {
  tensor.strides = strides;
  tensor.byte_offset = 8;
  ASSERT_EQ(from_dlpack(tensor, view), DlpackStatus::ok);
  EXPECT_EQ(view.strides[0], 1);
  EXPECT_EQ(view.strides[1], 3);
  EXPECT_EQ(view.data, memory + 2);
}

TEST_F(Dlpack, DevicesAreToldApart) {
  tensor.device = {2, 5};
  ASSERT_EQ(from_dlpack(tensor, view), DlpackStatus::ok);
  EXPECT_EQ(view.device.type, MemoryDevice::Type::cuda);
  EXPECT_EQ(view.device.ordinal, 5);
  tensor.device = {3, 0};
  ASSERT_EQ(from_dlpack(tensor, view), DlpackStatus::ok);
  EXPECT_EQ(view.device.type, MemoryDevice::Type::cpu);
  tensor.device = {10, 0};  // ROCm
  EXPECT_EQ(from_dlpack(tensor, view), DlpackStatus::device);
}

TEST_F(Dlpack, NarrowTypesHaveTheirCodes) {
  const struct {
    uint8_t code, bits;
    DType type;
  } cases[] = {{10, 8, DType::e4m3}, {12, 8, DType::e5m2}, {14, 8, DType::e8m0},
               {17, 4, DType::e2m1}, {4, 16, DType::bf16}, {0, 64, DType::i64}};
  for (const auto& c : cases) {
    tensor.dtype = {c.code, c.bits, 1};
    ASSERT_EQ(from_dlpack(tensor, view), DlpackStatus::ok) << int{c.code};
    EXPECT_EQ(view.dtype, c.type);
  }
}

TEST_F(Dlpack, WhatCannotBeTakenIsSaid) {
  tensor.dtype = {2, 64, 1};
  EXPECT_EQ(from_dlpack(tensor, view), DlpackStatus::dtype);
  tensor.dtype = {2, 32, 2};
  EXPECT_EQ(from_dlpack(tensor, view), DlpackStatus::dtype);
  tensor.dtype = {2, 32, 1};
  tensor.ndim = 9;
  EXPECT_EQ(from_dlpack(tensor, view), DlpackStatus::rank);
}

}  // namespace
}  // namespace cohort
