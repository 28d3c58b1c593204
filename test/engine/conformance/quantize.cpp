#include <bit>

#include "engine/conformance.h"
#include "numerics/definition.h"

namespace cohort::test::conformance {

CONFORMANCE_REFUSED(quantize, element, "f32 f16 bf16 e3m2 e2m3 e8m0 i32 i64");
CONFORMANCE_REFUSED(quantize, row_layout, "per_group global");
CONFORMANCE_REFUSED(quantize, col_layout, "tiled_128x4 linear shifted_128 padded_128");

namespace {

using numerics::BlockSpec;

// Numbers over many powers of two, both signs.
double spread(const Position& p) {
  const auto h = static_cast<uint32_t>(p[0] * 2654435 + p[1] * 40503 + 977);
  const double v = std::ldexp(1.0 + (h % 1009) / 1009.0, static_cast<int>(h / 7 % 12) - 6);
  return round_to(DType::f32, h % 3 == 0 ? -v : v);
}

// Philox4x32-10 as its paper writes it: multiplications of the even words, keys bumped by Weyl.
uint32_t random_word(uint64_t seed, uint64_t offset, uint64_t index) {
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

// One case: x (T, features), its two quantised forms, and where everything stands.
struct Blocks {
  Data<Tensor> x;
  std::shared_ptr<const Tokens> tokens;
  int64_t features;
  BlockSpec spec;
  Tail tail = Tail::leave;
  ScaleLayout layout = ScaleLayout::tiled_128x4;
  Axes axis = Axes::row;
  ColStorage storage = ColStorage::as_rows;

  [[nodiscard]] int64_t block() const { return info(spec.format).block; }
  [[nodiscard]] bool is_f32() const { return info(spec.format).scale == DType::f32; }
  [[nodiscard]] float at(int64_t r, int64_t c) const { return static_cast<float>(x(r, c).v); }

  // The largest magnitude that shares the scale of (r, c); NaN wins.
  [[nodiscard]] float amax(int64_t r, int64_t c) const {
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
    return static_cast<float>(m.v);
  }
  [[nodiscard]] float f32_scale(float largest) const {
    const float reciprocal = 1.0f / spec.qmax;
    const float scaled = largest * reciprocal;
    return std::fabs(scaled * spec.norm);
  }
  [[nodiscard]] int code(int64_t r, int64_t c) const {
    const float largest = amax(r, c);
    if (std::isnan(largest) && spec.element == DType::e2m1) return kAny;
    const float scale =
        is_f32() ? f32_scale(largest)
                 : numerics::test::scale_of(spec, numerics::test::scale_code(spec, largest));
    float factor =
        spec.reciprocal == Reciprocal::exact ? spec.norm / scale : spec.norm * (1.0f / scale);
    factor = std::min(factor, std::numeric_limits<float>::max());
    if (std::isnan(scale)) factor = scale;
    const float y = at(r, c) * factor;
    const bool chance = spec.rounding == Rounding::stochastic;
    const auto index = static_cast<uint64_t>(r * features + c);
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
          const float largest = amax(r, c);
          put(r, c, is_f32() ? 0 : numerics::test::scale_code(spec, largest),
              is_f32() ? f32_scale(largest) : 0);
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

struct Wanted {
  Format to = Format::mxfp8_e4m3;
  int64_t features = 80;
  Tail tail = Tail::leave;
  GroupsSpec groups{};
  Maybe<DType> element{};
  float norm = 1;
  bool norm_handle = false;
  Maybe<float> qmax{};
  ScaleRounding scale_rounding = ScaleRounding::up;
  Reciprocal reciprocal = Reciprocal::exact;
  Rounding rounding = Rounding::nearest_even;
  Axes axes = Axes::row;
  Maybe<ScaleLayout> row_layout{};
  ScaleLayout col_layout = ScaleLayout::per_group;
  ColStorage col_storage = ColStorage::as_rows;
};

// Both have bits above the lower word, or get them by counting on.
constexpr int64_t kSeed = 0x123456789ABC;
constexpr int64_t kOffset = 0xFFFFFFF0;

float default_qmax(DType element) {
  return element == DType::e2m1 ? 6.0f : element == DType::e5m2 ? 57344.0f : 448.0f;
}

void quantise(Case& c, const Wanted& w) {
  const auto x = c.matrix("x", w.features);
  c.fill_with(x, spread);
  const bool chance = w.rounding == Rounding::stochastic;
  Quantize op{.to = w.to,
              .axes = w.axes,
              .element = w.element,
              .norm = static_cast<double>(w.norm),
              .qmax = w.qmax,
              .scale_rounding = w.scale_rounding,
              .reciprocal = w.reciprocal,
              .rounding = w.rounding,
              .row_layout = w.row_layout,
              .col_layout = w.col_layout,
              .col_storage = w.col_storage};
  if (w.norm_handle) op.norm = c.scalar("norm", static_cast<double>(w.norm)).h;
  if (chance) {
    op.seed = c.scalar("seed", static_cast<double>(kSeed), DType::i64).h;
    op.offset = c.scalar("offset", static_cast<double>(kOffset), DType::i64).h;
  }
  const Quantized q = c.add(Load{.x = x.h, .groups = c.groups(w.groups)}).then(op);
  const DType element = w.element ? *w.element : info(w.to).element;
  Blocks b{.x = x, .tokens = c.tokens(), .features = w.features, .tail = w.tail};
  b.spec.format = w.to;
  b.spec.element = element;
  b.spec.qmax = w.qmax ? *w.qmax : default_qmax(element);
  b.spec.norm = w.norm;
  b.spec.scale_rounding = w.scale_rounding;
  b.spec.reciprocal = w.reciprocal;
  b.spec.rounding = w.rounding;
  b.spec.seed = kSeed;
  b.spec.offset = kOffset;
  const auto publish = [&](const char* name, const ScaledTensor& value) {
    c.quantised(
        name, value, {.tail = w.tail}, [b](const TensorInfo& i) { return b.codes(i); },
        [b](const TensorInfo& i) { return b.scales(i); });
  };
  if (w.axes != Axes::col) {
    b.layout = w.row_layout ? *w.row_layout : b.is_f32() ? ScaleLayout::linear : b.layout;
    publish("row", q.row);
  }
  if (w.axes != Axes::row) {
    b.axis = Axes::col;
    b.layout = w.col_layout;
    const bool as_rows = w.col_storage == ColStorage::as_rows;
    b.storage = element == DType::e2m1 && as_rows ? ColStorage::transposed : w.col_storage;
    publish("col", q.col);
  }
}

}  // namespace

CONFORMANCE(quantize, mxfp8_row) { quantise(c, {}); }
CONFORMANCE(quantize, mxfp8_zero_tail) { quantise(c, {.tail = Tail::zero}); }
CONFORMANCE(quantize, mxfp8_both) { quantise(c, {.axes = Axes::both}); }
CONFORMANCE(quantize, mxfp8_e5m2_col) {
  quantise(c, {.to = Format::mxfp8_e5m2, .axes = Axes::col});
}
CONFORMANCE(quantize, mxfp4_both) { quantise(c, {.to = Format::mxfp4, .axes = Axes::both}); }
CONFORMANCE(quantize, nvfp4_both) { quantise(c, {.to = Format::nvfp4, .axes = Axes::both}); }
CONFORMANCE(quantize, fp8_tensor) { quantise(c, {.to = Format::fp8_tensor}); }
CONFORMANCE(quantize, fp8_row) { quantise(c, {.to = Format::fp8_row, .element = DType::e4m3}); }
CONFORMANCE(quantize, fp8_block128_e5m2) {
  quantise(c, {.to = Format::fp8_block128, .features = 300, .element = DType::e5m2});
}
CONFORMANCE(quantize, element_e2m1) { quantise(c, {.to = Format::nvfp4, .element = DType::e2m1}); }
CONFORMANCE(quantize, norm_by_value) { quantise(c, {.norm = 3}); }
CONFORMANCE(quantize, norm_of_the_graph) {
  quantise(c, {.to = Format::nvfp4, .norm = 0.3125f, .norm_handle = true});
}
CONFORMANCE(quantize, qmax) {
  quantise(c, {.to = Format::mxfp8_e5m2, .qmax = 128.0f, .axes = Axes::both});
}
CONFORMANCE(quantize, floor) { quantise(c, {.scale_rounding = ScaleRounding::floor}); }
CONFORMANCE(quantize, even) {
  quantise(c, {.scale_rounding = ScaleRounding::even, .axes = Axes::both});
}
CONFORMANCE(quantize, approximate_reciprocal) {
  quantise(c, {.to = Format::nvfp4, .norm = 0.7f, .reciprocal = Reciprocal::approx});
}
CONFORMANCE(quantize, stochastic) {
  quantise(c, {.rounding = Rounding::stochastic, .axes = Axes::both});
}
CONFORMANCE(quantize, stochastic_nvfp4) {
  quantise(c, {.to = Format::nvfp4, .rounding = Rounding::stochastic, .axes = Axes::both});
}
CONFORMANCE(quantize, linear) { quantise(c, {.row_layout = ScaleLayout::linear}); }
CONFORMANCE(quantize, tiled) {
  quantise(c, {.features = 160, .groups = {.unit = 8}, .row_layout = ScaleLayout::tiled_128x4});
}
CONFORMANCE(quantize, padded) {
  quantise(c, {.groups = {.unit = 8}, .row_layout = ScaleLayout::padded_128});
}
CONFORMANCE(quantize, shifted) {
  quantise(c, {.groups = {.unit = 8}, .row_layout = ScaleLayout::shifted_128});
}
CONFORMANCE(quantize, global) {
  quantise(c, {.groups = {.multiple = 32}, .axes = Axes::both, .col_layout = ScaleLayout::global});
}
CONFORMANCE(quantize, ragged) {
  quantise(c, {.axes = Axes::col, .col_storage = ColStorage::ragged});
}
CONFORMANCE(quantize, ragged_nvfp4) {
  quantise(c, {.to = Format::nvfp4,
               .groups = {.multiple = 2},
               .axes = Axes::col,
               .col_storage = ColStorage::ragged});
}
CONFORMANCE(quantize, transposed) {
  quantise(c, {.axes = Axes::col, .col_storage = ColStorage::transposed});
}
CONFORMANCE(quantize, columns_in_rows) {
  quantise(c, {.features = 130,
               .groups = {.unit = 5},
               .axes = Axes::col,
               .col_storage = ColStorage::as_rows});
}

}  // namespace cohort::test::conformance
