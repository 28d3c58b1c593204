#include "engine/conformance.h"

namespace cohort::test::conformance {

namespace {

constexpr int64_t kRows = 17, kTopK = 3, kD = 6;

// The sum over entries [first, first + count) in order; `w` may be 1 for all.
template <class Y, class I, class W>
Near sum_of_entries(Y y, I row_of, W weight, int64_t first, int64_t count, int64_t n) {
  Near acc = 0;
  for (int64_t e = first; e < first + count; ++e) {
    const auto row = static_cast<int64_t>(row_of(e).v);
    if (row >= 0) acc = acc + weight(e) * y(row, n);
  }
  return acc;
}

// An entry of a (T, K) operand by its number.
template <class D>
auto flat(D data, int64_t k) {
  return [=](int64_t e) { return data(e / k, e % k); };
}

template <class Y>
void weighted(Case& c, Y y, const OutputOptions& options = {}) {
  const auto rev = c.entries("rev", kTopK, -1, kRows);
  const auto w = c.matrix("w", kTopK);
  c.output("o", c.add(Combine{.y = y.h, .rev = rev.h, .weights = w.h}), options,
           [=](int64_t t, int64_t n) {
             return sum_of_entries(y, flat(rev, kTopK), flat(w, kTopK), t * kTopK, kTopK, n);
           });
}

}  // namespace

CONFORMANCE(combine, weighted) { weighted(c, c.fixed("y", kRows, kD)); }
CONFORMANCE(combine, weighted_bf16) {
  weighted(c, c.fixed("y", kRows, kD, DType::bf16), {.dtype = DType::bf16});
}

namespace {

// Quantised rows as combine and its gradient read them: code times scale, rounded to f32 once. Dot
// products take them as they are.
struct ReadRows {
  Data<ScaledTensor> data;
  ScaledTensor h;
  Near operator()(int64_t r, int64_t n) const { return Near(round_to(DType::f32, data(r, n).v)); }
};
// The blocks of fp8_block128 need two.
constexpr int64_t features(Format f) { return f == Format::fp8_block128 ? 200 : 40; }
ReadRows read_rows(Case& c, const char* name, Format f, int64_t rows) {
  const auto data = c.scaled(name, features(f), f, {}, rows);
  return {data, data.h};
}

void weighted_rows(Case& c, Format f) { weighted(c, read_rows(c, "y", f, kRows)); }

}  // namespace

CONFORMANCE(combine, weighted_mxfp8) { weighted_rows(c, Format::mxfp8_e4m3); }
CONFORMANCE(combine, weighted_mxfp8_e5m2) { weighted_rows(c, Format::mxfp8_e5m2); }
CONFORMANCE(combine, weighted_mxfp4) { weighted_rows(c, Format::mxfp4); }
CONFORMANCE(combine, weighted_nvfp4) { weighted_rows(c, Format::nvfp4); }
CONFORMANCE(combine, weighted_fp8_tensor) { weighted_rows(c, Format::fp8_tensor); }
CONFORMANCE(combine, weighted_fp8_row) { weighted_rows(c, Format::fp8_row); }
CONFORMANCE(combine, weighted_fp8_block128) { weighted_rows(c, Format::fp8_block128); }

CONFORMANCE(combine, sum) {
  const auto y = c.fixed("y", kRows, kD);
  const auto rev = c.entries("rev", kTopK, -1, kRows, DType::i64);
  c.output("o", c.add(Combine{.y = y.h, .rev = rev.h}), {}, [=](int64_t t, int64_t n) {
    return sum_of_entries(
        y, flat(rev, kTopK), [](int64_t) { return Near(1); }, t * kTopK, kTopK, n);
  });
}

CONFORMANCE(combine, one_expert_of_a_value) {
  const auto x = c.fixed("x", kRows, kD);
  const auto rev = c.index("rev", kRows);
  const auto y = c.add(Load{.x = x.h}).then(Unary{.mode = UnaryMode::relu});
  c.output("o", c.add(Combine{.y = y, .rev = rev.h}), {}, [=](int64_t t, int64_t n) {
    return Near(0) + relu(x(static_cast<int64_t>(rev(t).v), n));
  });
}

// T entries are those of three tokens.
CONFORMANCE(combine, variable) {
  const auto y = c.fixed("y", kRows, kD);
  const auto rev = c.index("rev", kRows);
  const auto w = c.numbers("w");
  const auto koff = c.groups();
  c.output("o", c.add(Combine{.y = y.h, .rev = rev.h, .weights = w.h, .koff = koff}), {},
           [=, t = c.tokens()](int64_t token, int64_t n) {
             const Range& range = t->ranges[static_cast<size_t>(token)];
             return sum_of_entries(y, rev, w, range.begin, range.rows, n);
           });
}

namespace {

// One row of the gradient: nothing for a row whose entry is -1.
template <class O, class W, class S>
auto spread(O d_out, W weight, S scat) {
  return [=](int64_t r, int64_t n) {
    const auto entry = static_cast<int64_t>(scat(r).v);
    if (entry < 0) return Near(0);
    return weight(entry) * d_out(entry / kTopK, n);
  };
}

template <class O>
void spread_weighted(Case& c, O d_out) {
  const auto w = c.fixed("w", 5, kTopK);
  const auto scat = c.index("scat", 5 * kTopK);
  c.fill_with(
      scat, [](const Position& p) { return static_cast<double>(p[0] * 7 % (5 * kTopK + 1) - 1); });
  c.output(
      "dy",
      c.add(DCombine{
          .d_out = d_out.h, .scat = scat.h, .top_k = kTopK, .weights = w.h, .groups = c.groups()}),
      {}, spread(d_out, flat(w, kTopK), scat));
}

}  // namespace

CONFORMANCE(d_combine, weighted) { spread_weighted(c, c.fixed("d_out", 5, kD)); }

namespace {

void spread_rows(Case& c, Format f) { spread_weighted(c, read_rows(c, "d_out", f, 5)); }

}  // namespace

CONFORMANCE(d_combine, weighted_mxfp8) { spread_rows(c, Format::mxfp8_e4m3); }
CONFORMANCE(d_combine, weighted_mxfp8_e5m2) { spread_rows(c, Format::mxfp8_e5m2); }
CONFORMANCE(d_combine, weighted_mxfp4) { spread_rows(c, Format::mxfp4); }
CONFORMANCE(d_combine, weighted_nvfp4) { spread_rows(c, Format::nvfp4); }
CONFORMANCE(d_combine, weighted_fp8_tensor) { spread_rows(c, Format::fp8_tensor); }
CONFORMANCE(d_combine, weighted_fp8_row) { spread_rows(c, Format::fp8_row); }
CONFORMANCE(d_combine, weighted_fp8_block128) { spread_rows(c, Format::fp8_block128); }

CONFORMANCE(d_combine, of_a_value) {
  const auto x = c.fixed("x", 5, kD);
  const auto scat = c.index("scat", 5 * kTopK);
  const auto d_out = c.add(Load{.x = x.h}).then(Unary{.mode = UnaryMode::relu});
  c.output("dy", c.add(DCombine{.d_out = d_out, .scat = scat.h, .top_k = kTopK}), {},
           spread([=](int64_t t, int64_t n) { return relu(x(t, n)); },
                  [](int64_t) { return Near(1); }, scat));
}
CONFORMANCE(d_combine, variable) {
  const auto d_out = c.fixed("d_out", 3, kD);
  const auto scat = c.fixed_index("scat", 11, 0, 1);
  const auto w = c.numbers("w");
  const auto koff = c.groups();
  const auto tokens = c.tokens();
  c.fill_with(scat, [=](const Position& p) {
    return static_cast<double>(tokens->rows == 0 ? -1 : p[0] * 5 % tokens->rows);
  });
  c.output("dy", c.add(DCombine{.d_out = d_out.h, .scat = scat.h, .weights = w.h, .koff = koff}),
           {}, [=](int64_t r, int64_t n) {
             const auto entry = static_cast<int64_t>(scat(r).v);
             const int32_t token = entry < 0 ? -1 : tokens->group(entry);
             return token < 0 ? Near(0) : w(entry) * d_out(token, n);
           });
}

namespace {

template <class O, class Y, class I>
auto dots(O d_out, Y y, I rev, int64_t width) {
  return [=](int64_t t, int64_t j) {
    const auto row = static_cast<int64_t>(rev(t, j).v);
    Sum acc;
    for (int64_t n = 0; n < width && row >= 0; ++n) acc.add(d_out(t, n) * y(row, n));
    return acc.result();
  };
}

}  // namespace

CONFORMANCE(d_combine_weights, f32) {
  const auto d_out = c.matrix("d_out", kD);
  const auto y = c.fixed("y", kRows, kD);
  const auto rev = c.entries("rev", kTopK, -1, kRows);
  c.output("dw", c.add(DCombineWeights{.d_out = d_out.h, .y = y.h, .rev = rev.h}), {},
           dots(d_out, y, rev, kD));
}

namespace {

void dots_of_rows(Case& c, Format f) {
  const auto d_out = c.scaled("d_out", features(f), f);
  const auto y = c.scaled("y", features(f), f, {}, kRows);
  const auto rev = c.entries("rev", kTopK, -1, kRows);
  c.output("dw", c.add(DCombineWeights{.d_out = d_out.h, .y = y.h, .rev = rev.h}), {},
           dots(d_out, y, rev, features(f)));
}

}  // namespace

CONFORMANCE(d_combine_weights, mxfp8) { dots_of_rows(c, Format::mxfp8_e4m3); }
CONFORMANCE(d_combine_weights, mxfp8_e5m2) { dots_of_rows(c, Format::mxfp8_e5m2); }
CONFORMANCE(d_combine_weights, mxfp4) { dots_of_rows(c, Format::mxfp4); }
CONFORMANCE(d_combine_weights, nvfp4) { dots_of_rows(c, Format::nvfp4); }
CONFORMANCE(d_combine_weights, fp8_tensor) { dots_of_rows(c, Format::fp8_tensor); }
CONFORMANCE(d_combine_weights, fp8_row) { dots_of_rows(c, Format::fp8_row); }
CONFORMANCE(d_combine_weights, fp8_block128) { dots_of_rows(c, Format::fp8_block128); }

CONFORMANCE(d_combine_weights, of_values) {
  const auto d = c.matrix("d", kD);
  const auto x = c.fixed("x", kRows, kD);
  const auto rev = c.index("rev", kRows);
  const auto d_out = c.add(Load{.x = d.h});
  const auto y = c.add(Load{.x = x.h});
  c.output("dw", c.add(DCombineWeights{.d_out = d_out, .y = y, .rev = rev.h}), {},
           dots(
               d, x, [=](int64_t t, int64_t) { return rev(t); }, kD));
}
CONFORMANCE(d_combine_weights, variable) {
  const auto d_out = c.fixed("d_out", 3, kD);
  const auto y = c.fixed("y", kRows, kD);
  const auto rev = c.index("rev", kRows);
  const auto koff = c.groups();
  c.output("dw", c.add(DCombineWeights{.d_out = d_out.h, .y = y.h, .rev = rev.h, .koff = koff}), {},
           [=, t = c.tokens()](int64_t entry, int64_t) {
             const int32_t token = t->group(entry);
             Sum acc;
             for (int64_t n = 0; n < kD && token >= 0; ++n) {
               acc.add(d_out(token, n) * y(static_cast<int64_t>(rev(entry).v), n));
             }
             return acc.result();
           });
}

}  // namespace cohort::test::conformance
