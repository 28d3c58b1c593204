#include "numerics/quantize.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <limits>
#include <vector>

#include "base/isa_level.h"
#include "numerics/codec.h"
#include "numerics/isa.h"
#include "numerics/philox.h"

namespace cohort::numerics {

const QuantizeKernels& quantize_kernels() {
  static const QuantizeKernels& best = *[] {
    switch (base::isa_level()) {
      case base::IsaLevel::v4:
        return &v4::kQuantizeKernels;
      case base::IsaLevel::v3:
        return &v3::kQuantizeKernels;
      default:
        return &v1::kQuantizeKernels;
    }
  }();
  return best;
}

namespace {

// The scale of one block: as stored, and as the factor that elements are multiplied by.
struct Scale {
  uint8_t code = 0;
  float value = 0;
  float factor = 0;
};

Scale scale_of(const BlockSpec& s, float amax) {
  Scale r;
  switch (info(s.format).scale) {
    case DType::e8m0:
      r.code = static_cast<uint8_t>(e8m0_code(s, amax));
      r.value = e8m0_value(r.code);
      break;
    case DType::e4m3: {
      const float q = block_q(amax, s.qmax, s.norm);
      // Clamped before the cast: an encoder without saturation would give NaN above 464.
      r.code = static_cast<uint8_t>(encode(kE4m3, q > 448.0f ? 448.0f : q));
      r.value = decode(kE4m3, r.code);
      break;
    }
    default: {
      const float q = block_q(amax, s.qmax, s.norm);
      r.value = q > std::numeric_limits<float>::max() ? std::numeric_limits<float>::max() : q;
    }
  }
  r.factor = element_factor(s, r.value);
  return r;
}

float larger(float a, float b) {
  const uint32_t x = float_bits(a) & 0x7FFFFFFF;
  const uint32_t y = float_bits(b) & 0x7FFFFFFF;
  return bits_float(x > y ? x : y);
}

uint32_t element_code(const BlockSpec& s, const Spec& format, float x, float factor,
                      uint64_t index) {
  const float y = x * factor;
  if (s.rounding == Rounding::nearest_even) return encode(format, y);
  const auto words = philox4x32_10(s.seed, s.offset + index / 4);
  return encode(format, y, Round::random, Overflow::saturate, words[index % 4]);
}

void put(const CodeTarget& t, DType type, int64_t row, int64_t column, uint32_t code) {
  put_code(type, t.data,
           t.first + (t.transposed ? column * t.stride + row : row * t.stride + column), code);
}

// An e2m1 element whose pair may belong to a panel that another thread writes at this moment.
void put_shared(const CodeTarget& t, int64_t row, int64_t column, uint32_t code) {
  const int64_t e = t.first + (t.transposed ? column * t.stride + row : row * t.stride + column);
  const auto shift = static_cast<unsigned>(e % 2 * 4);
  const std::atomic_ref<uint8_t> byte(t.data[e / 2]);
  byte.fetch_and(static_cast<uint8_t>(0xF0u >> shift), std::memory_order_relaxed);
  byte.fetch_or(static_cast<uint8_t>(code << shift), std::memory_order_relaxed);
}

void put(const ScaleTarget& t, int64_t position, const Scale& scale) {
  if (t.floats != nullptr) {
    t.floats[position] = scale.value;
  } else {
    t.bytes[position] = scale.code;
  }
}

bool is_fast(const BlockSpec& s) {
  const bool mx8 = s.format == Format::mxfp8_e4m3 || s.format == Format::mxfp8_e5m2;
  return mx8 && s.rounding == Rounding::nearest_even;
}

}  // namespace

float panel_amax(const Source& x) {
  float m = 0;
  for (int64_t r = 0; r < x.rows; ++r) {
    for (int64_t n = 0; n < x.columns; ++n) m = larger(m, x.data[r * x.stride + n]);
  }
  return m;
}

void quantize_rows(const BlockSpec& s, const Source& x, const CodeTarget& codes,
                   const ScaleTarget& scales) {
  if (is_fast(s) && !codes.transposed) {
    for (int64_t r = 0; r < x.rows; ++r) {
      quantize_kernels().mx8_row(s, x.data + r * x.stride, x.columns,
                                 codes.data + codes.first + r * codes.stride,
                                 scales.bytes + r * scales.stride);
    }
    return;
  }
  const Spec& format = *find_spec(s.element);
  const int64_t block = info(s.format).block > 0 ? info(s.format).block : x.columns;
  for (int64_t r = 0; r < x.rows; ++r) {
    const float* row = x.data + r * x.stride;
    for (int64_t b = 0; b * block < x.columns; ++b) {
      const int64_t begin = b * block;
      const int64_t end = std::min(begin + block, x.columns);
      float amax = 0;
      for (int64_t n = begin; n < end; ++n) amax = larger(amax, row[n]);
      const Scale scale = scale_of(s, amax);
      put(scales, r * scales.stride + b, scale);
      const uint64_t index = x.first_index + static_cast<uint64_t>(r) * x.index_stride;
      for (int64_t n = begin; n < end; ++n) {
        put(codes, s.element, r, n,
            element_code(s, format, row[n], scale.factor, index + static_cast<uint64_t>(n)));
      }
    }
  }
}

void quantize_column_block(const BlockSpec& s, const Source& x, const CodeTarget& codes,
                           const ScaleTarget& scales) {
  if (is_fast(s) && !codes.transposed) {
    quantize_kernels().mx8_column_block(s, x.data, x.stride, x.rows, x.columns,
                                        codes.data + codes.first, codes.stride, scales.bytes);
    return;
  }
  const Spec& format = *find_spec(s.element);
  for (int64_t n = 0; n < x.columns; ++n) {
    float amax = 0;
    for (int64_t r = 0; r < x.rows; ++r) amax = larger(amax, x.data[r * x.stride + n]);
    const Scale scale = scale_of(s, amax);
    put(scales, n, scale);
    for (int64_t r = 0; r < x.rows; ++r) {
      const uint64_t index =
          x.first_index + static_cast<uint64_t>(r) * x.index_stride + static_cast<uint64_t>(n);
      const uint32_t code = element_code(s, format, x.data[r * x.stride + n], scale.factor, index);
      const bool is_border = r == 0 || r == x.rows - 1;
      if (is_border && s.element == DType::e2m1) {
        put_shared(codes, r, n, code);
      } else {
        put(codes, s.element, r, n, code);
      }
    }
  }
}

void quantize_whole(const BlockSpec& s, float amax, const Source& x, const CodeTarget& codes,
                    float* scale_out) {
  const Spec& format = *find_spec(s.element);
  const Scale scale = scale_of(s, amax);
  if (scale_out != nullptr) *scale_out = scale.value;
  for (int64_t r = 0; r < x.rows; ++r) {
    for (int64_t n = 0; n < x.columns; ++n) {
      const uint64_t index =
          x.first_index + static_cast<uint64_t>(r) * x.index_stride + static_cast<uint64_t>(n);
      put(codes, s.element, r, n,
          element_code(s, format, x.data[r * x.stride + n], scale.factor, index));
    }
  }
}

}  // namespace cohort::numerics
