// What a quantised output must hold, byte by byte, of values that are known with their errors: the
// definition of test/numerics, and where docs/numerics.md says that codes and scales stand.
#pragma once

#include <algorithm>
#include <bit>
#include <functional>
#include <limits>
#include <memory>

#include "engine/conformance.h"
#include "numerics/definition.h"

namespace cohort::test::conformance {

using numerics::BlockSpec;

/// A (T, features) matrix of numbers.
using Grid = std::function<Near(int64_t, int64_t)>;

// Philox4x32-10 as its paper writes it: multiplications of the even words, keys bumped by Weyl.
inline uint32_t random_word(uint64_t seed, uint64_t offset, uint64_t index) {
  uint32_t x[4] = {static_cast<uint32_t>(offset + index / 4),
                   static_cast<uint32_t>((offset + index / 4) >> 32), 0, 0};
  uint32_t key[2] = {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)};
  for (int i = 0; i < 10; ++i) {
    const uint64_t a = 0xD2511F53ull * x[0];
    const uint64_t b = 0xCD9E8D57ull * x[2];
    const uint32_t y[4] = {static_cast<uint32_t>(b >> 32) ^ x[1] ^ key[0], static_cast<uint32_t>(b),
                           static_cast<uint32_t>(a >> 32) ^ x[3] ^ key[1],
                           static_cast<uint32_t>(a)};
    std::copy(y, y + 4, x);
    key[0] += 0x9E3779B9u;
    key[1] += 0xBB67AE85u;
  }
  return x[index % 4];
}

/// One quantised form of x (T, features), and where everything stands. A byte that the errors of x
/// leave open is kAny.
struct Blocks {
  Grid x;
  std::shared_ptr<const Tokens> tokens;
  int64_t features;
  BlockSpec spec;
  Tail tail = Tail::leave;
  ScaleLayout layout = ScaleLayout::tiled_128x4;
  Axes axis = Axes::row;
  ColStorage storage = ColStorage::as_rows;

  [[nodiscard]] int64_t block() const { return info(spec.format).block; }
  [[nodiscard]] bool is_f32() const { return info(spec.format).scale == DType::f32; }
  // The largest magnitude that shares the scale of (r, c); NaN wins.
  [[nodiscard]] Near amax(int64_t r, int64_t c) const {
    int64_t r0 = r, r1 = r + 1, c0 = c, c1 = c + 1;
    if (axis == Axes::col) {
      const Range& g = tokens->ranges[static_cast<size_t>(tokens->group(r))];
      r0 = g.begin + (r - g.begin) / block() * block();
      r1 = std::min(r0 + block(), g.begin + g.rows);
    } else if (spec.format == Format::fp8_tensor) {
      r0 = c0 = 0;
      r1 = tokens->rows;
      c1 = features;
    } else {
      c0 = block() > 0 ? c / block() * block() : 0;
      c1 = block() > 0 ? std::min(c0 + block(), features) : features;
    }
    Near m = 0.0;
    for (int64_t i = r0; i < r1; ++i) {
      if (tokens->group(i) < 0) continue;
      for (int64_t j = c0; j < c1; ++j) m = max(m, abs(x(i, j)));
    }
    return m;
  }
  // What both ends of a number lead to, or kAny when that differs.
  template <class F>
  [[nodiscard]] static int agreed(Near n, F f) {
    if (n.e == 0) return f(static_cast<float>(n.v));
    const int low = f(static_cast<float>(n.v - n.e));
    return low == f(static_cast<float>(n.v + n.e)) ? low : kAny;
  }
  [[nodiscard]] int scale_code(int64_t r, int64_t c) const {
    return agreed(amax(r, c), [&](float a) {
      return numerics::test::scale_code(spec, a < 0 ? 0 : a);  // an error larger than the number
    });
  }
  [[nodiscard]] float f32_scale(float largest) const {
    const float reciprocal = 1.0f / spec.qmax;
    const float scaled = largest * reciprocal;
    return std::fabs(scaled * spec.norm);
  }
  // f32 scales of numbers that are not exact are open.
  [[nodiscard]] int code(int64_t r, int64_t c) const {
    const Near largest = amax(r, c);
    if (std::isnan(largest.v) && spec.element == DType::e2m1) return kAny;
    float scale = f32_scale(static_cast<float>(largest.v));
    if (is_f32() && largest.e != 0) return kAny;
    if (!is_f32()) {
      const int byte = scale_code(r, c);
      if (byte == kAny) return kAny;
      scale = numerics::test::scale_of(spec, static_cast<uint8_t>(byte));
    }
    float factor =
        spec.reciprocal == Reciprocal::exact ? spec.norm / scale : spec.norm * (1.0f / scale);
    factor = std::min(factor, std::numeric_limits<float>::max());
    if (std::isnan(scale)) factor = scale;
    const auto index = static_cast<uint64_t>(r * features + c);
    return agreed(x(r, c), [&](float v) { return encoded(v * factor, index); });
  }
  [[nodiscard]] int encoded(float y, uint64_t index) const {
    const bool chance = spec.rounding == Rounding::stochastic;
    for (const SlowFormat& f : slow_formats()) {
      if (f.type != spec.element) continue;
      return static_cast<int>(
          slow_encode(f, static_cast<double>(y),
                      chance ? numerics::Round::random : numerics::Round::nearest_even, true,
                      chance ? random_word(spec.seed, spec.offset, index) : 0));
    }
    return kAny;
  }
  [[nodiscard]] int outside() const { return tail == Tail::zero ? 0 : kUntouched; }

