// Public quantisers of a whole matrix.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include <cohort/numerics.h>

#include "base/checked.h"
#include "base/diagnostics.h"
#include "base/isa_level.h"
#include "numerics/api_checks.h"
#include "numerics/codec.h"
#include "numerics/layout.h"
#include "numerics/quantize.h"

namespace cohort {

namespace {

using base::ceil_div;
using numerics::refuse;

// What both directions and both axes know of a call, checked.
struct Job {
  Job(const QuantizeSpec& s, int64_t row_count, int64_t column_count,
      std::span<const int64_t> boundaries, bool by_column);

  numerics::BlockSpec block;
  bool f32_scales;
  int64_t rows;
  int64_t columns;
  bool column;
  bool transposed;
  int64_t size;    // elements of a block
  int64_t blocks;  // of a row
  ScaleMatrix scales;
  numerics::Groups groups;
  int64_t bytes;  // of the scales
};

numerics::BlockSpec block_spec(const QuantizeSpec& s) {
  const FormatInfo f = info(s.format);
  const bool f32_scales = f.scale == DType::f32;
  if (name(s.format).empty()) refuse("E-ATTRIBUTE", "format", "a format", "an unknown value");
  if (s.e5m2 && !f32_scales) {
    refuse("E-ATTRIBUTE", "e5m2", "false: the format has elements of its own", "true");
  }
  if (f.scale != DType::e4m3 && s.reciprocal == Reciprocal::approx) {
    refuse("E-ATTRIBUTE", "reciprocal",
           f32_scales ? "exact: f32 scales are divided exactly"
                      : "exact: e8m0 scales have exact reciprocals",
           "approx");
  }
  if (f.scale != DType::e8m0 && s.scale_rounding != ScaleRounding::up) {
    refuse("E-ATTRIBUTE", "scale_rounding", "up: others are of e8m0 scales",
           std::string(name(s.scale_rounding)));
  }
  if (!(s.qmax >= 0 && std::isfinite(s.qmax))) {
    refuse("E-ATTRIBUTE", "qmax", "0 or a positive number", std::to_string(s.qmax));
  }
  if (s.qmax != 0 && s.scale_rounding != ScaleRounding::up) {
    refuse("E-ATTRIBUTE", "qmax", "0: only scale_rounding up reads it", std::to_string(s.qmax));
  }
  numerics::BlockSpec b;
  b.format = s.format;
  b.element = s.e5m2 ? DType::e5m2 : f.element;
  b.norm = s.norm;
  b.qmax = s.qmax == 0 ? numerics::default_qmax(b.element) : s.qmax;
  b.scale_rounding = s.scale_rounding;
  b.reciprocal = s.reciprocal;
  b.rounding = s.rounding;
  b.seed = s.seed;
  b.offset = s.offset;
  return b;
}

void check_layout(const Job& j, const QuantizeSpec& s) {
  const ScaleLayout layout = j.scales.layout;
  const bool of_columns = layout == ScaleLayout::per_group || layout == ScaleLayout::global;
  if (j.column && j.f32_scales) {
    refuse("E-ATTRIBUTE", "format", "a format with 8-bit scales for column blocks",
           std::string(name(s.format)));
  }
  if (j.column != of_columns) {
    refuse("E-LAYOUT", j.column ? "col_layout" : "layout",
           j.column ? "per_group or global" : "tiled_128x4, linear, shifted_128 or padded_128",
           std::string(name(layout)));
  }
  if (layout != ScaleLayout::global) return;
  for (int64_t g = 0; g < j.groups.size(); ++g) {
    const numerics::Group group = j.groups[g];
    if (group.begin < group.end && group.begin % j.size != 0) {
      refuse("E-LAYOUT", "col_layout",
             "per_group, or groups that begin at a multiple of " + std::to_string(j.size),
             "global with a group at row " + std::to_string(group.begin));
    }
  }
}

Job::Job(const QuantizeSpec& s, int64_t row_count, int64_t column_count,
         std::span<const int64_t> boundaries, bool by_column)
    : block(block_spec(s)),
      f32_scales(info(s.format).scale == DType::f32),
      rows(row_count),
      columns(column_count),
      column(by_column),
      transposed(by_column &&
                 (s.col_storage == ColStorage::transposed || block.element == DType::e2m1)),
      size(info(s.format).block > 0 ? info(s.format).block : std::max<int64_t>(column_count, 1)),
      blocks(0),
      scales{.layout = by_column ? s.col_layout : s.layout,
             .rows = row_count,
             .columns = column_count,
             .block = size,
             .boundaries = boundaries},
      groups(boundaries, row_count),
      bytes(0) {
  numerics::check_extents(rows, columns);
  const int64_t along = column ? rows : columns;
  if (block.element == DType::e2m1 && along % 2 != 0) {
    refuse("E-SHAPE", column ? "rows" : "columns", "an even number: e2m1 are packed in pairs",
           std::to_string(along));
  }
  if (column && s.col_storage == ColStorage::ragged) {
    refuse("E-ATTRIBUTE", "col_storage", "as_rows or transposed", "ragged");
  }
  check_layout(*this, s);
  blocks = s.format == Format::fp8_row ? 1 : ceil_div(columns, size);
  if (!f32_scales) bytes = numerics::exact_scale_bytes(scales, groups);
}

// Byte of scale (row, b) for the rows of one group.
int64_t scale_of_row(const Job& j, const numerics::Group& group, int64_t row, int64_t b) {
  if (j.scales.layout == ScaleLayout::linear) return row * j.blocks + b;
  if (is_placed_by_group(j.scales.layout)) {
    row += j.groups.scale_row(j.scales.layout, group.index) - group.begin;
  }
  return numerics::tiled_offset(row, b, j.blocks);
}

// Calls f(group) for every group, or once for all rows where the layout does not know groups.
template <class F>
void for_row_groups(const Job& j, F&& f) {
  if (!is_placed_by_group(j.scales.layout)) {
    f(numerics::Group{0, 0, j.rows});
    return;
  }
  for (int64_t g = 0; g < j.groups.size(); ++g) f(j.groups[g]);
}

numerics::Source source(const Job& j, const float* values, int64_t first, int64_t rows) {
  const auto width = static_cast<uint64_t>(j.columns);
  return {values + first * j.columns,           j.columns, rows, j.columns,
          static_cast<uint64_t>(first) * width, width};
}

numerics::CodeTarget target(const Job& j, std::byte* codes, int64_t first) {
  auto* bytes = reinterpret_cast<uint8_t*>(codes);
  if (j.transposed) return {bytes, j.rows, true, first};
  return {bytes, j.columns, false, first * j.columns};
}

void quantize_f32_scales(const Job& j, const float* values, std::byte* codes, std::byte* scales) {
  auto* floats = reinterpret_cast<float*>(scales);
  const numerics::Source x = source(j, values, 0, j.rows);
  if (j.block.format == Format::fp8_tensor) {
    numerics::quantize_whole(j.block, numerics::panel_amax(x), x, target(j, codes, 0), floats);
    return;
  }
  if (j.columns == 0) std::fill(floats, floats + j.rows * j.blocks, 0.0f);
  numerics::quantize_rows(j.block, x, target(j, codes, 0), {nullptr, floats, j.blocks});
}

// Panels keep the scratch for linear scales small.
constexpr int64_t kPanel = 32;

void quantize_row_group(const Job& j, const numerics::Group& group, const float* values,
                        std::byte* codes, std::byte* scales) {
  std::vector<uint8_t> linear(static_cast<size_t>(kPanel * j.blocks));
  for (int64_t first = group.begin; first < group.end; first += kPanel) {
    const int64_t rows = std::min(kPanel, group.end - first);
    numerics::quantize_rows(j.block, source(j, values, first, rows), target(j, codes, first),
                            {linear.data(), nullptr, j.blocks});
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t b = 0; b < j.blocks; ++b) {
        scales[scale_of_row(j, group, first + r, b)] =
            std::byte{linear[static_cast<size_t>(r * j.blocks + b)]};
      }
    }
  }
}

