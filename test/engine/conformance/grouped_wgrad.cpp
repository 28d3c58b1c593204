#include "engine/conformance.h"

namespace cohort::test::conformance {

namespace {

constexpr int64_t kI = 10, kJ = 7;

// The sum over the rows of group g of a[m, i] b[m, j]; f is told whether there was a row.
template <class A, class B>
auto sum_over_rows(const Case& c, A a, B b) {
  return [=, t = c.tokens()](int64_t g, int64_t i, int64_t j) {
    Sum acc;
    const Range& range = t->ranges[static_cast<size_t>(g)];
    for (int64_t m = range.begin; m < range.begin + range.rows; ++m) acc.add(a(m, i) * b(m, j));
    return acc.result();
  };
}

template <class A, class B>
void plain(Case& c, A a, B b, const GroupsSpec& groups = {}, const OutputOptions& options = {}) {
  c.output("dw", c.add(GroupedWgrad{.a = a.h, .b = b.h, .groups = c.groups(groups)}), options,
           sum_over_rows(c, a, b));
}

void quantised(Case& c, Format a, Format b, const ScaledSpec& spec, const GroupsSpec& groups = {}) {
  plain(c, c.scaled("a", 40, a, spec), c.scaled("b", 24, b, spec), groups);
}

template <class A, class I>
auto gathered(A a, I index) {
  return [=](int64_t r, int64_t k) { return a(static_cast<int64_t>(index(r).v), k); };
}

}  // namespace

CONFORMANCE(grouped_wgrad, f32) { plain(c, c.matrix("a", kI), c.matrix("b", kJ)); }
CONFORMANCE(grouped_wgrad, bf16) {
  plain(c, c.matrix("a", kI, DType::bf16), c.matrix("b", kJ, DType::bf16),
        {.form = GroupForm::ends}, {.dtype = DType::bf16});
}
CONFORMANCE(grouped_wgrad, f16_slots) {
  plain(c, c.matrix("a", kI, DType::f16), c.matrix("b", kJ, DType::f16), {.form = GroupForm::slots},
        {.dtype = DType::f16});
}
CONFORMANCE(grouped_wgrad, strides) {
  plain(c, c.matrix("a", kI, DType::f32, {.strides = {13, 1}}), c.matrix("b", kJ),
        {.form = GroupForm::counts, .dtype = DType::i64}, {.strides = {1, 3, 40}});
}
CONFORMANCE(grouped_wgrad, many_rows) {
  plain(c, c.matrix("a", 200), c.matrix("b", 260), {.unit = 17});
}

CONFORMANCE(grouped_wgrad, discrete) {
  plain(c, c.matrix("a", kI), c.matrix("b", kJ), {}, {.discrete = true});
}
CONFORMANCE(grouped_wgrad, discrete_bf16) {
  plain(c, c.matrix("a", kI, DType::bf16), c.matrix("b", kJ, DType::bf16),
        {.form = GroupForm::slots}, {.dtype = DType::bf16, .discrete = true});
}

CONFORMANCE(grouped_wgrad, of_values) {
  const auto x = c.matrix("x", kI);
  const auto y = c.matrix("y", kJ);
  const auto groups = c.groups();
  const auto a = c.add(Load{.x = x.h, .groups = groups}).then(Unary{.mode = UnaryMode::relu});
  const auto b = c.add(Load{.x = y.h, .groups = groups});
  c.output("dw", c.add(GroupedWgrad{.a = a, .b = b, .groups = groups}), {},
           sum_over_rows(
               c, [=](int64_t r, int64_t k) { return relu(x(r, k)); }, y));
}

CONFORMANCE(grouped_wgrad, gathered_a) {
  const auto a = c.fixed("a", 13, kI);
  const auto b = c.matrix("b", kJ);
  const auto index = c.index("index", 13);
  c.output("dw", c.add(GroupedWgrad{.a = a.h, .b = b.h, .groups = c.groups(), .gather_a = index.h}),
           {}, sum_over_rows(c, gathered(a, index), b));
}

// Row scales of the source rows come with them.
CONFORMANCE(grouped_wgrad, gathered_b_mxfp8) {
  const auto a = c.scaled("a", 40, Format::mxfp8_e4m3, {.axis = Axes::col});
  const auto b = c.scaled("b", 80, Format::mxfp8_e4m3, {}, 60);
  const auto index = c.index("index", 60, DType::i64);
  c.output("dw", c.add(GroupedWgrad{.a = a.h, .b = b.h, .groups = c.groups(), .gather_b = index.h}),
           {}, sum_over_rows(c, a, gathered(b, index)));
}

// Rows that -1 drops, on both sides.
CONFORMANCE(grouped_wgrad, dropped_rows) {
  const auto a = c.fixed("a", 9, kI);
  const auto b = c.fixed("b", 11, kJ);
  const auto i = c.index("i", 9);
  const auto j = c.index("j", 11);
  c.fill_with(i, [](const Position& p) { return static_cast<double>(p[0] % 10 - 1); });
  c.fill_with(j, [](const Position& p) { return static_cast<double>(p[0] % 3 == 0 ? -1 : 4); });
  c.output("dw",
           c.add(GroupedWgrad{
               .a = a.h, .b = b.h, .groups = c.groups(), .gather_a = i.h, .gather_b = j.h}),
           {}, [=, t = c.tokens()](int64_t g, int64_t m, int64_t n) {
             Sum acc;
             const Range& range = t->ranges[static_cast<size_t>(g)];
             for (int64_t r = range.begin; r < range.begin + range.rows; ++r) {
               if (i(r).v < 0 || j(r).v < 0) continue;
               acc.add(gathered(a, i)(r, m) * gathered(b, j)(r, n));
             }
             return acc.result();
           });
}

// Factors, then what is there already. A group without rows has neither.
CONFORMANCE(grouped_wgrad, factors_and_accumulation) {
  const auto a = c.matrix("a", kI);
  const auto b = c.matrix("b", kJ);
  const auto groups = c.groups();
  const auto alpha = c.group_vec("alpha", 3);
  const auto sa = c.group_vec("sa", 3, DType::bf16);
  const auto sb = c.group_vec("sb", 3);
  const auto old = c.weights("old", 3, kI, kJ, DType::bf16);
  const auto sum = sum_over_rows(c, a, b);
  c.output("dw",
           c.add(GroupedWgrad{.a = a.h,
                              .b = b.h,
                              .groups = groups,
                              .alpha = alpha.h,
                              .global_scale_a = sa.h,
                              .global_scale_b = sb.h,
                              .accumulate = old.h}),
           {}, [=, t = c.tokens()](int64_t g, int64_t i, int64_t j) {
             if (t->ranges[static_cast<size_t>(g)].rows == 0) return old(g, i, j);
             return sum(g, i, j) * alpha(g) * sa(g) * sb(g) + old(g, i, j);
           });
}

CONFORMANCE(grouped_wgrad, accumulation_behind_pointers) {
  const auto a = c.matrix("a", kI);
  const auto b = c.matrix("b", kJ);
  const auto groups = c.groups();
  const auto old = c.weight_pointers("old", 3, kI, kJ);
  const auto sum = sum_over_rows(c, a, b);
  c.output("dw", c.add(GroupedWgrad{.a = a.h, .b = b.h, .groups = groups, .accumulate = old.h}), {},
           [=](int64_t g, int64_t i, int64_t j) { return sum(g, i, j) + old(g, i, j); });
}

CONFORMANCE(grouped_wgrad, mxfp8) {
  quantised(c, Format::mxfp8_e4m3, Format::mxfp8_e4m3, {.axis = Axes::col});
}
CONFORMANCE(grouped_wgrad, mxfp8_transposed_e5m2) {
  quantised(c, Format::mxfp8_e5m2, Format::mxfp8_e4m3,
            {.axis = Axes::col, .storage = ColStorage::transposed});
}
CONFORMANCE(grouped_wgrad, mxfp8_global) {
  quantised(c, Format::mxfp8_e4m3, Format::mxfp8_e4m3,
            {.layout = ScaleLayout::global, .axis = Axes::col}, {.multiple = 32, .unit = 2});
}
CONFORMANCE(grouped_wgrad, mxfp4) {
  quantised(c, Format::mxfp4, Format::mxfp4, {.axis = Axes::col}, {.multiple = 2});
}
CONFORMANCE(grouped_wgrad, nvfp4) {
  quantised(c, Format::nvfp4, Format::nvfp4, {.axis = Axes::col}, {.multiple = 2, .unit = 5});
}
CONFORMANCE(grouped_wgrad, nvfp4_ragged) {
  quantised(c, Format::nvfp4, Format::nvfp4, {.axis = Axes::col, .storage = ColStorage::ragged},
            {.multiple = 2, .unit = 5});
}
CONFORMANCE(grouped_wgrad, mxfp8_ragged) {
  quantised(c, Format::mxfp8_e4m3, Format::mxfp8_e4m3,
            {.axis = Axes::col, .storage = ColStorage::ragged});
}
CONFORMANCE(grouped_wgrad, fp8_tensor) { quantised(c, Format::fp8_tensor, Format::fp8_tensor, {}); }
CONFORMANCE(grouped_wgrad, fp8_row) { quantised(c, Format::fp8_row, Format::fp8_row, {}); }
CONFORMANCE(grouped_wgrad, fp8_block128) {
  plain(c, c.scaled("a", 200, Format::fp8_block128), c.scaled("b", 136, Format::fp8_block128));
}
CONFORMANCE(grouped_wgrad, gathered_b_fp8_block128) {
  const auto a = c.scaled("a", 136, Format::fp8_block128);
  const auto b = c.scaled("b", 200, Format::fp8_block128, {}, 60);
  const auto index = c.index("index", 60);
  c.output("dw", c.add(GroupedWgrad{.a = a.h, .b = b.h, .groups = c.groups(), .gather_b = index.h}),
           {}, sum_over_rows(c, a, gathered(b, index)));
}
CONFORMANCE(grouped_wgrad, mxfp8_by_e5m2) {
  quantised(c, Format::mxfp8_e4m3, Format::mxfp8_e5m2, {.axis = Axes::col});
}

// One group that has every row: a gradient behind a pointer, added to one behind another.
CONFORMANCE(grouped_wgrad, whole_pointers) {
  const auto a = c.matrix("a", kI, DType::bf16);
  const auto b = c.matrix("b", kJ, DType::bf16);
  const auto old = c.weight_pointers("old", 1, kI, kJ);
  const auto sum = sum_over_rows(c, a, b);
  c.output(
      "dw",
      c.add(GroupedWgrad{
          .a = a.h, .b = b.h, .groups = c.groups({.form = GroupForm::whole}), .accumulate = old.h}),
      {.dtype = DType::f32, .discrete = true},
      [=](int64_t g, int64_t i, int64_t j) { return sum(g, i, j) + old(g, i, j); });
}

}  // namespace cohort::test::conformance