  [[nodiscard]] Bytes codes(const TensorInfo& info) const {
    const int64_t rows = tokens->rows;
    std::vector<int> elements(static_cast<size_t>(rows * features));
    const ColStorage order = axis == Axes::col ? storage : ColStorage::as_rows;
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t c = 0; c < features; ++c) {
        elements[static_cast<size_t>(code_place(order, *tokens, rows, features, r, c))] =
            tokens->group(r) < 0 ? outside() : code(r, c);
      }
    }
    if (spec.element != DType::e2m1) return elements;
    Bytes bytes(static_cast<size_t>(info.bytes), kAny);
    for (size_t i = 0; i + 1 < elements.size(); i += 2) {
      const int pair[2] = {elements[i], elements[i + 1]};
      int byte = 0;
      for (int h = 0; h < 2; ++h) {
        byte |= (pair[h] == kUntouched ? kPoison >> (4 * h) & 15 : pair[h]) << (4 * h);
      }
      const bool any = pair[0] == kAny || pair[1] == kAny;
      const bool none = pair[0] == kUntouched && pair[1] == kUntouched;
      bytes[i / 2] = any ? kAny : none ? kUntouched : byte;
    }
    return bytes;
  }

  // Scale bytes of rows that belong to groups; padding beside them is 0.
  [[nodiscard]] Bytes scales(const TensorInfo& info) const {
    Bytes bytes(static_cast<size_t>(info.bytes), kAny);
    const ScaleLocation where{spec.format, spec.element, layout, axis, storage, false};
    const auto put = [&](int64_t r, int64_t c, int byte, float value) {
      const int64_t place = scale_place(where, *tokens, tokens->rows, features, r, c);
      if (!is_f32()) {
        bytes[static_cast<size_t>(place)] = byte;
        return;
      }
      const auto word = std::bit_cast<uint32_t>(value);
      for (int b = 0; b < 4; ++b) {
        bytes[static_cast<size_t>(place * 4 + b)] =
            byte == kUntouched ? kUntouched : static_cast<int>(word >> (8 * b) & 0xFF);
      }
    };
    const bool by_group = is_placed_by_group(layout) || axis == Axes::col;
    for (int64_t r = 0; r < tokens->rows; ++r) {
      for (int64_t c = 0; c < features; ++c) {
        if (tokens->group(r) >= 0) {
          put(r, c, is_f32() ? 0 : scale_code(r, c),
              is_f32() ? f32_scale(static_cast<float>(amax(r, c).v)) : 0);
        } else if (!by_group && spec.format != Format::fp8_tensor) {
          put(r, c, outside(), 0);
        }
      }
    }
    if (spec.format == Format::fp8_tensor && tokens->rows == 0)
      std::fill(bytes.begin(), bytes.end(), 0);
    padding(bytes);
    return bytes;
  }
  void padding(Bytes& bytes) const {
    if (is_f32() || layout == ScaleLayout::linear || axis == Axes::col) return;
    const int64_t across = (features + block() - 1) / block();
    const ScaleLocation where{spec.format, spec.element, layout, axis, storage, false};
    for (int64_t r = 0; r < tokens->rows; ++r) {
      if (tokens->group(r) < 0) continue;
      const int64_t first = scale_place(where, *tokens, tokens->rows, features, r, 0);
      for (int64_t s = across; s % 4 != 0; ++s) {
        bytes[static_cast<size_t>(first + tiled_byte(0, s, across))] = 0;
      }
    }
  }
};

}  // namespace cohort::test::conformance
