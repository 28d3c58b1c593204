#include "engine/reference/stored_ref.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/checked.h"
#include "numerics/codec.h"
#include "numerics/layout.h"

namespace cohort::engine::reference {

using base::ceil_div;

int64_t row_scale_offset(ScaleLayout layout, int64_t row, int64_t block, int64_t blocks,
                         const RowGroup* group) {
  if (layout == ScaleLayout::linear) return row * blocks + block;
  if (layout == ScaleLayout::shifted_128) {
    row = numerics::shifted_row(group->before, group->group) + row - group->begin;
  } else if (layout == ScaleLayout::padded_128) {
    row = group->tiles * numerics::kAtomRows + row - group->begin;
  }
  return numerics::tiled_offset(row, block, blocks);
}

std::vector<int64_t> per_group_bases(const std::vector<RowGroup>& groups, int64_t features,
                                     int64_t block) {
  std::vector<int64_t> bases;
  int64_t at = 0;
  for (const RowGroup& g : groups) {
    bases.push_back(at);
    at += *numerics::per_group_bytes(features, g.rows, block);
  }
  return bases;
}

void StoredRef::read_codes(int64_t row, int64_t begin, int64_t count, float* out) const {
  const int64_t at = first + row * row_stride;
  if (column_stride == 1) {
    numerics::decode_row(dtype, data, at + begin, count, out);
    return;
  }
  for (int64_t i = 0; i < count; ++i) {
    numerics::decode_row(dtype, data, at + (begin + i) * column_stride, 1, out + i);
  }
}

namespace {

double block_scale(const StoredRef& s, int64_t offset) {
  const uint8_t code = static_cast<const uint8_t*>(s.scale)[offset];
  if (s.scaled->format == Format::nvfp4) {
    // The tensor core takes E4M3 block scales as unsigned.
    return std::fabs(numerics::decode(numerics::kE4m3, code));
  }
  return numerics::decode_e8m0(code);
}

double factor(const StoredRef& s, int64_t row, int64_t block) {
  const auto* f = static_cast<const float*>(s.scale);
  switch (s.scaled->format) {
    case Format::fp8_tensor:
      return f[0];
    case Format::fp8_row:
      return f[row];
    default:
      return f[(s.is_weights ? row / 128 : row) * ceil_div(s.columns, 128) + block];
  }
}

// Blocks along tokens: a column has its own scale in every row's token block.
void scale_columns(const StoredRef& s, int64_t row, int64_t begin, int64_t count,
                   const RowGroup* group, double* out) {
  const int64_t size = info(s.scaled->format).block;
  const bool per_group = s.scaled->layout == ScaleLayout::per_group;
  const int64_t block =
      per_group ? (row - group->begin) / size : group->begin / size + (row - group->begin) / size;
  const int64_t blocks = ceil_div(per_group ? group->rows : s.rows, size);
  const int64_t base = per_group ? (*s.scale_base)[static_cast<size_t>(group->group)] : 0;
  for (int64_t i = 0; i < count; ++i) {
    out[i] *= block_scale(s, base + numerics::tiled_offset(begin + i, block, blocks));
  }
}

}  // namespace

StoredRef StoredRef::in_group(const RowGroup& group) const {
  StoredRef r = *this;
  if (scaled == nullptr || scaled->storage != ColStorage::ragged) return r;
  r.row_stride = 1;
  r.column_stride = group.rows;
  r.first = first + group.begin * (columns - 1);  // row `begin` then stands at columns * begin
  return r;
}

void StoredRef::read(int64_t row, int64_t begin, int64_t count, const RowGroup* group,
                     double* out) const {
  const StoredRef placed = group != nullptr ? in_group(*group) : *this;
  std::array<float, 256> codes;
  for (int64_t i = 0; i < count; i += 256) {
    const int64_t n = std::min<int64_t>(256, count - i);
    placed.read_codes(row, begin + i, n, codes.data());
    for (int64_t k = 0; k < n; ++k) out[i + k] = codes[static_cast<size_t>(k)];
  }
  if (scaled == nullptr) return;
  if (scaled->axis == Axes::col) {
    scale_columns(*this, row, begin, count, group, out);
    return;
  }
  const bool f32_scales = info(scaled->format).scale == DType::f32;
  const int64_t size = info(scaled->format).block > 0 ? info(scaled->format).block : columns;
  const int64_t blocks = size > 0 ? ceil_div(columns, size) : 0;
  for (int64_t k = begin; k < begin + count;) {
    const int64_t block = k / size;
    const int64_t end = std::min(begin + count, (block + 1) * size);
    const double s =
        f32_scales
            ? factor(*this, row, block)
            : block_scale(*this, row_scale_offset(scaled->layout, row, block, blocks, group));
    for (; k < end; ++k) out[k - begin] *= s;
  }
}

void StoredRef::write(int64_t row, int64_t begin, int64_t count, const float* x) const {
  const int64_t at = first + row * row_stride;
  if (column_stride == 1) {
    numerics::encode_row(dtype, x, at + begin, count, data);
    return;
  }
  for (int64_t i = 0; i < count; ++i) {
    numerics::encode_row(dtype, x + i, at + (begin + i) * column_stride, 1, data);
  }
}

void StoredRef::write_zeros(int64_t row) const {
  if (scaled != nullptr && scaled->storage == ColStorage::ragged) {
    // Rows of no group have no matrix: what lies between those of groups is theirs.
    StoredRef flat = *this;
    const ir::ScaledType as_rows{scaled->format, scaled->layout, scaled->axis, ColStorage::as_rows};
    flat.scaled = &as_rows;
    flat.row_stride = columns;
    flat.column_stride = 1;
    return flat.write_zeros(row);
  }
  const std::array<float, 256> zeros{};
  for (int64_t i = 0; i < columns; i += 256) {
    write(row, i, std::min<int64_t>(256, columns - i), zeros.data());
  }
}

}  // namespace cohort::engine::reference
