// The sums of fused_dot for whole tiles, fast, with the same bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "emu/mma/element.h"
#include "emu/mma/fused_dot.h"

namespace cohort::emu {

/// Rows of A or columns of B, decoded: each has one sum's length of elements and a scale.
class DotLines {
 public:
  enum class Side : uint8_t { a, b };
  static constexpr size_t kMostLength = 32;

  /// `length` is 8, 16 or 32; the elements are of at most 16 bits, or tf32.
  DotLines(Side side, Element element, int length, int lines);
  /// `codes`: `length` of them.
  void set(int line, std::span<const uint32_t> codes, BlockScale scale = {});

  [[nodiscard]] int lines() const { return lines_; }
  [[nodiscard]] int length() const { return length_; }

 private:
  friend void fast_dot(const DotLines&, const DotLines&, const DotRule&, uint32_t*, int64_t, int);
  // NaN, infinities, exponents that spread too far: not for the fast loop.
  [[nodiscard]] bool is_rare(int line) const { return rare_[static_cast<size_t>(line)] != 0; }
  [[nodiscard]] size_t at(int line, int k) const;
  [[nodiscard]] ptrdiff_t at_code(int line) const { return ptrdiff_t{line} * length_; }
  void exact(int line, std::span<Exact> out) const;
  // Say whether the line is rare.
  bool set_narrow(int line, std::span<const uint32_t> codes);
  bool set_wide(int line, std::span<const uint32_t> codes);

  Side side_;
  Element element_;
  int length_;
  int lines_;
  std::vector<uint32_t> codes_;  ///< [line][k]
  std::vector<float> value_;
  std::vector<int8_t> exponent_;
  std::vector<int32_t> shift_;
  std::vector<BlockScale> scale_;
  std::vector<uint8_t> rare_;
};

/// d[m][n] = d[m][n] * 2^-scale_c + the sum of row m of `a` and column n of `b`, all as fused_dot
/// makes them with an f32 accumulator. `stride`: elements from row to row of d. The rule keeps at
/// most 25 bits.
void fast_dot(const DotLines& a, const DotLines& b, const DotRule& rule, uint32_t* d,
              int64_t stride, int scale_c = 0);

}  // namespace cohort::emu
