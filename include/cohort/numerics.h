// Number formats by themselves: quantise a matrix, and where its scales stand. docs/numerics.md
// defines every bit.
#pragma once

#include <cstddef>
#include <cstdint>

#include <cohort/status.h>
#include <cohort/types.h>

namespace cohort {

/// Everything that decides the codes and scales of a quantised matrix.
struct QuantizeSpec {
  Format format = Format::mxfp8_e4m3;             ///< Element, scale and block.
  ScaleLayout layout = ScaleLayout::tiled_128x4;  ///< Of the scales; f32 scales are linear.
  float norm = 1;  ///< Read back, an element means code * scale / norm.
};

/// Quantises a packed (rows, columns) f32 matrix along its rows: rows * columns codes (e2m1: two a
/// byte) and scale_bytes(...) bytes of scales, padding 0. E-LAYOUT for a layout that the format
/// does not have.
[[nodiscard]] COHORT_API Status quantize_rows(const QuantizeSpec& spec, const float* values,
                                              int64_t rows, int64_t columns, std::byte* codes,
                                              std::byte* scales) noexcept;

/// Bytes of the row scales of a (rows, columns) matrix with `block` elements a scale, one byte
/// each. E-OVERFLOW when they pass 2^63, E-LAYOUT for a layout that depends on groups.
[[nodiscard]] COHORT_API Result<int64_t> scale_bytes(ScaleLayout layout, int64_t rows,
                                                     int64_t columns, int64_t block) noexcept;

/// Codes of `count` f32 values, nearest even: fp8 and narrower saturate, f16 and bf16 overflow to
/// infinity; e2m1 two a byte, the even element low. E-DTYPE for integers and e8m0.
[[nodiscard]] COHORT_API Status encode(DType type, const float* values, int64_t count,
                                       std::byte* codes) noexcept;

/// f32 values of `count` elements of any type; exact but for integers beyond 2^24.
[[nodiscard]] COHORT_API Status decode(DType type, const std::byte* codes, int64_t count,
                                       float* values) noexcept;

}  // namespace cohort
