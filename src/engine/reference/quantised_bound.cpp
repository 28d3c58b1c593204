#include "engine/reference/quantised_bound.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/checked.h"
#include "engine/reference/sink.h"
#include "numerics/codec.h"
#include "numerics/layout.h"
#include "numerics/quantize.h"

namespace cohort::engine::reference {

namespace {

bool has_f32_scales(const numerics::BlockSpec& spec) {
  return info(spec.format).scale == DType::f32;
}

void widen(double& a, double b) {
  if (!std::isnan(a)) a = std::isnan(b) ? b : std::max(a, b);
}

// A scale as the quantiser makes it from one maximum.
double scale_of(const numerics::BlockSpec& spec, double amax) {
  const auto a = static_cast<float>(amax);
  uint8_t byte = 0;
  float number = 0;
  uint8_t code[2] = {};
  const numerics::Source x{&a, 1, 1, 1, 0, 1};
  if (spec.format == Format::fp8_tensor) {
    quantize_whole(spec, a, x, {code, 1, false, 0}, &number);
  } else {
    quantize_rows(spec, x, {code, 1, false, 0},
                  {&byte, has_f32_scales(spec) ? &number : nullptr, 1});
  }
  return decoded_scale(spec, byte, number);
}

// The value of the code of y; stochastic rounding may go either way: `side`.
double coded(const numerics::BlockSpec& spec, double y, int side) {
  const numerics::Spec& f = *numerics::find_spec(spec.element);
  if (spec.rounding == Rounding::nearest_even || side == 0) {
    return static_cast<double>(numerics::decode(f, numerics::encode(f, y)));
  }
  const double up =
      static_cast<double>(numerics::decode(f, numerics::encode(f, side * y, numerics::Round::up)));
  return side * up;
}

// An end of the interval of x as the quantiser scales it. No further than the largest f32: codes
// saturate long before, and infinity times a slack of 0 would be NaN. Nothing else is known of an
// end without a bound than that it stands for numbers, which a factor of 0 makes 0.
double scaled_end(const Allowed& x, double end, float factor) {
  constexpr double kMost = static_cast<double>(std::numeric_limits<float>::max());
  if (std::isinf(end) && factor == 0 && std::isfinite(x.wanted)) return 0;
  return std::clamp(static_cast<double>(static_cast<float>(end) * factor), -kMost, kMost);
}

// Every scale between two: powers of two, or E4M3 codes. Of f32 scales the ends.
std::vector<double> scales_between(const numerics::BlockSpec& spec, double low, double high) {
  if (!(low < high)) return {low};
  if (has_f32_scales(spec)) return {low, high};
  std::vector<double> all;
  for (int code = 0; code < 255; ++code) {
    const double s = decoded_scale(spec, static_cast<uint8_t>(code), 0);
    if (s >= low && s <= high) all.push_back(s);
  }
  return all;
}

}  // namespace

std::vector<ScaleBlock> scale_blocks(const ir::ScaledType& type, int64_t rows, int64_t columns,
                                     const std::vector<RowGroup>& groups) {
  const int64_t size = info(type.format).block;
  const bool f32_scales = info(type.format).scale == DType::f32;
  const int64_t width = size > 0 ? size : std::max<int64_t>(columns, 1);
  const int64_t count = base::ceil_div(columns, width);
  const bool along_columns = type.axis == Axes::col;
  const bool per_group = type.layout == ScaleLayout::per_group;
  std::vector<int64_t> bases;
  if (per_group) bases = per_group_bases(groups, columns, size);
  std::vector<ScaleBlock> all;
  for (const RowGroup& g : groups) {
    for (int64_t r = 0; along_columns && r < g.rows; r += size) {
      const int64_t block = per_group ? r / size : (g.begin + r) / size;
      const int64_t of = base::ceil_div(per_group ? g.rows : rows, size);
      const int64_t base = per_group ? bases[static_cast<size_t>(g.group)] : 0;
      for (int64_t c = 0; c < columns; ++c) {
        all.push_back({g.begin + r, c, std::min(size, g.rows - r), 1,
                       base + numerics::tiled_offset(c, block, of), c, block, g.group});
      }
    }
    for (int64_t r = g.begin; !along_columns && r < g.begin + g.rows; ++r) {
      for (int64_t b = 0; b < count; ++b) {
        int64_t at = f32_scales ? r * count + b : row_scale_offset(type.layout, r, b, count, &g);
        if (type.format == Format::fp8_tensor) at = 0;
        all.push_back({r, b * width, 1, std::min(width, columns - b * width), at, r, b, g.group});
      }
    }
  }
  return all;
}

void widen_amax(const Interval& x, int64_t width, const ScaleBlock& b, Allowed& amax) {
  for (int64_t r = b.row; r < b.row + b.rows; ++r) {
    for (int64_t c = b.column; c < b.column + b.columns; ++c) {
      const auto e = static_cast<size_t>(r * width + c);
      const double l = std::fabs(static_cast<double>(x.low[e]));
      const double h = std::fabs(static_cast<double>(x.high[e]));
      const bool spans = x.low[e] <= 0 && x.high[e] >= 0;
      widen(amax.wanted, std::fabs(static_cast<double>(x.mid[e])));
      widen(amax.low, spans ? 0 : std::min(l, h));
      widen(amax.high, std::isnan(l) ? l : std::max(l, h));
    }
  }
}

double decoded_scale(const numerics::BlockSpec& spec, uint8_t byte, float number) {
  const DType type = info(spec.format).scale;
  if (type == DType::f32) return static_cast<double>(number);
  return static_cast<double>(type == DType::e8m0 ? numerics::decode_e8m0(byte)
                                                 : numerics::decode(numerics::kE4m3, byte));
}

Allowed allowed_scale(const numerics::BlockSpec& spec, const Allowed& amax) {
  Allowed a{scale_of(spec, amax.wanted), scale_of(spec, amax.low), scale_of(spec, amax.high)};
  if (has_f32_scales(spec)) {  // three roundings of an f32 factor
    a.low *= 1 - 0x1p-21;
    a.high *= 1 + 0x1p-21;
  }
  return a;
}

Allowed allowed_code(const numerics::BlockSpec& spec, double scale, const Allowed& x) {
  const float factor = numerics::element_factor(spec, static_cast<float>(scale));
  // An approximate reciprocal errs by a unit in its last place (PTX ISA, rcp.approx).
  const double slack = spec.reciprocal == Reciprocal::approx ? 0x1p-22 : 0;
  double ends[2] = {scaled_end(x, x.low, factor), scaled_end(x, x.high, factor)};
  if (ends[0] > ends[1]) std::swap(ends[0], ends[1]);  // a negative norm
  // NaN has no code in e2m1: any is right.
  if (spec.element == DType::e2m1 && (std::isnan(scale) || std::isnan(ends[0]))) return {0, -6, 6};
  return {coded(spec, static_cast<double>(static_cast<float>(x.wanted) * factor), 0),
          coded(spec, ends[0] - std::fabs(ends[0]) * slack, -1),
          coded(spec, ends[1] + std::fabs(ends[1]) * slack, 1)};
}

Interval dequantised(const Memory& memory, const ir::Node& node, const ir::Value& result,
                     const Interval& x) {
  const numerics::BlockSpec spec = block_spec(memory, node);
  const int64_t rows = memory.extent(result.shape[0]);
  const int64_t columns = memory.extent(result.shape[1]);
  const auto blocks =
      scale_blocks(*result.scaled, rows, columns, memory.groups(result.groups, rows));
  const bool whole = spec.format == Format::fp8_tensor;
  Allowed amax;
  for (const ScaleBlock& b : blocks) {
    if (whole) widen_amax(x, columns, b, amax);
  }
  Interval y;
  y.resize(x.mid.size());
  for (const ScaleBlock& b : blocks) {
    if (!whole) amax = {};
    if (!whole) widen_amax(x, columns, b, amax);
    const Allowed scale = allowed_scale(spec, amax);
    const bool nan = std::isnan(scale.wanted) || std::isnan(scale.low) || std::isnan(scale.high);
    const std::vector<double> candidates =
        nan ? std::vector<double>{scale.wanted} : scales_between(spec, scale.low, scale.high);
    for (int64_t r = b.row; r < b.row + b.rows; ++r) {
      for (int64_t c = b.column; c < b.column + b.columns; ++c) {
        const auto e = static_cast<size_t>(r * columns + c);
        const Allowed element{static_cast<double>(x.mid[e]), static_cast<double>(x.low[e]),
                              static_cast<double>(x.high[e])};
        const double mid = allowed_code(spec, scale.wanted, element).wanted * scale.wanted;
        if (nan) {
          y.set(e, static_cast<float>(mid), scale.wanted, scale.wanted, 0);
          continue;
        }
        double low = mid;
        double high = mid;
        for (const double by : candidates) {
          const Allowed code = allowed_code(spec, by, element);
          for (const double times : has_f32_scales(spec) ? candidates : std::vector<double>{by}) {
            low = std::min({low, code.low * times, code.high * times});
            high = std::max({high, code.low * times, code.high * times});
          }
        }
        y.set(e, static_cast<float>(mid), low, high, 0);
      }
    }
  }
  return y;
}

}  // namespace cohort::engine::reference