// Calls f(first row, rows, byte of the scale of column 0 up, scale columns, scale column) for each
// block along tokens.
template <class F>
void for_column_blocks(const Job& j, F&& f) {
  int64_t base = 0;
  const bool per_group = j.scales.layout == ScaleLayout::per_group;
  for (int64_t g = 0; g < j.groups.size(); ++g) {
    const numerics::Group group = j.groups[g];
    const int64_t rows = group.end - group.begin;
    const int64_t columns = ceil_div(per_group ? rows : j.rows, j.size);
    for (int64_t r = group.begin; r < group.end; r += j.size) {
      const int64_t at = per_group ? (r - group.begin) / j.size : r / j.size;
      f(r, std::min(j.size, group.end - r), base, columns, at);
    }
    if (per_group) base += *numerics::per_group_bytes(j.columns, rows, j.size);
  }
}

float scale_value(const Job& j, std::byte code) {
  const auto c = static_cast<uint8_t>(code);
  if (info(j.block.format).scale == DType::e8m0) return numerics::decode_e8m0(c);
  return numerics::decode(numerics::kE4m3, c & 0x7F);
}

float element(const Job& j, const std::byte* codes, int64_t r, int64_t c, float scale) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(codes);
  const int64_t i = j.transposed ? c * j.rows + r : r * j.columns + c;
  const uint32_t code = numerics::get_code(j.block.element, bytes, i);
  const float value = numerics::decode(*numerics::find_spec(j.block.element), code);
  return static_cast<float>(static_cast<double>(value) * scale / j.block.norm);
}

