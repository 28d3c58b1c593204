// Compiled for x86-64, x86-64-v3 and x86-64-v4; loops are written for the vectoriser. No division
// or product is contracted, so every level gives the bits of the scalar definition.
#include "numerics/isa.h"

namespace cohort::numerics::COHORT_ISA {

namespace {

// e4m3 code of y, nearest even, saturating. Above 2^-6 the mantissa is rounded in place; below, an
// addition of 2^14 leaves the multiple of 2^-9 in the low bits.
inline uint32_t e4m3(float y) {
  const uint32_t b = float_bits(y);
  const uint32_t a = b & 0x7FFFFFFF;
  const uint32_t normal = ((a + 0x7FFFF + ((a >> 20) & 1)) >> 20) - 960;
  const uint32_t small = float_bits(bits_float(a) + 16384.0f) - 0x46800000u;
  uint32_t code = a < 0x3C800000u ? small : normal;
  code = code > 0x7E ? 0x7E : code;
  code = a > 0x7F800000u ? 0x7F : code | ((b >> 24) & 0x80);
  return code;
}

inline uint32_t e5m2(float y) {
  const uint32_t b = float_bits(y);
  const uint32_t a = b & 0x7FFFFFFF;
  const uint32_t normal = ((a + 0xFFFFF + ((a >> 21) & 1)) >> 21) - 448;
  const uint32_t small = float_bits(bits_float(a) + 128.0f) - 0x43000000u;
  uint32_t code = a < 0x38800000u ? small : normal;
  code = code > 0x7B ? 0x7B : code;
  code = a > 0x7F800000u ? 0x7F : code | ((b >> 24) & 0x80);
  return code;
}

// Largest magnitude as bits: NaN compares above infinity.
inline uint32_t amax_bits(const float* x, int64_t n) {
  uint32_t m = 0;
  for (int64_t i = 0; i < n; ++i) {
    const uint32_t a = float_bits(x[i]) & 0x7FFFFFFF;
    m = a > m ? a : m;
  }
  return m;
}

template <bool kE5m2>
inline void convert(const float* x, int64_t n, float factor, uint8_t* codes) {
  for (int64_t i = 0; i < n; ++i) {
    const float y = x[i] * factor;
    codes[i] = static_cast<uint8_t>(kE5m2 ? e5m2(y) : e4m3(y));
  }
}

inline void one_block(const BlockSpec& spec, const float* x, int64_t n, uint8_t* codes,
                      uint8_t* scale) {
  const uint32_t code = e8m0_code(spec, bits_float(amax_bits(x, n)));
  *scale = static_cast<uint8_t>(code);
  // A NaN scale gives a NaN factor and so NaN codes.
  const float factor = element_factor(spec, e8m0_value(code));
  if (spec.element == DType::e5m2) {
    convert<true>(x, n, factor, codes);
  } else {
    convert<false>(x, n, factor, codes);
  }
}

void mx8_row(const BlockSpec& spec, const float* x, int64_t n, uint8_t* codes, uint8_t* scales) {
  int64_t i = 0;
  for (; i + 32 <= n; i += 32) one_block(spec, x + i, 32, codes + i, scales + i / 32);
  if (i < n) one_block(spec, x + i, n - i, codes + i, scales + i / 32);
}

constexpr int64_t kStrip = 64;

template <bool kE5m2>
void column_strip(const BlockSpec& spec, const float* x, int64_t stride, int64_t rows, int64_t n,
                  uint8_t* codes, int64_t code_stride, uint8_t* scales) {
  alignas(64) uint32_t amax[kStrip] = {};
  alignas(64) float factor[kStrip];
  for (int64_t r = 0; r < rows; ++r) {
    const float* row = x + r * stride;
    for (int64_t i = 0; i < n; ++i) {
      const uint32_t a = float_bits(row[i]) & 0x7FFFFFFF;
      amax[i] = a > amax[i] ? a : amax[i];
    }
  }
  for (int64_t i = 0; i < n; ++i) {
    const uint32_t code = e8m0_code(spec, bits_float(amax[i]));
    scales[i] = static_cast<uint8_t>(code);
    factor[i] = element_factor(spec, e8m0_value(code));
  }
  for (int64_t r = 0; r < rows; ++r) {
    const float* row = x + r * stride;
    uint8_t* out = codes + r * code_stride;
    for (int64_t i = 0; i < n; ++i) {
      const float y = row[i] * factor[i];
      out[i] = static_cast<uint8_t>(kE5m2 ? e5m2(y) : e4m3(y));
    }
  }
}

void mx8_column_block(const BlockSpec& spec, const float* x, int64_t stride, int64_t rows,
                      int64_t n, uint8_t* codes, int64_t code_stride, uint8_t* scales) {
  for (int64_t i = 0; i < n; i += kStrip) {
    const int64_t w = n - i < kStrip ? n - i : kStrip;
    if (spec.element == DType::e5m2) {
      column_strip<true>(spec, x + i, stride, rows, w, codes + i, code_stride, scales + i);
    } else {
      column_strip<false>(spec, x + i, stride, rows, w, codes + i, code_stride, scales + i);
    }
  }
}

}  // namespace

extern const QuantizeKernels kQuantizeKernels;
const QuantizeKernels kQuantizeKernels{mx8_row, mx8_column_block};

}  // namespace cohort::numerics::COHORT_ISA
