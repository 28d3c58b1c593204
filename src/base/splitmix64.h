// splitmix64, by Sebastiano Vigna (public domain): numbers that look random, from a counter.
#pragma once

#include <cstdint>

namespace cohort::base {

/// From one state to the next; odd, so that all are met.
inline constexpr uint64_t kSplitmixStep = 0x9E3779B97F4A7C15u;

/// The number of a state.
[[nodiscard]] constexpr uint64_t splitmix64(uint64_t state) {
  state = (state ^ state >> 30) * 0xBF58476D1CE4E5B9u;
  state = (state ^ state >> 27) * 0x94D049BB133111EBu;
  return state ^ state >> 31;
}

}  // namespace cohort::base
