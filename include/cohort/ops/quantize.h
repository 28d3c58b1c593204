// Quantisation in blocks.
#pragma once

#include <cstdint>

#include <cohort/graph.h>
#include <cohort/ops/fields.h>
#include <cohort/types.h>

namespace cohort {

/// Quantises in blocks; numerics.h defines every bit. Ends a chain. E-ATTRIBUTE for a value other
/// than the default where the format, the axes or the rounding read none.
struct Quantize {
  Required<Format, "Quantize::to"> to;  ///< Element, scale and block.
  Axes axes = Axes::row;                ///< Blocks along features, along tokens, or both.
  Maybe<DType> element{};               ///< e5m2 in place of e4m3, for the fp8_* formats.
  ScalarArg norm = 1.0;                 ///< Read back, an element means code * scale / norm.
  Maybe<float> qmax{};  ///< Default: the largest of the type. Not for floor and even.
  ScaleRounding scale_rounding = ScaleRounding::up;  ///< Of UE8M0 scales.
  Reciprocal reciprocal = Reciprocal::exact;         ///< Of norm / scale; approx for E4M3 scales.
  Rounding rounding = Rounding::nearest_even;        ///< Of elements.
  Maybe<Scalar> seed{};                              ///< Of stochastic rounding, i64.
  Maybe<Scalar> offset{};                            ///< Of stochastic rounding, i64.
  Maybe<ScaleLayout> row_layout{};  ///< Default: linear for f32 scales, else tiled_128x4.
  ScaleLayout col_layout = ScaleLayout::per_group;  ///< per_group or global.
  ColStorage col_storage = ColStorage::as_rows;     ///< e2m1 is transposed by default.
  using Out = Quantized;                            ///< row and col.
  static constexpr const char* name = "quantize";   ///< In JSON and docs.
  COHORT_FIELDS(field("to", &Quantize::to), field("axes", &Quantize::axes),
                field("element", &Quantize::element), field("norm", &Quantize::norm),
                field("qmax", &Quantize::qmax), field("scale_rounding", &Quantize::scale_rounding),
                field("reciprocal", &Quantize::reciprocal), field("rounding", &Quantize::rounding),
                field("seed", &Quantize::seed), field("offset", &Quantize::offset),
                field("row_layout", &Quantize::row_layout),
                field("col_layout", &Quantize::col_layout),
                field("col_storage", &Quantize::col_storage))
};

}  // namespace cohort
