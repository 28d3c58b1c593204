#include "emu/mma/integer_dot.h"

#include <algorithm>
#include <limits>

namespace cohort::emu {

int32_t integer_dot(std::span<const int16_t> a, std::span<const int16_t> b, int32_t c,
                    bool saturate) {
  int64_t sum = c;
  for (size_t k = 0; k < a.size(); ++k) sum += int64_t{a[k]} * b[k];
  if (!saturate) return static_cast<int32_t>(static_cast<uint32_t>(sum));
  using Limits = std::numeric_limits<int32_t>;
  return static_cast<int32_t>(std::clamp<int64_t>(sum, Limits::min(), Limits::max()));
}

}  // namespace cohort::emu
