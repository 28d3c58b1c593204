#include "arch/arch.h"

#include <array>

namespace cohort::arch {

namespace {

// Sources: cudaDeviceProp of H200 and B200 as published with cuDNN's device descriptions; shared
// memory and tensor memory of 10.7 from the CUTLASS 4.8 architecture tables and PTX ISA 9.4;
// memory rates from NVIDIA's data sheets (H200 4.8 TB/s, B200 and B300 8 TB/s). Rubin's SM count,
// memory size and rate are B200's until they are published.
constexpr std::array<DeviceModel, 5> kModels{{
    {"cpu", "this processor", false, 0, 0, 0, 0, 0, 0},
    {"sm90", "NVIDIA Hopper (H200)", true, 900, 132, 232448, 0, 150109880320, 4.8e12},
    {"sm100", "NVIDIA Blackwell (B200)", true, 1000, 148, 232448, 512, 191000000000, 8e12},
    {"sm103", "NVIDIA Blackwell Ultra (B300)", true, 1030, 148, 232448, 512, 191000000000, 8e12},
    {"sm107", "NVIDIA Rubin", true, 1070, 148, 334848, 576, 191000000000, 8e12},
}};

}  // namespace

std::span<const DeviceModel> models() { return kModels; }

int32_t find_model(std::string_view name) {
  for (size_t i = 0; i < kModels.size(); ++i) {
    if (kModels[i].name == name) return static_cast<int32_t>(i);
  }
  return -1;
}

}  // namespace cohort::arch
