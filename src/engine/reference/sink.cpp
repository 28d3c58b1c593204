#include "engine/reference/sink.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "base/checked.h"
#include "numerics/codec.h"
#include "numerics/layout.h"
#include "numerics/quantize.h"

namespace cohort::engine::reference {

using base::ceil_div;

namespace {

int64_t scalar_integer(const Memory& m, int32_t value) {
  const TensorView& v = m.input(value, ir::TensorPart::Kind::data);
  return v.dtype == DType::i64 ? *static_cast<const int64_t*>(v.data)
                               : *static_cast<const int32_t*>(v.data);
}

bool has_f32_scales(const Sink& s) { return info(s.to.scaled->format).scale == DType::f32; }

int64_t row_blocks(const Sink& s) {
  const int64_t size = info(s.to.scaled->format).block;
  return size > 0 ? ceil_div(s.to.columns, size) : 1;
}

void zero_scales(const Sink& s, int64_t row, const RowGroup* group, int64_t from, int64_t to) {
  auto* bytes = static_cast<uint8_t*>(s.to.scale);
  for (int64_t b = from; b < to; ++b) {
    bytes[row_scale_offset(s.to.scaled->layout, row, b, row_blocks(s), group)] = 0;
  }
}

// Scale bytes that no row or column owns: the output's own padding.
void pad_row_scales(const Sink& s, const std::vector<RowGroup>& groups) {
  const ScaleLayout layout = s.to.scaled->layout;
  const int64_t padded = ceil_div(row_blocks(s), 4) * 4;
  if (layout == ScaleLayout::tiled_128x4) {
    for (int64_t r = s.to.rows; r < ceil_div(s.to.rows, 128) * 128; ++r) {
      zero_scales(s, r, nullptr, 0, padded);
    }
  }
  if (is_placed_by_group(layout)) {
    for (const RowGroup& g : groups) {
      for (int64_t r = g.rows; r < ceil_div(g.rows, 128) * 128; ++r) {
        zero_scales(s, g.begin + r, &g, 0, padded);
      }
    }
  }
}

void pad_column_scales(const Sink& s, const std::vector<RowGroup>& groups) {
  auto* bytes = static_cast<uint8_t*>(s.to.scale);
  const int64_t size = info(s.to.scaled->format).block;
  if (s.to.scaled->layout == ScaleLayout::per_group) {
    for (const RowGroup& g : groups) {
      const int64_t base = s.scale_base[static_cast<size_t>(g.group)];
      std::memset(bytes + base, 0,
                  static_cast<size_t>(*numerics::per_group_bytes(s.to.columns, g.rows, size)));
    }
    return;
  }
  const int64_t blocks = ceil_div(s.to.rows, size);
  for (int64_t n = 0; n < ceil_div(s.to.columns, 128) * 128; ++n) {
    const int64_t from = n < s.to.columns ? blocks : 0;
    for (int64_t b = from; b < ceil_div(blocks, 4) * 4; ++b) {
      bytes[numerics::tiled_offset(n, b, blocks)] = 0;
    }
  }
}

void zero_tail_scales(const Sink& s, const RowRange& range) {
  const ScaleLayout layout = s.to.scaled->layout;
  const int64_t size = info(s.to.scaled->format).block;
  for (int64_t r = range.begin; r < range.end; ++r) {
    if (s.to.scaled->format == Format::fp8_tensor) return;
    if (has_f32_scales(s)) {
      float* f = static_cast<float*>(s.to.scale) + r * row_blocks(s);
      std::fill(f, f + row_blocks(s), 0.0f);
    } else if (s.to.scaled->axis == Axes::row && !is_placed_by_group(layout)) {
      const bool tiled = layout == ScaleLayout::tiled_128x4;
      zero_scales(s, r, nullptr, 0, tiled ? ceil_div(row_blocks(s), 4) * 4 : row_blocks(s));
    } else if (layout == ScaleLayout::global && r % size == 0) {
      for (int64_t n = 0; n < s.to.columns; ++n) {
        static_cast<uint8_t*>(
            s.to.scale)[numerics::tiled_offset(n, r / size, ceil_div(s.to.rows, size))] = 0;
      }
    }
  }
}

numerics::CodeTarget code_target(const Sink& s, const RowGroup& group, int64_t row) {
  const bool transposed = s.to.scaled->storage != ColStorage::as_rows;
  const StoredRef to = s.to.in_group(group);
  return {static_cast<uint8_t*>(to.data), transposed ? to.column_stride : to.row_stride, transposed,
          to.first + row * to.row_stride};
}

void store_row_scales(const Sink& s, const RowGroup& group, int64_t first, int64_t rows,
                      const uint8_t* scales) {
  const int64_t blocks = row_blocks(s);
  auto* bytes = static_cast<uint8_t*>(s.to.scale);
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t b = 0; b < blocks; ++b) {
      bytes[row_scale_offset(s.to.scaled->layout, first + r, b, blocks, &group)] =
          scales[r * blocks + b];
    }
    if (s.to.scaled->layout != ScaleLayout::linear) {
      zero_scales(s, first + r, &group, blocks, ceil_div(blocks, 4) * 4);
    }
  }
}