void dequantize_f32_scales(const Job& j, const std::byte* codes, const std::byte* scales,
                           float* values) {
  const auto* floats = reinterpret_cast<const float*>(scales);
  const bool whole = j.block.format == Format::fp8_tensor;
  for (int64_t r = 0; r < j.rows; ++r) {
    for (int64_t c = 0; c < j.columns; ++c) {
      const float scale = floats[whole ? 0 : r * j.blocks + c / j.size];
      values[r * j.columns + c] = element(j, codes, r, c, scale);
    }
  }
}

}  // namespace

Status quantize_rows(const QuantizeSpec& spec, const float* values, int64_t rows, int64_t columns,
                     std::byte* codes, std::byte* scales,
                     std::span<const int64_t> boundaries) noexcept {
  return base::guarded("quantising", [&]() -> Status {
    QuantizeSpec s = spec;
    if (info(s.format).scale == DType::f32) s.layout = ScaleLayout::linear;
    const Job j(s, rows, columns, boundaries, false);
    if (j.f32_scales) {
      quantize_f32_scales(j, values, codes, scales);
      return {};
    }
    if (j.bytes > 0) std::memset(scales, 0, static_cast<size_t>(j.bytes));
    for_row_groups(
        j, [&](const numerics::Group& g) { quantize_row_group(j, g, values, codes, scales); });
    return {};
  });
}

Status quantize_columns(const QuantizeSpec& spec, const float* values, int64_t rows,
                        int64_t columns, std::span<const int64_t> boundaries, std::byte* codes,
                        std::byte* scales) noexcept {
  return base::guarded("quantising", [&]() -> Status {
    const Job j(spec, rows, columns, boundaries, true);
    if (j.bytes > 0) std::memset(scales, 0, static_cast<size_t>(j.bytes));
    std::vector<uint8_t> linear(static_cast<size_t>(columns));
    for_column_blocks(
        j, [&](int64_t first, int64_t count, int64_t base, int64_t scale_columns, int64_t at) {
          numerics::quantize_column_block(j.block, source(j, values, first, count),
                                          target(j, codes, first), {linear.data(), nullptr, 1});
          for (int64_t n = 0; n < columns; ++n) {
            scales[base + numerics::tiled_offset(n, at, scale_columns)] =
                std::byte{linear[static_cast<size_t>(n)]};
          }
        });
    return {};
  });
}

Status dequantize_rows(const QuantizeSpec& spec, const std::byte* codes, const std::byte* scales,
                       int64_t rows, int64_t columns, float* values,
                       std::span<const int64_t> boundaries) noexcept {
  return base::guarded("dequantising", [&]() -> Status {
    QuantizeSpec s = spec;
    if (info(s.format).scale == DType::f32) s.layout = ScaleLayout::linear;
    const Job j(s, rows, columns, boundaries, false);
    if (j.f32_scales) {
      dequantize_f32_scales(j, codes, scales, values);
      return {};
    }
    for_row_groups(j, [&](const numerics::Group& g) {
      for (int64_t r = g.begin; r < g.end; ++r) {
        for (int64_t c = 0; c < columns; ++c) {
          const float scale = scale_value(j, scales[scale_of_row(j, g, r, c / j.size)]);
          values[r * columns + c] = element(j, codes, r, c, scale);
        }
      }
    });
    return {};
  });
}

Status dequantize_columns(const QuantizeSpec& spec, const std::byte* codes, const std::byte* scales,
                          int64_t rows, int64_t columns, std::span<const int64_t> boundaries,
                          float* values) noexcept {
  return base::guarded("dequantising", [&]() -> Status {
    const Job j(spec, rows, columns, boundaries, true);
    for_column_blocks(
        j, [&](int64_t first, int64_t count, int64_t base, int64_t scale_columns, int64_t at) {
          for (int64_t r = first; r < first + count; ++r) {
            for (int64_t n = 0; n < columns; ++n) {
              const int64_t offset = base + numerics::tiled_offset(n, at, scale_columns);
              values[r * columns + n] = element(j, codes, r, n, scale_value(j, scales[offset]));
            }
          }
        });
    return {};
  });
}

std::string_view isa_level() noexcept {
  switch (base::isa_level()) {
    case base::IsaLevel::v4:
      return "v4";
    case base::IsaLevel::v3:
      return "v3";
    default:
      return "v1";
  }
}

}  // namespace cohort
