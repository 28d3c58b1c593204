#include "engine/conformance.h"

namespace cohort::test::conformance {

namespace {

void plain(Case& c, DType type) {
  const auto x = c.matrix("x", 10, type);
  c.output("y", c.add(Load{.x = x.h}), {}, [=](int64_t r, int64_t n) { return x(r, n); });
}

// Rounded to f32 once: code times scale may have more bits.
void quantised(Case& c, Format format, const ScaledSpec& spec, const GroupsSpec& groups = {}) {
  const auto x = c.scaled("x", 80, format, spec);
  c.output("y", c.add(Load{.x = x.h, .groups = c.groups(groups)}), {},
           [=](int64_t r, int64_t n) { return Near(round_to(DType::f32, x(r, n).v)); });
}

}  // namespace

CONFORMANCE(load, f32) { plain(c, DType::f32); }
CONFORMANCE(load, f16) { plain(c, DType::f16); }
CONFORMANCE(load, bf16) { plain(c, DType::bf16); }

CONFORMANCE(load, strides) {
  const auto x = c.matrix("x", 10, DType::f32, {.strides = {12, 1}});
  c.output("y", c.add(Load{.x = x.h, .groups = c.groups()}), {.strides = {14, 1}},
           [=](int64_t r, int64_t n) { return x(r, n); });
}

// Rows in another order; those that nobody writes are 0.
CONFORMANCE(load, scattered) {
  const auto x = c.matrix("x", 10);
  const auto to = c.index("to", 128, DType::i64);
  c.fill_with(to, [](const Position& p) { return static_cast<double>(p[0] * 3 % 127); });
  c.output("y", c.add(Load{.x = x.h, .groups = c.groups()}),
           {.tail = Tail::zero, .scatter = to.h, .rows = Dim(130)},
           [=, t = c.tokens()](int64_t place, int64_t n) -> Near {
             const int64_t r = place * 85 % 127;  // 3 * 85 = 1 + 2 * 127
             return place >= 127 || t->group(r) < 0 ? 0.0 : x(r, n);
           });
}

CONFORMANCE(load, mxfp8_tiled) { quantised(c, Format::mxfp8_e4m3, {}); }
CONFORMANCE(load, mxfp8_e5m2_linear) {
  quantised(c, Format::mxfp8_e5m2, {.layout = ScaleLayout::linear});
}
CONFORMANCE(load, mxfp4_shifted) {
  quantised(c, Format::mxfp4, {.layout = ScaleLayout::shifted_128}, {.unit = 8});
}
CONFORMANCE(load, nvfp4_tiled) { quantised(c, Format::nvfp4, {}); }
CONFORMANCE(load, fp8_tensor) { quantised(c, Format::fp8_tensor, {}); }
CONFORMANCE(load, fp8_row_e5m2) { quantised(c, Format::fp8_row, {.element = DType::e5m2}); }
CONFORMANCE(load, fp8_block128) {
  const auto x = c.scaled("x", 300, Format::fp8_block128);
  c.output("y", c.add(Load{.x = x.h, .groups = c.groups()}), {},
           [=](int64_t r, int64_t n) { return Near(round_to(DType::f32, x(r, n).v)); });
}
CONFORMANCE(load, mxfp8_columns) {
  quantised(c, Format::mxfp8_e4m3, {.axis = Axes::col}, {.unit = 8});
}
CONFORMANCE(load, mxfp8_columns_transposed) {
  quantised(c, Format::mxfp8_e4m3, {.axis = Axes::col, .storage = ColStorage::transposed},
            {.unit = 3});
}
CONFORMANCE(load, mxfp8_columns_global) {
  quantised(c, Format::mxfp8_e4m3, {.layout = ScaleLayout::global, .axis = Axes::col},
            {.multiple = 32, .unit = 3});
}
CONFORMANCE(load, nvfp4_columns) {
  quantised(c, Format::nvfp4, {.axis = Axes::col}, {.multiple = 2});
}

CONFORMANCE(load, mxfp8_columns_ragged) {
  quantised(c, Format::mxfp8_e4m3, {.axis = Axes::col, .storage = ColStorage::ragged}, {.unit = 3});
}

CONFORMANCE(load, whole_columns) {
  quantised(c, Format::mxfp8_e4m3, {.axis = Axes::col, .storage = ColStorage::ragged},
            {.form = GroupForm::whole});
}

}  // namespace cohort::test::conformance
