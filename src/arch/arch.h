// Device models: what planning needs to know of a device, present or not.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace cohort::arch {

/// A device as a row of a table. Sizes in bytes, rates per second.
struct DeviceModel {
  std::string_view name;         ///< "sm100".
  std::string_view description;  ///< Product that the numbers were read from.
  bool is_gpu;
  int32_t compute_capability;  ///< 100 * major + 10 * minor; 0 for the CPU.
  int32_t multiprocessors;
  int64_t shared_bytes;    ///< Shared memory that a block may opt in to.
  int32_t tensor_columns;  ///< Columns of tensor memory; 0 without it.
  int64_t memory_bytes;
  double memory_rate;  ///< Bytes a second.
};

/// All models, in the order of Device's constructors.
[[nodiscard]] std::span<const DeviceModel> models();
/// Position of the model of that name, or -1.
[[nodiscard]] int32_t find_model(std::string_view name);

}  // namespace cohort::arch
