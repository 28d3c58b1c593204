#include "arch/arch.h"

#include <gtest/gtest.h>

#include <cohort/plan.h>

namespace cohort::arch {
namespace {

TEST(Arch, NamesAreUniqueAndFound) {
  for (size_t i = 0; i < models().size(); ++i) {
    EXPECT_EQ(find_model(models()[i].name), static_cast<int32_t>(i)) << models()[i].name;
    EXPECT_FALSE(models()[i].description.empty());
  }
  EXPECT_EQ(find_model("sm_100"), -1);
  EXPECT_EQ(find_model(""), -1);
}

TEST(Arch, ConstructorsOfDeviceMeanTheRowOfTheirName) {
  EXPECT_EQ(Device::cpu().name(), "cpu");
  EXPECT_EQ(Device::sm90().name(), "sm90");
  EXPECT_EQ(Device::sm100().name(), "sm100");
  EXPECT_EQ(Device::sm103().name(), "sm103");
  EXPECT_EQ(Device::sm107().name(), "sm107");
}

// Facts that kernels rely on: opt-in shared memory of a block and columns of tensor memory.
TEST(Arch, TensorMemoryAndSharedMemory) {
  const auto row = [](std::string_view name) {
    return models()[static_cast<size_t>(find_model(name))];
  };
  EXPECT_FALSE(row("cpu").is_gpu);
  EXPECT_EQ(row("sm90").shared_bytes, 227 * 1024);
  EXPECT_EQ(row("sm90").tensor_columns, 0);
  EXPECT_EQ(row("sm100").shared_bytes, 227 * 1024);
  EXPECT_EQ(row("sm100").tensor_columns, 512);
  EXPECT_EQ(row("sm103").tensor_columns, 512);
  EXPECT_EQ(row("sm107").shared_bytes, 327 * 1024);
  EXPECT_EQ(row("sm107").tensor_columns, 576);
  for (const DeviceModel& model : models()) {
    EXPECT_EQ(model.is_gpu, model.compute_capability > 0) << model.name;
    EXPECT_EQ(model.is_gpu, model.memory_rate > 0) << model.name;
  }
}

}  // namespace
}  // namespace cohort::arch
