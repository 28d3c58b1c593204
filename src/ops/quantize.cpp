#include <limits>
#include <string>

#include "ir/stored.h"
#include "ops/rules.h"

namespace cohort::ops {

namespace {

void check_attributes(ir::Infer& c, Format to, DType element) {
  const bool f32_scales = ir::has_f32_scales(to);
  const auto axes = c.choice<Axes>("axes");
  const auto col_layout = c.choice<ScaleLayout>("col_layout");
  const auto row_layout = c.choice_or<ScaleLayout>("row_layout", ir::default_layout(to, Axes::row));
  const auto refuse = [&](std::string_view field, std::string wanted, std::string_view got,
                          std::string why) {
    c.fail("E-ATTRIBUTE", field, -1, std::move(wanted), std::string(got), std::move(why));
  };
  if (element != info(to).element && !(f32_scales && element == DType::e5m2)) {
    refuse("element", std::string(name(info(to).element)), name(element),
           std::string(name(to)) + " has elements of its own type");
  }
  if (f32_scales && axes != Axes::row) {
    refuse("axes", "row", name(axes), std::string(name(to)) + " has row blocks only");
  }
  const bool row_good = f32_scales ? row_layout == ScaleLayout::linear
                                   : row_layout == ScaleLayout::tiled_128x4 ||
                                         row_layout == ScaleLayout::linear ||
                                         is_placed_by_group(row_layout);
  if (!row_good) {
    refuse("row_layout", f32_scales ? "linear" : "tiled_128x4, linear, shifted_128 or padded_128",
           name(row_layout), "no layout of row scales of " + std::string(name(to)));
  }
  if (col_layout != ScaleLayout::per_group && col_layout != ScaleLayout::global) {
    refuse("col_layout", "per_group or global", name(col_layout), "no layout of column scales");
  }
  const int64_t block = info(to).block;  // 0 where a scale has no block, which has no columns
  if (col_layout == ScaleLayout::global && axes != Axes::row && c.in().groups != ir::kNone) {
    const auto& groups = c.graph().values[static_cast<size_t>(c.in().groups)];
    if (block > 0 && groups.row_alignment % block != 0) {
      refuse("col_layout", "per_group", "global",
             "blocks start anew at each group: one matrix over all tokens needs groups of a "
             "multiple of " +
                 std::to_string(block) + " rows (row_alignment)");
    }
  }
  const bool needs_groups = is_placed_by_group(row_layout);
  if (needs_groups && c.in().groups == ir::kNone) {
    refuse("row_layout", "tiled_128x4 or linear", name(row_layout), "the value has no groups");
  }
  const bool approx = c.choice<Reciprocal>("reciprocal") == Reciprocal::approx;
  if (approx && f32_scales) {
    refuse("reciprocal", "exact", "approx", "f32 scales are divided exactly");
  }
}

void check_random(ir::Infer& c) {
  const bool stochastic = c.choice<Rounding>("rounding") == Rounding::stochastic;
  for (std::string_view field : {"seed", "offset"}) {
    const bool given = c.operand(field) != nullptr;
    if (given != stochastic) {
      c.fail("E-ATTRIBUTE", field, -1, stochastic ? "a scalar" : "nothing",
             given ? "a scalar" : "nothing",
             stochastic ? "stochastic rounding needs seed and offset"
                        : "only stochastic rounding takes seed and offset");
    }
    c.want_dtype(field, {DType::i64});
  }
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
    // Two e2m1 of a column block share a byte, so they stand along tokens.
    s.storage = c.choice<ColStorage>("col_storage");
    if (element == DType::e2m1 && s.storage == ColStorage::as_rows) {
      s.storage = ColStorage::transposed;
    }
  }
  v.scaled = s;
  return v;
}

void infer(ir::Infer& c) {
  const auto to = c.choice<Format>("to");
  const auto element = c.choice_or<DType>("element", info(to).element);
  const auto axes = c.choice<Axes>("axes");
  check_attributes(c, to, element);
  check_random(c);
  c.want_dtype("norm", {DType::f32, DType::bf16});
  const ir::Value& x = c.in();
  if (x.dtype != DType::f32 && x.dtype != DType::f16 && x.dtype != DType::bf16) {
    c.fail("E-DTYPE", "in", -1, "f32, f16 or bf16", std::string(name(x.dtype)),
           c.describe(x) + " is quantised already");
  }
  const bool row = axes != Axes::col;
  const bool col = axes != Axes::row;
  if (row && element == DType::e2m1 && x.shape[1].symbol == ir::kNone &&
      x.shape[1].bound % 2 != 0) {
    c.fail("E-SHAPE", "in", 1, "an even number of features", c.text(x.shape[1]),
           "e2m1 is packed in pairs along features");
  }
  if (col && element == DType::e2m1 && x.shape[0].symbol == ir::kNone &&
      x.shape[0].bound % 2 != 0) {
    c.fail("E-SHAPE", "in", 0, "an even number of rows", c.text(x.shape[0]),
           "e2m1 of column blocks is packed in pairs along tokens");
  }
  if (c.failed()) return;
  c.result(0, result_type(c, to, element, Axes::row));
  c.result(1, col ? result_type(c, to, element, Axes::col) : c.in());
  if (!row) c.absent(0);
  if (!col) c.absent(1);
}

}  // namespace

ir::OpRecord quantize() {
  ir::OpRecord r = ir::describe(Quantize{.to = Format::mxfp8_e4m3});
  r.infer = infer;
  r.reference.kind = ir::Reference::Kind::quantize;
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
