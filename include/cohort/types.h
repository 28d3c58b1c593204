// The vocabulary of a graph: element types, formats, layouts, extents.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <type_traits>

#include <cohort/status.h>

namespace cohort {

namespace detail {
struct Access;

/// Integers that count: neither truth values nor characters.
template <class T>
inline constexpr bool is_extent = std::is_integral_v<T> && sizeof(T) <= 8 &&
                                  !std::is_same_v<T, bool> && !std::is_same_v<T, char> &&
                                  !std::is_same_v<T, wchar_t> && !std::is_same_v<T, char8_t> &&
                                  !std::is_same_v<T, char16_t> && !std::is_same_v<T, char32_t>;
}  // namespace detail

/// Element type of a tensor in memory. Sources: OCP OFP8 and OCP MX v1.0 for the narrow types.
enum class DType : uint8_t {
  f32,   ///< IEEE binary32.
  f16,   ///< IEEE binary16.
  bf16,  ///< bfloat16.
  e4m3,  ///< fp8, 4 exponent bits, no infinity, largest 448 (OCP e4m3fn).
  e5m2,  ///< fp8, 5 exponent bits, with infinities, largest finite 57344.
  e3m2,  ///< fp6, largest 28; no infinity, no NaN.
  e2m3,  ///< fp6, largest 7.5; no infinity, no NaN.
  e2m1,  ///< fp4, largest 6; two elements a byte, element 2i in the low nibble.
  e8m0,  ///< UE8M0 scale: 2^(code - 127), 0xFF is NaN.
  i32,   ///< Signed 32-bit integer (offsets and indices).
  i64,   ///< Signed 64-bit integer (offsets, indices, pointers).
};

/// A quantised tensor format: an element type, a scale type and the block that shares a scale.
enum class Format : uint8_t {
  mxfp8_e4m3,    ///< e4m3, UE8M0 scale per 32 elements.
  mxfp8_e5m2,    ///< e5m2, UE8M0 scale per 32 elements.
  mxfp4,         ///< e2m1, UE8M0 scale per 32 elements.
  nvfp4,         ///< e2m1, E4M3 scale per 16 elements.
  fp8_tensor,    ///< fp8, one f32 factor: tokens (1), weights (E).
  fp8_row,       ///< fp8, one f32 factor a row: tokens (T), weights (E, N).
  fp8_block128,  ///< fp8, f32 factors: tokens 1x128 blocks, weights 128x128 blocks.
};

/// Along which axes Quantize makes blocks: along features (row), along tokens (col), or both.
enum class Axes : uint8_t { row = 1, col = 2, both = 3 };

/// What a groups input says. Five conventions of integers are in use; `whole` has none.
enum class GroupForm : uint8_t {
  starts,      ///< E begins; the last group ends at T.
  ends,        ///< E cumulative ends; the first group begins at 0.
  boundaries,  ///< E + 1 boundaries.
  counts,      ///< E sizes.
  slots,       ///< E begins and E used sizes; the rest of a slot holds anything.
  whole,       ///< One group that has every row: no tensor is bound, nothing is read.
};

/// How block scales stand in memory. docs/concepts.md gives the byte formulas.
enum class ScaleLayout : uint8_t {
  tiled_128x4,  ///< 512-byte atoms of 128 rows x 4 scale columns, one matrix.
  linear,       ///< Row-major (rows, blocks).
  shifted_128,  ///< Row scales; expert g starts at 128-row tile floor(c_g / 128) + g.
  per_group,    ///< Column scales; one tiled_128x4 (features, blocks of g) matrix per group.
  global,       ///< Column scales; one tiled_128x4 (features, blocks) matrix over all tokens.
  padded_128,   ///< Row scales; each group begins at the next 128-row tile that is free.
};
/// True for row scales whose place depends on the groups: shifted_128, padded_128.
[[nodiscard]] constexpr bool is_placed_by_group(ScaleLayout layout) {
  return layout == ScaleLayout::shifted_128 || layout == ScaleLayout::padded_128;
}

/// In which order column-quantised elements stand.
enum class ColStorage : uint8_t {
  as_rows,     ///< As the tensor: (T, features).
  transposed,  ///< (features, T).
  ragged,  ///< One (features, rows) matrix a group; that of rows from r on begins at features * r.
};

/// How a UE8M0 scale is rounded to a power of two (numerics.h gives the definitions).
enum class ScaleRounding : uint8_t { up, floor, even };

/// How the factor norm / scale is formed: one exact division, or norm * rcp.approx as kernels do.
enum class Reciprocal : uint8_t { exact, approx };

/// How elements are rounded: nearest even, or stochastically from Philox4x32-10 bits.
enum class Rounding : uint8_t { nearest_even, stochastic };

/// Which dimension of a weight matrix is contiguous: K (E, N, K) or N (E, K, N).
enum class Major : uint8_t { k, n };

/// What happens to output rows that belong to no group.
enum class Tail : uint8_t {
  leave,  ///< Their bytes stay as they were.
  zero,   ///< They are written as 0 (scale bytes too).
};

/// Gated activation of Glu and DGlu.
enum class GluAct : uint8_t { swiglu, geglu, situ };

/// How gate and up columns are packed in a GLU weight, its bias and its gradients.
enum class Packing : uint8_t { split, interleaved, bands8, bands32 };

/// Element type and family facts of a format. Widths in elements; 0 means no fixed block.
struct FormatInfo {
  DType element;  ///< Default element type (fp8_* formats may choose e5m2 instead).
  DType scale;    ///< Type of a scale factor.
  int32_t block;  ///< Elements along K that share a scale: 32, 16, 128, or 0 (per row, tensor).
};

/// Facts of a format.
[[nodiscard]] COHORT_API FormatInfo info(Format format) noexcept;
/// Bits of one element in memory: 4, 6, 8, 16, 32 or 64.
[[nodiscard]] COHORT_API int bits(DType type) noexcept;

/// The word for a type as it stands in JSON and messages ("e4m3"); empty for an unknown value.
[[nodiscard]] COHORT_API std::string_view name(DType value) noexcept;
[[nodiscard]] COHORT_API std::string_view name(Format value) noexcept;         ///< As above.
[[nodiscard]] COHORT_API std::string_view name(Axes value) noexcept;           ///< As above.
[[nodiscard]] COHORT_API std::string_view name(GroupForm value) noexcept;      ///< As above.
[[nodiscard]] COHORT_API std::string_view name(ScaleLayout value) noexcept;    ///< As above.
[[nodiscard]] COHORT_API std::string_view name(ColStorage value) noexcept;     ///< As above.
[[nodiscard]] COHORT_API std::string_view name(ScaleRounding value) noexcept;  ///< As above.
[[nodiscard]] COHORT_API std::string_view name(Reciprocal value) noexcept;     ///< As above.
[[nodiscard]] COHORT_API std::string_view name(Rounding value) noexcept;       ///< As above.
[[nodiscard]] COHORT_API std::string_view name(Major value) noexcept;          ///< As above.
[[nodiscard]] COHORT_API std::string_view name(Tail value) noexcept;           ///< As above.
[[nodiscard]] COHORT_API std::string_view name(GluAct value) noexcept;         ///< As above.
[[nodiscard]] COHORT_API std::string_view name(Packing value) noexcept;        ///< As above.

/// An extent: a number, or a named bound that one plan serves every value up to.
class Dim {
 public:
  /// A fixed extent: any integer. One above 2^63 - 1 counts as that, which no check lets pass.
  template <class T>
  requires detail::is_extent<T>
  constexpr Dim(T extent)  // NOLINT: a number is an extent
      : bound_(extent > T{0} && static_cast<uint64_t>(extent) > uint64_t{INT64_MAX}
                   ? INT64_MAX
                   : static_cast<int64_t>(extent)) {}
  /// The extent, or the largest value of a named one.
  [[nodiscard]] constexpr int64_t bound() const { return bound_; }
  /// True for an extent made by Builder::dynamic.
  [[nodiscard]] constexpr bool is_dynamic() const { return symbol_ >= 0; }