void quantize_columns(const Sink& s, const numerics::BlockSpec& spec, const RowGroup& group,
                      numerics::Source x, int64_t first, std::vector<uint8_t>& scratch) {
  const int64_t size = info(spec.format).block;
  scratch.resize(static_cast<size_t>(x.columns));
  auto* bytes = static_cast<uint8_t*>(s.to.scale);
  const bool per_group = s.to.scaled->layout == ScaleLayout::per_group;
  const int64_t base = per_group ? s.scale_base[static_cast<size_t>(group.group)] : 0;
  const int64_t blocks = ceil_div(per_group ? group.rows : s.to.rows, size);
  const int64_t rows = x.rows;
  for (int64_t r = 0; r < rows; r += size) {
    numerics::Source part = x;
    part.data += r * x.stride;
    part.rows = std::min(size, rows - r);
    part.first_index += static_cast<uint64_t>(r) * x.index_stride;
    quantize_column_block(spec, part, code_target(s, group, first + r),
                          {scratch.data(), nullptr, 1});
    const int64_t block = (first + r - group.begin) / size + (per_group ? 0 : group.begin / size);
    for (int64_t n = 0; n < x.columns; ++n) {
      bytes[base + numerics::tiled_offset(n, block, blocks)] = scratch[static_cast<size_t>(n)];
    }
  }
}

}  // namespace

numerics::BlockSpec block_spec(const Memory& m, const ir::Node& node) {
  const ir::Graph& g = m.graph();
  numerics::BlockSpec s;
  s.format = static_cast<Format>(g.field(node, "to").integer);
  const ir::FieldValue& element = g.field(node, "element");
  s.element = element.kind == ir::FieldValue::Kind::none ? info(s.format).element
                                                         : static_cast<DType>(element.integer);
  const ir::FieldValue& qmax = g.field(node, "qmax");
  s.qmax = qmax.kind == ir::FieldValue::Kind::none ? numerics::default_qmax(s.element) : qmax.real;
  const ir::FieldValue& norm = g.field(node, "norm");
  s.norm = static_cast<float>(norm.number);
  if (norm.kind == ir::FieldValue::Kind::value) {
    const TensorView& v = m.input(norm.value, ir::TensorPart::Kind::data);
    numerics::decode_row(v.dtype, v.data, 0, 1, &s.norm);
  }
  s.scale_rounding = static_cast<ScaleRounding>(g.field(node, "scale_rounding").integer);
  s.reciprocal = static_cast<Reciprocal>(g.field(node, "reciprocal").integer);
  s.rounding = static_cast<Rounding>(g.field(node, "rounding").integer);
  if (s.rounding == Rounding::stochastic) {
    s.seed = static_cast<uint64_t>(scalar_integer(m, g.operand(node, "seed")));
    s.offset = static_cast<uint64_t>(scalar_integer(m, g.operand(node, "offset")));
  }
  return s;
}

