// What every model of a tensor core's sum shares: specials first, then addends cut at one place.
#pragma once

#include <cstdint>
#include <limits>

#include "emu/mma/element.h"
#include "emu/mma/fused_dot.h"

namespace cohort::emu {

/// Less than every exponent: no addend but zeros.
inline constexpr int kNothing = std::numeric_limits<int>::min();

/// A special result, or that there is none.
struct Special {
  bool nan = false;
  bool plus = false;
  bool minus = false;

  void add(const Exact& x);
  /// The product of two values.
  void add(const Exact& a, const Exact& b);
  [[nodiscard]] bool any() const { return nan || plus || minus; }
  [[nodiscard]] uint32_t bits(Accumulator type) const;
};

/// An exact sum of addends that are cut toward zero `kept_bits` below 2^largest.
class CutSum {
 public:
  CutSum(int largest, const DotRule& rule) : unit_(largest - rule.kept_bits), rule_(rule) {}
  /// Adds +-significand * 2^exponent.
  void add(bool negative, uint64_t significand, int exponent);
  /// Adds units of the last place that is kept.
  void nudge(int units) { sum_ += units; }
  /// The sum as an accumulator.
  [[nodiscard]] uint32_t bits() const;

 private:
  int unit_;
  DotRule rule_;
  __extension__ using Wide = __int128;
  Wide sum_ = 0;
};

}  // namespace cohort::emu
