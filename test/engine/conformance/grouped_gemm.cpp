#include "engine/conformance.h"

namespace cohort::test::conformance {

namespace {

// y[r, n] = sum_k a[r, k] b[g(r) mod E][n, k].
template <class A, class B>
auto product(const Case& c, A a, B b, int64_t k_count, int64_t experts) {
  return [=, t = c.tokens()](int64_t r, int64_t n) {
    Sum acc;
    for (int64_t k = 0; k < k_count; ++k) acc.add(a(r, k) * b(t->group(r) % experts, n, k));
    return acc.result();
  };
}

void group_form(Case& c, GroupForm form, DType offsets) {
  const auto x = c.matrix("x", 9);
  const auto w = c.weights("w", 3, 5, 9);
  const auto groups = c.groups({.form = form, .dtype = offsets});
  c.output("y", c.add(GroupedGemm{.a = x.h, .b = w.h, .groups = groups}), {},
           product(c, x, w, 9, 3));
}

void plain(Case& c, DType type, Major major, bool discrete) {
  const auto x = c.matrix("x", 16, type);
  const WeightOptions options{.major = major};
  const auto groups = c.groups({.count = 5});
  if (discrete) {
    const auto w = c.weight_pointers("w", 5, 24, 16, type, options);
    c.output("y", c.add(GroupedGemm{.a = x.h, .b = w.h, .groups = groups}), {},
             product(c, x, w, 16, 5));
  } else {
    const auto w = c.weights("w", 5, 24, 16, type, options);
    c.output("y", c.add(GroupedGemm{.a = x.h, .b = w.h, .groups = groups}),
             {.dtype = type, .tail = Tail::zero}, product(c, x, w, 16, 5));
  }
}

void quantised(Case& c, Format a, Format b, const ScaledSpec& spec = {},
               const WeightOptions& options = {}, int64_t k = 80, int64_t n = 24) {
  const auto x = c.scaled("x", k, a, spec);
  const auto w = c.scaled_weights("w", 3, n, k, b, options);
  c.output("y", c.add(GroupedGemm{.a = x.h, .b = w.h, .groups = c.groups()}), {},
           product(c, x, w, k, 3));
}

void quantised_pointers(Case& c, Format format, int64_t k = 80) {
  const auto x = c.scaled("x", k, format);
  const auto w = c.scaled_weight_pointers("w", 3, 24, k, format);
  c.output("y", c.add(GroupedGemm{.a = x.h, .b = w.h, .groups = c.groups()}), {},
           product(c, x, w, k, 3));
}

}  // namespace

CONFORMANCE(grouped_gemm, starts_i32) { group_form(c, GroupForm::starts, DType::i32); }
CONFORMANCE(grouped_gemm, starts_i64) { group_form(c, GroupForm::starts, DType::i64); }
CONFORMANCE(grouped_gemm, ends_i32) { group_form(c, GroupForm::ends, DType::i32); }
CONFORMANCE(grouped_gemm, ends_i64) { group_form(c, GroupForm::ends, DType::i64); }
CONFORMANCE(grouped_gemm, boundaries_i32) { group_form(c, GroupForm::boundaries, DType::i32); }
CONFORMANCE(grouped_gemm, boundaries_i64) { group_form(c, GroupForm::boundaries, DType::i64); }
CONFORMANCE(grouped_gemm, counts_i32) { group_form(c, GroupForm::counts, DType::i32); }
CONFORMANCE(grouped_gemm, counts_i64) { group_form(c, GroupForm::counts, DType::i64); }
CONFORMANCE(grouped_gemm, slots_i32) { group_form(c, GroupForm::slots, DType::i32); }
CONFORMANCE(grouped_gemm, slots_i64) { group_form(c, GroupForm::slots, DType::i64); }

CONFORMANCE(grouped_gemm, f32) { plain(c, DType::f32, Major::k, false); }
CONFORMANCE(grouped_gemm, bf16) { plain(c, DType::bf16, Major::k, false); }
CONFORMANCE(grouped_gemm, f16) { plain(c, DType::f16, Major::k, false); }
CONFORMANCE(grouped_gemm, bf16_n_major) { plain(c, DType::bf16, Major::n, false); }
CONFORMANCE(grouped_gemm, f16_n_major) { plain(c, DType::f16, Major::n, false); }
CONFORMANCE(grouped_gemm, bf16_pointers) { plain(c, DType::bf16, Major::k, true); }
CONFORMANCE(grouped_gemm, f16_pointers_n_major) { plain(c, DType::f16, Major::n, true); }

CONFORMANCE(grouped_gemm, more_groups_than_experts) {
  const auto x = c.matrix("x", 9);
  const auto w = c.weights("w", 2, 5, 9);
  c.output("y", c.add(GroupedGemm{.a = x.h, .b = w.h, .groups = c.groups({.count = 8})}), {},
           product(c, x, w, 9, 2));
}

CONFORMANCE(grouped_gemm, no_sum) {
  const auto x = c.matrix("x", 0);
  const auto w = c.weights("w", 3, 5, 0);
  c.output("y", c.add(GroupedGemm{.a = x.h, .b = w.h, .groups = c.groups()}), {.tail = Tail::zero},
           product(c, x, w, 0, 3));
}

CONFORMANCE(grouped_gemm, strides) {
  const auto x = c.matrix("x", 9, DType::f32, {.strides = {12, 1}});
  const auto w = c.weights("w", 3, 5, 9, DType::f32, {.strides = {1, 40, 4}});
  c.output("y", c.add(GroupedGemm{.a = x.h, .b = w.h, .groups = c.groups()}), {.strides = {8, 1}},
           product(c, x, w, 9, 3));
}

CONFORMANCE(grouped_gemm, of_a_value) {
  const auto x = c.matrix("x", 9);
  const auto w = c.weights("w", 3, 5, 9);
  const auto groups = c.groups();
  const auto a = c.add(Load{.x = x.h, .groups = groups}).then(Unary{.mode = UnaryMode::relu});
  c.output("y", c.add(GroupedGemm{.a = a, .b = w.h, .groups = groups}), {},
           product(
               c, [=](int64_t r, int64_t k) { return relu(x(r, k)); }, w, 9, 3));
}

namespace {

template <class A, class I>
auto gathered(A a, I index) {
  return [=](int64_t r, int64_t k) { return a(static_cast<int64_t>(index(r).v), k); };
}

}  // namespace

CONFORMANCE(grouped_gemm, gather_i32) {
  const auto x = c.fixed("x", 13, 9);
  const auto w = c.weights("w", 3, 5, 9);
  const auto i = c.index("index", 13);
  c.output("y", c.add(GroupedGemm{.a = x.h, .b = w.h, .groups = c.groups(), .gather = i.h}), {},
           product(c, gathered(x, i), w, 9, 3));
}

CONFORMANCE(grouped_gemm, gather_i64_mxfp8) {
  const auto x = c.scaled("x", 80, Format::mxfp8_e4m3, {}, 150);
  const auto w = c.scaled_weights("w", 3, 16, 80, Format::mxfp8_e4m3);
  const auto i = c.index("index", 150, DType::i64);
  c.output("y", c.add(GroupedGemm{.a = x.h, .b = w.h, .groups = c.groups(), .gather = i.h}), {},
           product(c, gathered(x, i), w, 80, 3));
}

// The scales of a gathered row are those of its source row, whatever they are.
namespace {

void gathered_rows(Case& c, Format format, const ScaledSpec& spec = {}, int64_t k = 80,
                   int64_t n = 24) {
  const auto x = c.scaled("x", k, format, spec, 150);
  const auto w = c.scaled_weights("w", 3, n, k, format, {.layout = spec.layout});
  const auto i = c.index("index", 150);
  c.output("y", c.add(GroupedGemm{.a = x.h, .b = w.h, .groups = c.groups(), .gather = i.h}), {},
           product(c, gathered(x, i), w, k, 3));
}

}  // namespace

CONFORMANCE(grouped_gemm, gather_mxfp8_e5m2) { gathered_rows(c, Format::mxfp8_e5m2); }
CONFORMANCE(grouped_gemm, gather_mxfp4) { gathered_rows(c, Format::mxfp4); }
CONFORMANCE(grouped_gemm, gather_nvfp4) { gathered_rows(c, Format::nvfp4); }
CONFORMANCE(grouped_gemm, gather_mxfp8_linear) {
  gathered_rows(c, Format::mxfp8_e4m3, {.layout = ScaleLayout::linear});
}
CONFORMANCE(grouped_gemm, gather_nvfp4_linear) {
  gathered_rows(c, Format::nvfp4, {.layout = ScaleLayout::linear});
}
CONFORMANCE(grouped_gemm, gather_fp8_tensor) { gathered_rows(c, Format::fp8_tensor); }
CONFORMANCE(grouped_gemm, gather_fp8_row) { gathered_rows(c, Format::fp8_row); }
CONFORMANCE(grouped_gemm, gather_fp8_block128) {
  gathered_rows(c, Format::fp8_block128, {}, 200, 136);
}

// Rows back to their tokens, two places a token; every fifth goes nowhere.
CONFORMANCE(grouped_gemm, scattered_to_slots) {
  const auto x = c.matrix("x", 9);
  const auto w = c.weights("w", 3, 5, 9);
  const auto token = c.index("token", 64);
  const auto slot = c.index("slot", 2);
  c.fill_with(token, [](const Position& p) {
    return static_cast<double>(p[0] % 5 == 3 ? -1 : 63 - p[0] / 2);
  });
  c.fill_with(slot, [](const Position& p) { return static_cast<double>(p[0] % 2); });
  const auto y = c.add(GroupedGemm{.a = x.h, .b = w.h, .groups = c.groups()});
  const OutputOptions options{
      .dtype = DType::bf16, .scatter = token.h, .slot = slot.h, .top_k = 2, .rows = Dim(128)};
  c.output("y", y, options, [f = product(c, x, w, 9, 3), t = c.tokens()](int64_t place, int64_t n) {
    const int64_t r = (63 - place / 2) * 2 + place % 2;
    return t->group(r) < 0 || r % 5 == 3 ? untouched() : f(r, n);
  });
}

CONFORMANCE(grouped_gemm, mxfp8) { quantised(c, Format::mxfp8_e4m3, Format::mxfp8_e4m3); }
CONFORMANCE(grouped_gemm, mxfp8_e5m2_by_e4m3) {
  quantised(c, Format::mxfp8_e5m2, Format::mxfp8_e4m3);
}
CONFORMANCE(grouped_gemm, mxfp8_by_e5m2) { quantised(c, Format::mxfp8_e4m3, Format::mxfp8_e5m2); }
CONFORMANCE(grouped_gemm, mxfp8_by_mxfp4) { quantised(c, Format::mxfp8_e4m3, Format::mxfp4); }
CONFORMANCE(grouped_gemm, mxfp4_by_mxfp8) { quantised(c, Format::mxfp4, Format::mxfp8_e4m3); }
CONFORMANCE(grouped_gemm, mxfp8_e5m2_by_mxfp4) { quantised(c, Format::mxfp8_e5m2, Format::mxfp4); }
CONFORMANCE(grouped_gemm, mxfp4) { quantised(c, Format::mxfp4, Format::mxfp4); }
CONFORMANCE(grouped_gemm, nvfp4) { quantised(c, Format::nvfp4, Format::nvfp4); }
CONFORMANCE(grouped_gemm, mxfp8_linear) {
  quantised(c, Format::mxfp8_e4m3, Format::mxfp8_e4m3, {.layout = ScaleLayout::linear},
            {.layout = ScaleLayout::linear});
}
CONFORMANCE(grouped_gemm, mxfp8_shifted) {
  quantised(c, Format::mxfp8_e4m3, Format::mxfp8_e4m3, {.layout = ScaleLayout::shifted_128});
}
CONFORMANCE(grouped_gemm, mxfp8_padded) {
  quantised(c, Format::mxfp8_e4m3, Format::mxfp8_e4m3, {.layout = ScaleLayout::padded_128});
}
CONFORMANCE(grouped_gemm, mxfp8_many_atoms) {
  quantised(c, Format::mxfp8_e4m3, Format::mxfp8_e4m3, {}, {}, 160, 136);
}
CONFORMANCE(grouped_gemm, fp8_tensor) { quantised(c, Format::fp8_tensor, Format::fp8_tensor); }
CONFORMANCE(grouped_gemm, fp8_tensor_e5m2) {
  quantised(c, Format::fp8_tensor, Format::fp8_tensor, {.element = DType::e5m2},
            {.element = DType::e5m2});
}
CONFORMANCE(grouped_gemm, fp8_tensor_e4m3_by_e5m2) {
  quantised(c, Format::fp8_tensor, Format::fp8_tensor, {}, {.element = DType::e5m2});
}
CONFORMANCE(grouped_gemm, fp8_row) { quantised(c, Format::fp8_row, Format::fp8_row); }
CONFORMANCE(grouped_gemm, fp8_block128) {
  quantised(c, Format::fp8_block128, Format::fp8_block128, {}, {}, 200, 136);
}
CONFORMANCE(grouped_gemm, mxfp8_n_major) {
  quantised(c, Format::mxfp8_e4m3, Format::mxfp8_e4m3, {}, {.major = Major::n});
}
CONFORMANCE(grouped_gemm, fp8_row_n_major) {
  quantised(c, Format::fp8_row, Format::fp8_row, {}, {.major = Major::n});
}
CONFORMANCE(grouped_gemm, fp8_block128_n_major) {
  quantised(c, Format::fp8_block128, Format::fp8_block128, {}, {.major = Major::n}, 200, 136);
}
CONFORMANCE(grouped_gemm, mxfp8_pointers) { quantised_pointers(c, Format::mxfp8_e4m3); }
CONFORMANCE(grouped_gemm, mxfp8_e5m2_pointers) { quantised_pointers(c, Format::mxfp8_e5m2); }
CONFORMANCE(grouped_gemm, mxfp4_pointers) { quantised_pointers(c, Format::mxfp4); }
CONFORMANCE(grouped_gemm, nvfp4_pointers) { quantised_pointers(c, Format::nvfp4); }
CONFORMANCE(grouped_gemm, fp8_tensor_pointers) { quantised_pointers(c, Format::fp8_tensor); }
CONFORMANCE(grouped_gemm, fp8_row_pointers) { quantised_pointers(c, Format::fp8_row); }
CONFORMANCE(grouped_gemm, fp8_block128_pointers) {
  quantised_pointers(c, Format::fp8_block128, 200);
}

// One group that has every row, and no offsets.
CONFORMANCE(grouped_gemm, whole_pointers) {
  const auto x = c.scaled("x", 80, Format::mxfp8_e4m3);
  const auto w = c.scaled_weight_pointers("w", 1, 24, 80, Format::mxfp8_e4m3);
  const auto all = c.groups({.form = GroupForm::whole});
  c.output("y", c.add(GroupedGemm{.a = x.h, .b = w.h, .groups = all}), {}, product(c, x, w, 80, 1));
}

}  // namespace cohort::test::conformance
