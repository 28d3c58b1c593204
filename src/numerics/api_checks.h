// Checks that the public functions of the room share. They throw base::FindingsError.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <cohort/numerics.h>

namespace cohort::numerics {

/// Ends the call with one finding about the argument `field`.
[[noreturn]] void refuse(std::string_view code, std::string_view field, std::string wanted,
                         std::string got);

/// rows, columns >= 0 and rows * columns * 8 bytes representable.
void check_extents(int64_t rows, int64_t columns);

/// The group of a row.
struct Group {
  int64_t index;
  int64_t begin;
  int64_t end;
};

/// The groups of a matrix, from E + 1 boundaries or from nothing: one group of all rows.
class Groups {
 public:
  /// E-GROUPS for boundaries that decrease, leave [0, rows], or are a single number.
  Groups(std::span<const int64_t> boundaries, int64_t rows);
  [[nodiscard]] int64_t size() const { return count_; }
  [[nodiscard]] Group operator[](int64_t g) const;
  /// Rows of earlier groups.
  [[nodiscard]] int64_t before(int64_t g) const { return (*this)[g].begin - (*this)[0].begin; }
  /// Row of a tiled matrix at which the scales of group g begin, in a layout placed by group.
  [[nodiscard]] int64_t scale_row(ScaleLayout layout, int64_t g) const;

 private:
  std::span<const int64_t> boundaries_;
  int64_t rows_;
  int64_t count_;
};

/// The span of bytes of a scale matrix for its group sizes; E-OVERFLOW, E-SHAPE.
[[nodiscard]] int64_t exact_scale_bytes(const ScaleMatrix& m, const Groups& groups);

}  // namespace cohort::numerics
