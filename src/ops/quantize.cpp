#include <limits>
#include <string>
#include <utility>

#include "ir/stored.h"
#include "numerics/block.h"
#include "ops/rules.h"

namespace cohort::ops {

namespace {

void refuse(ir::Infer& c, std::string_view field, std::string wanted, std::string_view got,
            std::string why, std::string hint = {}) {
  c.fail("E-ATTRIBUTE", field, -1, std::move(wanted), std::string(got), std::move(why),
         std::move(hint));
}

// A value other than the default, that nothing would read.
void refuse_unused(ir::Infer& c, std::string_view field, std::string wanted, std::string_view got,
                   std::string why) {
  refuse(c, field, std::move(wanted), got, std::move(why), "leave " + std::string(field) + " out");
}

// What a format does not have.
void check_format(ir::Infer& c, Format to) {
  const bool f32_scales = ir::has_f32_scales(to);
  const std::string format(name(to));
  const DType own = info(to).element;
  const DType element = c.knows("element") ? c.choice_or<DType>("element", own) : own;
  if (element != own && !(f32_scales && element == DType::e5m2)) {
    refuse(c, "element", std::string(name(own)), name(element),
           format + " has elements of its own type");
  }
  const Axes axes = c.knows("axes") ? c.choice<Axes>("axes") : Axes::row;
  if (f32_scales && axes != Axes::row) {
    refuse(c, "axes", "row", name(axes), format + " has row blocks only");
  }
}

// How scales and factors are rounded: what the type of the scales leaves no room for.
void check_scale_attributes(ir::Infer& c, Format to) {
  const DType scale = info(to).scale;
  const std::string format(name(to));
  const auto rounding =
      c.knows("scale_rounding") ? c.choice<ScaleRounding>("scale_rounding") : ScaleRounding::up;
  if (rounding != ScaleRounding::up && scale != DType::e8m0) {
    refuse_unused(c, "scale_rounding", "up", name(rounding),
                  "scale_rounding is of e8m0 scales, those of " + format + " are " +
                      std::string(name(scale)));
  }
  const bool reads_qmax = rounding == ScaleRounding::up || scale != DType::e8m0;
  if (!reads_qmax && c.has("qmax") && c.knows("qmax")) {
    refuse_unused(c, "qmax", "null", number_text(c.field("qmax").real),
                  "scale_rounding " + std::string(name(rounding)) +
                      " goes by the exponent of the largest code, whatever qmax is");
  }
  const bool approx =
      c.knows("reciprocal") && c.choice<Reciprocal>("reciprocal") == Reciprocal::approx;
  if (approx && scale != DType::e4m3) {
    refuse_unused(c, "reciprocal", "exact", "approx",
                  scale == DType::f32 ? "f32 scales are divided exactly"
                                      : "e8m0 scales are powers of two: reciprocals are exact");
  }
}

// What the result that was not asked for would have.
void check_other_axis(ir::Infer& c) {
  if (!c.knows("axes")) return;
  const auto axes = c.choice<Axes>("axes");
  if (axes == Axes::col && c.has("row_layout") && c.knows("row_layout")) {
    refuse_unused(c, "row_layout", "null", name(c.choice<ScaleLayout>("row_layout")),
                  "axes col makes no row scales");
  }
  if (axes != Axes::row) return;
  if (c.knows("col_layout") && c.choice<ScaleLayout>("col_layout") == ScaleLayout::global) {
    refuse_unused(c, "col_layout", "per_group", "global", "axes row makes no column scales");
  }
  const auto storage =
      c.knows("col_storage") ? c.choice<ColStorage>("col_storage") : ColStorage::as_rows;
  if (storage != ColStorage::as_rows) {
    refuse_unused(c, "col_storage", "as_rows", name(storage), "axes row makes no columns");
  }
}

void check_row_layout(ir::Infer& c, Format to) {
  if (!c.knows("row_layout")) return;
  if (c.knows("axes") && c.choice<Axes>("axes") == Axes::col) return;  // check_other_axis
  const bool f32_scales = ir::has_f32_scales(to);
  const auto layout = c.choice_or<ScaleLayout>("row_layout", ir::default_layout(to, Axes::row));
  const bool by_group = is_placed_by_group(layout);
  const bool is_good =
      f32_scales ? layout == ScaleLayout::linear
                 : layout == ScaleLayout::tiled_128x4 || layout == ScaleLayout::linear || by_group;
  if (!is_good) {
    refuse(c, "row_layout",
           f32_scales ? "linear" : "tiled_128x4, linear, shifted_128 or padded_128", name(layout),
           "no layout of row scales of " + std::string(name(to)));
  } else if (by_group && c.knows("in") && c.in().groups == ir::kNone) {
    refuse(c, "row_layout", "tiled_128x4 or linear", name(layout), "the value has no groups");
  }
}

void check_col_layout(ir::Infer& c) {
  if (!c.knows("col_layout")) return;
  const auto layout = c.choice<ScaleLayout>("col_layout");
  if (layout != ScaleLayout::per_group && layout != ScaleLayout::global) {
    refuse(c, "col_layout", "per_group or global", name(layout), "no layout of column scales");
  }
  if (layout != ScaleLayout::global || !c.knows({"to", "axes", "in"})) return;
  if (c.choice<Axes>("axes") == Axes::row || c.in().groups == ir::kNone) return;
  const auto& groups = c.graph().values[static_cast<size_t>(c.in().groups)];
  if (ir::is_whole(groups)) return;  // it begins at 0, where a block does
  // 0 where a scale has no block, which has no columns
  const int64_t block = info(c.choice<Format>("to")).block;
  if (block > 0 && groups.row_alignment % block != 0) {
    refuse(c, "col_layout", "per_group", "global",
           "blocks start anew at each group: one matrix over all tokens needs groups of a "
           "multiple of " +
               std::to_string(block) + " rows (row_alignment)");
  }
}

void check_random(ir::Infer& c) {
  const bool knows = c.knows("rounding");
  const bool stochastic = knows && c.choice<Rounding>("rounding") == Rounding::stochastic;
  for (std::string_view field : {"seed", "offset"}) {
    const bool given = c.has(field);
    if (knows && c.knows(field) && given != stochastic) {
      c.fail("E-ATTRIBUTE", field, -1, stochastic ? "a scalar" : "nothing",
             given ? "a scalar" : "nothing",
             stochastic ? "stochastic rounding needs seed and offset"
                        : "only stochastic rounding takes seed and offset");
    }
    c.want_dtype(field, {DType::i64});
  }
}

void check_value(ir::Infer& c) {
  const ir::Value& x = c.in();
  if (x.dtype != DType::f32 && x.dtype != DType::f16 && x.dtype != DType::bf16) {
    c.fail("E-DTYPE", "in", -1, "f32, f16 or bf16", std::string(name(x.dtype)),
           c.describe(x) + " is quantised already");
  }
  if (!c.knows({"to", "axes"}) || info(c.choice<Format>("to")).element != DType::e2m1) return;
  const auto axes = c.choice<Axes>("axes");
  const auto is_odd = [](const ir::Extent& e) { return e.symbol == ir::kNone && e.bound % 2 != 0; };
  if (axes != Axes::col && is_odd(x.shape[1])) {
    c.fail("E-SHAPE", "in", 1, "an even number of features", c.text(x.shape[1]),
           "e2m1 is packed in pairs along features");
  }
  if (axes != Axes::row && is_odd(x.shape[0])) {
    c.fail("E-SHAPE", "in", 0, "an even number of rows", c.text(x.shape[0]),
           "e2m1 of column blocks is packed in pairs along tokens");
  }
}

// Of spellings with one meaning a graph keeps one, so that it has one key: what a default stands
// for is left out, and columns of e2m1 stand as they say.
void keep_one_spelling(ir::Infer& c, Format to, DType element, Axes axes) {
  c.keep_nothing_for("element", info(to).element);
  c.keep_nothing_for("row_layout", ir::default_layout(to, Axes::row));
  c.keep_nothing_for("qmax", numerics::default_qmax(element));
  // Two e2m1 of a column block share a byte, so they stand along tokens.
  const auto storage = c.choice<ColStorage>("col_storage");
  if (element != DType::e2m1 || axes == Axes::row || storage == ColStorage::ragged) return;
  ir::FieldValue stored = c.field("col_storage");
  stored.integer = static_cast<int64_t>(ColStorage::transposed);
  c.keep("col_storage", stored);
  c.is_usual("col_storage");
}

ir::Value result_type(ir::Infer& c, Format to, DType element, Axes axis) {
  ir::Value v = c.in();
  v.dtype = element;
  v.accumulator = false;
  ir::ScaledType s;
  s.format = to;
  s.axis = axis;
  if (axis == Axes::row) {
    s.layout = c.choice_or<ScaleLayout>("row_layout", ir::default_layout(to, axis));
  } else {
    s.layout = c.choice<ScaleLayout>("col_layout");
    s.storage = c.choice<ColStorage>("col_storage");
  }
  v.scaled = s;
  return v;
}

void infer(ir::Infer& c) {
  if (c.knows("to")) {
    check_format(c, c.choice<Format>("to"));
    check_scale_attributes(c, c.choice<Format>("to"));
    check_row_layout(c, c.choice<Format>("to"));
  }
  check_col_layout(c);
  check_other_axis(c);
  check_random(c);
  c.want_dtype("norm", {DType::f32, DType::bf16});
  if (c.knows("in")) check_value(c);
  if (c.failed()) return;
  const auto to = c.choice<Format>("to");
  const auto element = c.choice_or<DType>("element", info(to).element);
  const auto axes = c.choice<Axes>("axes");
  const bool col = axes != Axes::row;
  keep_one_spelling(c, to, element, axes);
  c.result(0, result_type(c, to, element, Axes::row));
  c.result(1, col ? result_type(c, to, element, Axes::col) : c.in());
  if (axes == Axes::col) c.absent(0);
  if (!col) c.absent(1);
}

}  // namespace

ir::OpRecord quantize() {
  ir::OpRecord r = ir::describe(Quantize{.to = Format::mxfp8_e4m3});
  r.infer = infer;
  r.reference.kind = ir::Reference::Kind::quantize;
  r.results[0].unread = {"col_layout", "col_storage"};
  r.results[1].unread = {"row_layout"};
  r.device_functor = "Quantize";
  r.formula = "scale = amax(block) / qmax * norm; code = round(x * norm / scale)";
  range(r, "norm", std::numeric_limits<float>::min(), std::numeric_limits<float>::max());
  range(r, "qmax", std::numeric_limits<float>::min(), std::numeric_limits<float>::max());
  document(r, {{"to", "element, scale and block"},
               {"axes", "blocks along features (row), along tokens (col), or both"},
               {"element", "e5m2 in place of e4m3, for the fp8_* formats"},
               {"norm", "read back, an element means code * scale / norm"},
               {"qmax", "default: largest value of the element type"},
               {"scale_rounding", "of UE8M0 scales"},
               {"reciprocal", "how norm / scale is formed"},
               {"rounding", "of elements"},
               {"seed", "of stochastic rounding, i64"},
               {"offset", "of stochastic rounding, i64"},
               {"row_layout", "of row scales; default linear for f32 scales, else tiled_128x4"},
               {"col_layout", "of column scales: per_group or global"},
               {"col_storage", "where elements of column blocks stand; e2m1 never as rows"}});
  return r;
}

}  // namespace cohort::ops