 private:
  friend struct detail::Access;
  constexpr Dim(int64_t bound, int32_t symbol, uint32_t owner, Where made)
      : bound_(bound), symbol_(symbol), owner_(owner), made_(made) {}
  int64_t bound_;
  int32_t symbol_ = -1;
  uint32_t owner_ = 0;
  Where made_{nullptr, 0};
};

/// Largest rank of a tensor.
inline constexpr int kMaxRank = 8;

/// The extents of a tensor, outermost first: `{T, 4096}`.
using Shape = std::initializer_list<Dim>;

/// Element strides of a tensor, outermost first; empty means packed row-major.
class Strides {
 public:
  constexpr Strides() = default;
  /// Strides in elements; more than kMaxRank of them is a finding where they are used.
  constexpr Strides(std::initializer_list<int64_t> strides) {
    for (int64_t s : strides) {
      if (rank_ < kMaxRank) values_[rank_] = s;
      ++rank_;
    }
  }
  /// `rank` strides of an array.
  constexpr Strides(const int64_t* strides, int rank) : rank_(rank) {
    for (int i = 0; i < rank && i < kMaxRank; ++i) values_[i] = strides[i];
  }
  [[nodiscard]] constexpr int rank() const { return rank_; }  ///< Number given; 0 means packed.
  /// The i-th stride, in elements; `i` must lie in [0, min(rank(), kMaxRank)).
  [[nodiscard]] constexpr int64_t operator[](int i) const { return values_[i]; }

 private:
  int64_t values_[kMaxRank] = {};
  int rank_ = 0;
};

}  // namespace cohort
