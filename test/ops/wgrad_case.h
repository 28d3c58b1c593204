// A gradient of weights in whole numbers: every order of summation gives the same bits.
#pragma once

#include <optional>
#include <vector>

#include <cohort/numerics.h>

#include "engine/gemm_case.h"

namespace cohort::test {

struct WgradCase {
  int64_t rows = 40;
  int64_t i = 10;
  int64_t j = 9;
  GroupForm form = GroupForm::ends;
  std::vector<Range> ranges = consecutive({7, 20, 13});
  int64_t source_a = 40;  ///< Rows of a: more or fewer than `rows` with gather.
  int64_t source_b = 40;
  std::optional<std::vector<int32_t>> gather_a;
  std::optional<std::vector<int32_t>> gather_b;
  std::optional<std::vector<float>> alpha;
  std::optional<std::vector<float>> old;
  DType in = DType::f32;  ///< Of a and b: f32 or bf16.

  std::vector<float> a = whole_numbers(source_a * i, 1);
  std::vector<float> b = whole_numbers(source_b * j, 2);

  [[nodiscard]] int64_t groups() const { return static_cast<int64_t>(ranges.size()); }

  [[nodiscard]] Graph graph(DType out = DType::f32) const {
    Builder g("wgrad");
    const Dim t = g.dynamic("T", 4096);
    GroupedWgrad op{.a = g.input("a", {gather_a ? Dim(source_a) : t, i}, in),
                    .b = g.input("b", {gather_b ? Dim(source_b) : t, j}, in),
                    .groups = g.groups("g", groups(), form)};
    if (gather_a) op.gather_a = g.index("gather_a", t);
    if (gather_b) op.gather_b = g.index("gather_b", t);
    if (alpha) op.alpha = g.group_input("alpha", groups());
    if (old) op.accumulate = g.weights("old", {groups(), i, j}, DType::f32);
    g.output("dw", g.add(op), {.dtype = out});
    return finish(g);
  }
  void fill(Tensors& t) const {
    put(t, "a", a);
    put(t, "b", b);
    put_groups(t, "g", form, DType::i32, ranges);
    if (gather_a) t.set("gather_a", *gather_a);
    if (gather_b) t.set("gather_b", *gather_b);
    if (alpha) t.set("alpha", *alpha);
    if (old) t.set("old", *old);
  }
  [[nodiscard]] std::vector<float> run(const PlanOptions& options = {}) const {
    Bench bench(graph(), {{"T", rows}}, options);
    fill(bench.tensors);
    bench.run_well();
    return bench.tensors.values<float>("dw");
  }
  /// The same by the definition.
  [[nodiscard]] std::vector<float> expected() const {
    std::vector<float> dw;
    for (int64_t g = 0; g < groups(); ++g) {
      for (int64_t m = 0; m < i; ++m) {
        for (int64_t n = 0; n < j; ++n) dw.push_back(element(g, m, n));
      }
    }
    return dw;
  }

 private:
  void put(Tensors& t, const char* name, const std::vector<float>& x) const {
    if (in == DType::f32) return t.set(name, x);
    ASSERT_EQ(t.bytes(name), static_cast<int64_t>(2 * x.size())) << name;
    ASSERT_TRUE(encode(in, x.data(), static_cast<int64_t>(x.size()), t.data<std::byte>(name)));
  }
  [[nodiscard]] float element(int64_t g, int64_t m, int64_t n) const {
    const Range& range = ranges[static_cast<size_t>(g)];
    double sum = 0;
    int64_t used = 0;
    for (int64_t r = range.begin; r < range.begin + range.rows; ++r) {
      const int64_t ra = gather_a ? (*gather_a)[static_cast<size_t>(r)] : r;
      const int64_t rb = gather_b ? (*gather_b)[static_cast<size_t>(r)] : r;
      if (ra < 0 || rb < 0) continue;
      ++used;
      sum += static_cast<double>(a[static_cast<size_t>(ra * i + m)]) *
             static_cast<double>(b[static_cast<size_t>(rb * j + n)]);
    }
    auto x = static_cast<float>(sum);
    if (used > 0 && alpha) x *= (*alpha)[static_cast<size_t>(g)];
    if (!old) return x;
    const float before = (*old)[static_cast<size_t>((g * i + m) * j + n)];
    return used > 0 ? x + before : before;
  }
};

}  // namespace cohort::test
