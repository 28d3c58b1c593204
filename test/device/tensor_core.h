// One instruction of a Hopper tensor core on operands of the caller's choice.
#pragma once

#include <cstdint>

namespace cohort::device {

enum class MmaType : uint8_t {
  bf16,
  f16,
  f16_f16,
  tf32,
  e4m3,
  e5m2,
  e4m3_e5m2,
  e5m2_e4m3,
  e4m3_f16,
  e5m2_f16,
};

/// A block: A 64 rows of 32 bytes, B 8 columns of 32 bytes, C and both D 64 x 8 words, of f16 in
/// the low half. Word by word: `wgmma` is what wgmma m64n8 gives, `mma` what mma.sync m16n8 gives.
inline constexpr int kRows = 64;
inline constexpr int kColumns = 8;
inline constexpr int kRowBytes = 32;

/// Null when it went well, otherwise what CUDA said.
const char* run_mma(MmaType type, int blocks, const uint8_t* a, const uint8_t* b, const uint32_t* c,
                    uint32_t* wgmma, uint32_t* mma);
/// Whether there is a GPU of compute capability 9.0, and what it is called.
bool has_hopper(char* name, int size);

}  // namespace cohort::device
