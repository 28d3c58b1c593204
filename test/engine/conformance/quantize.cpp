#include "engine/blocks.h"

namespace cohort::test::conformance {

CONFORMANCE_REFUSED(quantize, element, "f32 f16 bf16 e3m2 e2m3 e8m0 i32 i64");
CONFORMANCE_LEFT_OUT(quantize, element, "e4m3 e2m1");
CONFORMANCE_LEFT_OUT(quantize, row_layout, "tiled_128x4");
CONFORMANCE_REFUSED(quantize, row_layout, "per_group global");
CONFORMANCE_REFUSED(quantize, col_layout, "tiled_128x4 linear shifted_128 padded_128");

namespace {

// Numbers over many powers of two, both signs.
double spread(const Position& p) {
  const auto h = static_cast<uint32_t>(p[0] * 2654435 + p[1] * 40503 + 977);
  const double v = std::ldexp(1.0 + (h % 1009) / 1009.0, static_cast<int>(h / 7 % 12) - 6);
  return round_to(DType::f32, h % 3 == 0 ? -v : v);
}

constexpr float kNorm = 0.7f;

// Numbers that norm * (1 / scale) and norm / scale put on two sides of a tie of e2m1, where the two
// factors differ.
double near_ties(const Position& p) {
  BlockSpec spec;
  spec.format = Format::nvfp4;
  spec.qmax = 6;
  spec.norm = kNorm;
  const float largest = 1 + static_cast<float>((p[0] * 7 + p[1] / 16 * 3) % 50) / 50;
  if (p[1] % 16 == 0) return static_cast<double>(largest);
  const float scale = numerics::test::scale_of(spec, numerics::test::scale_code(spec, largest));
  const float exact = kNorm / scale;
  const float approximate = kNorm * (1.0f / scale);
  const float ties[] = {0.25f, 0.75f, 1.25f, 1.75f, 2.5f, 3.5f};
  const float tie = ties[p[1] % 6];
  float v = tie / exact;
  for (int i = 0; i < 4; ++i) v = std::nextafter(v, 0.0f);
  for (int i = 0; i < 8; ++i) {
    if ((v * exact > tie) != (v * approximate > tie)) break;
    v = std::nextafter(v, 100.0f);
  }
  return static_cast<double>(v);
}

struct Wanted {
  double (*data)(const Position&) = spread;
  Format to = Format::mxfp8_e4m3;
  int64_t features = 80;
  Tail tail = Tail::leave;
  GroupsSpec groups{};
  Maybe<DType> element{};
  float norm = 1;
  bool norm_handle = false;
  Maybe<float> qmax{};
  ScaleRounding scale_rounding = ScaleRounding::up;
  Reciprocal reciprocal = Reciprocal::exact;
  Rounding rounding = Rounding::nearest_even;
  Axes axes = Axes::row;
  Maybe<ScaleLayout> row_layout{};
  ScaleLayout col_layout = ScaleLayout::per_group;
  ColStorage col_storage = ColStorage::as_rows;
};

// Both have bits above the lower word, or get them by counting on.
constexpr int64_t kSeed = 0x123456789ABC;
constexpr int64_t kOffset = 0xFFFFFFF0;

float default_qmax(DType element) {
  return element == DType::e2m1 ? 6.0f : element == DType::e5m2 ? 57344.0f : 448.0f;
}

void quantise(Case& c, const Wanted& w) {
  const auto x = c.matrix("x", w.features);
  c.fill_with(x, w.data);
  const bool chance = w.rounding == Rounding::stochastic;
  Quantize op{.to = w.to,
              .axes = w.axes,
              .element = w.element,
              .norm = static_cast<double>(w.norm),
              .qmax = w.qmax,
              .scale_rounding = w.scale_rounding,
              .reciprocal = w.reciprocal,
              .rounding = w.rounding,
              .row_layout = w.row_layout,
              .col_layout = w.col_layout,
              .col_storage = w.col_storage};
  if (w.norm_handle) op.norm = c.scalar("norm", static_cast<double>(w.norm)).h;
  if (chance) {
    op.seed = c.scalar("seed", static_cast<double>(kSeed), DType::i64).h;
    op.offset = c.scalar("offset", static_cast<double>(kOffset), DType::i64).h;
  }
  const Quantized q = c.add(Load{.x = x.h, .groups = c.groups(w.groups)}).then(op);
  const DType element = w.element ? *w.element : info(w.to).element;
  Blocks b{.x = x, .tokens = c.tokens(), .features = w.features, .tail = w.tail};
  b.spec.format = w.to;
  b.spec.element = element;
  b.spec.qmax = w.qmax ? *w.qmax : default_qmax(element);
  b.spec.norm = w.norm;
  b.spec.scale_rounding = w.scale_rounding;
  b.spec.reciprocal = w.reciprocal;
  b.spec.rounding = w.rounding;
  b.spec.seed = kSeed;
  b.spec.offset = kOffset;
  const auto publish = [&](const char* name, const ScaledTensor& value) {
    c.quantised(
        name, value, {.tail = w.tail}, [b](const TensorInfo& i) { return b.codes(i); },
        [b](const TensorInfo& i) { return b.scales(i); });
  };
  if (w.axes != Axes::col) {
    b.layout = w.row_layout ? *w.row_layout : b.is_f32() ? ScaleLayout::linear : b.layout;
    publish("row", q.row);
  }
  if (w.axes != Axes::row) {
    b.axis = Axes::col;
    b.layout = w.col_layout;
    const bool as_rows = w.col_storage == ColStorage::as_rows;
    b.storage = element == DType::e2m1 && as_rows ? ColStorage::transposed : w.col_storage;
    publish("col", q.col);
  }
}

}  // namespace

CONFORMANCE(quantize, mxfp8_row) { quantise(c, {}); }
CONFORMANCE(quantize, mxfp8_zero_tail) { quantise(c, {.tail = Tail::zero}); }
CONFORMANCE(quantize, mxfp8_both) { quantise(c, {.axes = Axes::both}); }
CONFORMANCE(quantize, mxfp8_e5m2_col) {
  quantise(c, {.to = Format::mxfp8_e5m2, .axes = Axes::col});
}
CONFORMANCE(quantize, mxfp4_both) { quantise(c, {.to = Format::mxfp4, .axes = Axes::both}); }
CONFORMANCE(quantize, nvfp4_both) { quantise(c, {.to = Format::nvfp4, .axes = Axes::both}); }
CONFORMANCE(quantize, fp8_tensor) { quantise(c, {.to = Format::fp8_tensor}); }
CONFORMANCE(quantize, fp8_row) {
  quantise(c, {.to = Format::fp8_row, .features = 300, .element = DType::e4m3});
}
CONFORMANCE(quantize, fp8_block128_e5m2) {
  quantise(c, {.to = Format::fp8_block128, .features = 300, .element = DType::e5m2});
}
CONFORMANCE(quantize, element_e2m1) { quantise(c, {.to = Format::nvfp4, .element = DType::e2m1}); }
CONFORMANCE(quantize, norm_by_value) { quantise(c, {.norm = 3}); }
CONFORMANCE(quantize, norm_of_the_graph) {
  quantise(c, {.to = Format::nvfp4, .norm = 0.3125f, .norm_handle = true});
}
CONFORMANCE(quantize, qmax) {
  quantise(c, {.to = Format::mxfp8_e5m2, .qmax = 128.0f, .axes = Axes::both});
}
CONFORMANCE(quantize, floor) { quantise(c, {.scale_rounding = ScaleRounding::floor}); }
CONFORMANCE(quantize, even) {
  quantise(c, {.scale_rounding = ScaleRounding::even, .axes = Axes::both});
}
CONFORMANCE(quantize, approximate_reciprocal) {
  quantise(
      c, {.data = near_ties, .to = Format::nvfp4, .norm = kNorm, .reciprocal = Reciprocal::approx});
}
CONFORMANCE(quantize, stochastic) {
  quantise(c, {.rounding = Rounding::stochastic, .axes = Axes::both});
}
CONFORMANCE(quantize, stochastic_nvfp4) {
  quantise(c, {.to = Format::nvfp4, .rounding = Rounding::stochastic, .axes = Axes::both});
}
CONFORMANCE(quantize, linear) { quantise(c, {.row_layout = ScaleLayout::linear}); }
CONFORMANCE(quantize, tiled) {
  quantise(c, {.features = 160, .groups = {.unit = 8}, .row_layout = ScaleLayout::tiled_128x4});
}
CONFORMANCE(quantize, padded) {
  quantise(c, {.groups = {.unit = 8}, .row_layout = ScaleLayout::padded_128});
}
CONFORMANCE(quantize, shifted) {
  quantise(c, {.groups = {.unit = 8}, .row_layout = ScaleLayout::shifted_128});
}
CONFORMANCE(quantize, global) {
  quantise(c, {.groups = {.multiple = 32}, .axes = Axes::both, .col_layout = ScaleLayout::global});
}
CONFORMANCE(quantize, ragged) {
  quantise(c, {.axes = Axes::col, .col_storage = ColStorage::ragged});
}
CONFORMANCE(quantize, ragged_nvfp4) {
  quantise(c, {.to = Format::nvfp4,
               .groups = {.multiple = 2},
               .axes = Axes::col,
               .col_storage = ColStorage::ragged});
}
CONFORMANCE(quantize, transposed) {
  quantise(c, {.axes = Axes::col, .col_storage = ColStorage::transposed});
}
CONFORMANCE(quantize, columns_in_rows) {
  quantise(c, {.features = 130,
               .groups = {.unit = 5},
               .axes = Axes::col,
               .col_storage = ColStorage::as_rows});
}

}  // namespace cohort::test::conformance