std::vector<int64_t> scattered_rows(const Memory& m, const ir::Output& o,
                                    const std::vector<RowGroup>& groups, int64_t rows) {
  const int64_t places = m.extent(*o.rows);
  std::vector<int64_t> to(static_cast<size_t>(rows), -1);
  std::vector<bool> taken(static_cast<size_t>(places), false);
  for (const RowGroup& g : groups) {
    for (int64_t r = g.begin; r < g.begin + g.rows; ++r) {
      // The last entry may have fewer slots than top_k behind it.
      const int64_t entry = m.index_row(o.scatter, r, ceil_div(places, o.top_k), true);
      if (entry < 0) continue;
      const int64_t slot = o.slot == ir::kNone ? 0 : m.index_row(o.slot, r, o.top_k, false);
      const int64_t place = entry * o.top_k + slot;
      if (place >= places || taken[static_cast<size_t>(place)]) {
        m.fail_index(o.scatter, r,
                     place >= places ? "an output row below " + std::to_string(places)
                                     : "an output row that no other row is written to",
                     "row " + std::to_string(place));
      }
      taken[static_cast<size_t>(place)] = true;
      to[static_cast<size_t>(r)] = place;
    }
  }
  return to;
}

std::vector<bool> places_taken(const std::vector<int64_t>& scattered, int64_t places) {
  std::vector<bool> taken(static_cast<size_t>(places), false);
  for (const int64_t row : scattered) {
    if (row >= 0) taken[static_cast<size_t>(row)] = true;
  }
  return taken;
}

namespace {

void zero_holes(const Sink& s) {
  const std::vector<bool> taken = places_taken(*s.scattered, s.to.rows);
  for (int64_t r = 0; r < s.to.rows; ++r) {
    if (!taken[static_cast<size_t>(r)]) s.to.write_zeros(r);
  }
}

}  // namespace

void prepare(Sink& s, const std::vector<RowGroup>& groups) {
  const bool columns = s.to.scaled != nullptr && s.to.scaled->axis == Axes::col;
  if (columns && s.to.scaled->layout == ScaleLayout::per_group) {
    s.scale_base = per_group_bases(groups, s.to.columns, info(s.to.scaled->format).block);
  }
  if (columns) pad_column_scales(s, groups);
  if (s.to.scaled != nullptr && !columns && !has_f32_scales(s)) pad_row_scales(s, groups);
  if (s.tail == Tail::leave) return;
  if (s.scattered) return zero_holes(s);
  for (const RowRange& range : unowned_rows(groups, s.to.rows)) {
    for (int64_t r = range.begin; r < range.end; ++r) s.to.write_zeros(r);
    if (s.to.scaled != nullptr) zero_tail_scales(s, range);
  }
}

void quantize_panel(const Sink& s, const numerics::BlockSpec& spec, const RowGroup& group,
                    int64_t first, int64_t rows, const float* x, int64_t stride,
                    std::vector<uint8_t>& scratch) {
  const auto width = static_cast<uint64_t>(s.to.columns);
  const numerics::Source source{
      x, stride, rows, s.to.columns, static_cast<uint64_t>(first) * width, width};
  if (s.to.scaled->axis == Axes::col) {
    quantize_columns(s, spec, group, source, first, scratch);
    return;
  }
  if (spec.format == Format::fp8_tensor) {
    quantize_whole(spec, s.whole_amax, source, code_target(s, group, first), nullptr);
    return;
  }
  if (has_f32_scales(s)) {
    float* scales = static_cast<float*>(s.to.scale) + first * row_blocks(s);
    quantize_rows(spec, source, code_target(s, group, first), {nullptr, scales, row_blocks(s)});
    return;
  }
  scratch.resize(static_cast<size_t>(rows * row_blocks(s)));
  quantize_rows(spec, source, code_target(s, group, first),
                {scratch.data(), nullptr, row_blocks(s)});
  store_row_scales(s, group, first, rows, scratch.data());
}

}  // namespace cohort::engine::reference
