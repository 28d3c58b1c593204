// Two ways to look at results that do not depend on the model of sums being right: an error bound
// around the exact sum, and small errors added on purpose.
#pragma once

#include <cstdint>
#include <span>

#include "emu/mma/element.h"
#include "emu/mma/fused_dot.h"

namespace cohort::emu {

/// How sums are made: as the model says; with an exact shadow and its error bound beside them; with
/// an error of at most one unit of the last place that is kept.
enum class SumMode : uint8_t { hw, bound, jitter };

/// What an accumulator would hold without any rounding, nearly, and how far a tensor core may be
/// from it.
struct Shadow {
  double value = 0;
  double error = 0;

  /// Whether an f32 may be what a tensor core gives.
  [[nodiscard]] bool allows(float got) const;
};

/// One instruction. `c` and `d`: bits of the f32 accumulator before and after it. Each of the K + 1
/// addends is wrong by at most one unit of the last kept place, the sum by one of the result's; the
/// shadow's own f64 sums are counted too. `scale_c` as of decode_accumulator. Where something is
/// not finite, so is the error.
void step(Shadow& shadow, std::span<const Exact> a, std::span<const Exact> b, uint32_t c,
          uint32_t d, const DotRule& rule, BlockScale scale = {}, int scale_c = 0);

/// -1, 0 or 1, from a seed and the place of an output: the same in every run with that seed.
[[nodiscard]] int jitter(uint64_t seed, uint64_t instruction, uint32_t row, uint32_t column);

}  // namespace cohort::emu
