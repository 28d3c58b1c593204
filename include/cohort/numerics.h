// Number formats by themselves: codes of elements, block-quantised matrices, where scales stand,
// how GLU weights are packed. docs/numerics.md defines every bit and names the sources.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <cohort/status.h>
#include <cohort/types.h>

namespace cohort {

/// How `encode` rounds a value that lies between two codes.
enum class CodeRounding : uint8_t {
  nearest_even,  ///< To the nearer code, a tie to the even one.
  toward_zero,   ///< To the code of smaller magnitude.
  up,            ///< To the larger code.
  stochastic,    ///< By chance, from Philox4x32-10 bits.
};

/// Everything that decides the codes of an array. e8m0 takes the magnitude, and a tie to the larger
/// power of two; it has no stochastic rounding.
struct EncodeSpec {
  DType type = DType::e4m3;                            ///< f16, bf16 or a type of at most 8 bits.
  CodeRounding rounding = CodeRounding::nearest_even;  ///< Between two codes.
  bool saturate = true;  ///< false: beyond the largest value stands infinity, or NaN (e4m3).
  uint64_t seed = 0;     ///< Key of the stochastic bits.
  uint64_t offset = 0;   ///< Element i takes word i % 4 of counter offset + i / 4.
};

/// Bytes of `count` packed elements: fp4 two a byte (element 2i in the low nibble), fp6 four in
/// three bytes, lowest bits first. E-SHAPE for a negative count, E-OVERFLOW past 2^63 bits.
[[nodiscard]] COHORT_API Result<int64_t> code_bytes(DType type, int64_t count) noexcept;

/// Encodes values to packed codes. E-DTYPE for a type without codes, E-SIZE when `codes` has not
/// code_bytes(type, values.size()) bytes, E-ATTRIBUTE for stochastic e8m0.
[[nodiscard]] COHORT_API Status encode(const EncodeSpec& spec, std::span<const float> values,
                                       std::span<std::byte> codes) noexcept;

/// Decodes packed codes, exactly. E-DTYPE for an integer type, E-SIZE when `codes` has not
/// code_bytes(type, values.size()) bytes.
[[nodiscard]] COHORT_API Status decode(DType type, std::span<const std::byte> codes,
                                       std::span<float> values) noexcept;

/// Codes of `count` f32 values, nearest even: fp8 and narrower saturate, f16 and bf16 overflow to
/// infinity; e2m1 two a byte, the even element low; f32 copies. E-DTYPE for integers and e8m0.
[[nodiscard]] COHORT_API Status encode(DType type, const float* values, int64_t count,
                                       std::byte* codes) noexcept;

/// f32 values of `count` elements of any type; exact but for integers beyond 2^24.
[[nodiscard]] COHORT_API Status decode(DType type, const std::byte* codes, int64_t count,
                                       float* values) noexcept;

/// Everything that decides the codes and scales of a quantised matrix, and where they stand.
struct QuantizeSpec {
  Format format = Format::mxfp8_e4m3;             ///< Element, scale and block.
  ScaleLayout layout = ScaleLayout::tiled_128x4;  ///< Of row scales; f32 scales are linear.
  float norm = 1;     ///< Read back, an element means code * scale / norm.
  bool e5m2 = false;  ///< Elements of the fp8_* formats are e5m2 instead of e4m3.
  float qmax = 0;     ///< Value that the largest element is mapped to; 0: the type's largest.
                      ///< With scale_rounding up only.
  ScaleRounding scale_rounding = ScaleRounding::up;  ///< Of UE8M0 scales; others: up.
  Reciprocal reciprocal = Reciprocal::exact;         ///< Of norm / scale; approx: E4M3 scales.
  Rounding rounding = Rounding::nearest_even;        ///< Of elements.
  uint64_t seed = 0;                                 ///< Of stochastic rounding, Philox4x32-10.
  uint64_t offset = 0;  ///< Element (r, c) takes word i % 4 of counter offset + i / 4, i = r *
                        ///< columns + c.
  ScaleLayout col_layout = ScaleLayout::per_group;  ///< Of column scales: per_group or global.
  ColStorage col_storage = ColStorage::as_rows;  ///< Of column codes: as_rows or transposed; e2m1
                                                 ///< is transposed even where this says as_rows.
};

/// Quantises a packed (rows, columns) f32 matrix along its rows. `codes`: rows * columns elements,
/// e2m1 two a byte. `scales`: scale_bytes(...) bytes, padding 0; for f32 scales 1 (fp8_tensor),
/// rows (fp8_row) or rows x ceil(columns / 128) floats (fp8_block128). `boundaries`: E + 1 row
/// numbers, needed by shifted_128 and padded_128, where rows outside of all groups are left out.
/// E-SHAPE, E-LAYOUT, E-GROUPS, E-ATTRIBUTE or E-OVERFLOW name a bad argument; nothing is written
/// then.
[[nodiscard]] COHORT_API Status quantize_rows(const QuantizeSpec& spec, const float* values,
                                              int64_t rows, int64_t columns, std::byte* codes,
                                              std::byte* scales,
                                              std::span<const int64_t> boundaries = {}) noexcept;

/// Quantises a packed (rows, columns) f32 matrix along its columns; blocks start anew at each
/// group. `boundaries`: E + 1 row numbers, or nothing for one group; codes of rows outside of all
/// groups keep their bytes. `codes`: (rows, columns), or (columns, rows) when transposed;
/// E-ATTRIBUTE for col_storage ragged: quantise each group by itself, transposed, at columns * its
/// first row. `scales`: scale_bytes(...) bytes, padding 0. Errors as quantize_rows; block formats
/// only.
[[nodiscard]] COHORT_API Status quantize_columns(const QuantizeSpec& spec, const float* values,
                                                 int64_t rows, int64_t columns,
                                                 std::span<const int64_t> boundaries,
                                                 std::byte* codes, std::byte* scales) noexcept;

/// Reads back what quantize_rows wrote: code * scale / norm in f64, rounded to f32;
/// the sign bit of an E4M3 scale is ignored. Arguments and errors as there.
[[nodiscard]] COHORT_API Status dequantize_rows(const QuantizeSpec& spec, const std::byte* codes,
                                                const std::byte* scales, int64_t rows,
                                                int64_t columns, float* values,
                                                std::span<const int64_t> boundaries = {}) noexcept;

/// Reads back what quantize_columns wrote; values of rows outside of all groups keep their bytes.
[[nodiscard]] COHORT_API Status dequantize_columns(const QuantizeSpec& spec, const std::byte* codes,
                                                   const std::byte* scales, int64_t rows,
                                                   int64_t columns,
                                                   std::span<const int64_t> boundaries,
                                                   float* values) noexcept;

/// Bytes of the row scales of a (rows, columns) matrix with `block` elements a scale, one byte
/// each. E-OVERFLOW when they pass 2^63, E-LAYOUT for a layout that depends on groups.
[[nodiscard]] COHORT_API Result<int64_t> scale_bytes(ScaleLayout layout, int64_t rows,
                                                     int64_t columns, int64_t block) noexcept;

/// The one-byte scales of a (rows, columns) matrix of elements. The layout says which way blocks
/// run: linear, tiled_128x4, shifted_128, padded_128 along a row; per_group and global along a
/// column.
struct ScaleMatrix {
  ScaleLayout layout = ScaleLayout::tiled_128x4;  ///< How they stand.
  int64_t rows = 0;                               ///< Rows of the matrix: tokens.
  int64_t columns = 0;                            ///< Columns of the matrix: features.
  int64_t block = 32;                             ///< Elements that share a scale.
  std::span<const int64_t> boundaries{};  ///< E + 1 row numbers; nothing: all rows are one group.
};

/// Bytes that the scales take, padding included, for these group sizes. E-SHAPE, E-GROUPS,
/// E-OVERFLOW.
[[nodiscard]] COHORT_API Result<int64_t> scale_bytes(const ScaleMatrix& scales) noexcept;

/// Most bytes that the scales take with `groups` groups of any sizes (boundaries are not read):
/// what to allocate when sizes are known on the device only. E-SHAPE, E-OVERFLOW.
[[nodiscard]] COHORT_API Result<int64_t> scale_bytes_bound(const ScaleMatrix& scales,
                                                           int64_t groups) noexcept;

/// Byte at which the scale of element (row, column) stands. E-SHAPE when it lies outside of the
/// matrix, E-GROUPS when its row belongs to no group of a layout that depends on groups.
[[nodiscard]] COHORT_API Result<int64_t> scale_offset(const ScaleMatrix& scales, int64_t row,
                                                      int64_t column) noexcept;

/// Moves a row-major (rows, scale_columns) matrix of scale bytes to tiled_128x4; padding becomes 0.
/// `tiled` holds scale_bytes(tiled_128x4, rows, scale_columns, 1) bytes. E-SHAPE, E-OVERFLOW.
[[nodiscard]] COHORT_API Status swizzle_scales(int64_t rows, int64_t scale_columns,
                                               const std::byte* linear, std::byte* tiled) noexcept;

/// The inverse of swizzle_scales; padding is not read.
[[nodiscard]] COHORT_API Status unswizzle_scales(int64_t rows, int64_t scale_columns,
                                                 const std::byte* tiled,
                                                 std::byte* linear) noexcept;

/// A GLU weight, its bias, scales or gradient: row-major (outer, features, inner), where `features`
/// counts gate and up. Weight (E, N, K): outer E, inner K; (E, K, N): outer E * K, inner 1; bias
/// (E, N): outer E, inner 1.
struct GluMatrix {
  DType dtype = DType::bf16;  ///< Element type.
  int64_t outer = 1;          ///< Matrices, or rows of which each is packed by itself.
  int64_t features = 0;       ///< N = gate + up; a multiple of 2, 16 (bands8) or 64 (bands32).
  int64_t inner = 1;          ///< Elements that move together.
};

/// Copies from one packing to another; source and target may not overlap. Split: gate features,
/// then up features; interleaved: gate, up, gate, up; bandsB: B gate, B up, and so on. E-SHAPE for
/// features that a packing does not divide, E-OVERFLOW.
[[nodiscard]] COHORT_API Status repack_glu(Packing from, Packing to, const GluMatrix& matrix,
                                           const std::byte* source, std::byte* target) noexcept;

/// Split to `to`.
[[nodiscard]] inline Status pack_glu(Packing to, const GluMatrix& matrix, const std::byte* source,
                                     std::byte* target) noexcept {
  return repack_glu(Packing::split, to, matrix, source, target);
}

/// `from` to split: the inverse of pack_glu.
[[nodiscard]] inline Status unpack_glu(Packing from, const GluMatrix& matrix,
                                       const std::byte* source, std::byte* target) noexcept {
  return repack_glu(from, Packing::split, matrix, source, target);
}
/// The level of the x86-64 psABI whose code the quantisers and the CPU engine use here: "v1", "v3"
/// or "v4". The variable COHORT_ISA lowers it.
[[nodiscard]] COHORT_API std::string_view isa_level() noexcept;

}  // namespace cohort
