// A grouped product of small whole numbers: every order of summation gives the same f32 bits.
#pragma once

#include <algorithm>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "engine/harness.h"

namespace cohort::test {

/// Rows [begin, begin + rows) of one group.
struct Range {
  int64_t begin;
  int64_t rows;
};

/// Ranges of consecutive groups of these sizes, the first of which begins at `first`.
inline std::vector<Range> consecutive(const std::vector<int64_t>& sizes, int64_t first = 0) {
  std::vector<Range> r;
  for (int64_t rows : sizes) {
    r.push_back({first, rows});
    first += rows;
  }
  return r;
}

template <class T>
void put_offsets(Tensors& t, const std::string& name, GroupForm form,
                 const std::vector<Range>& ranges) {
  std::vector<T> first;
  std::vector<T> second;
  for (const Range& r : ranges) {
    const bool begins = form != GroupForm::ends && form != GroupForm::counts;
    first.push_back(static_cast<T>(begins                      ? r.begin
                                   : form == GroupForm::counts ? r.rows
                                                               : r.begin + r.rows));
    second.push_back(static_cast<T>(r.rows));
  }
  if (form == GroupForm::boundaries) {
    first.push_back(static_cast<T>(ranges.back().begin + ranges.back().rows));
  }
  if (form != GroupForm::slots) return t.set(name, first);
  t.set(name + ".begin", first);
  t.set(name + ".used", second);
}

inline void put_groups(Tensors& t, const std::string& name, GroupForm form, DType dtype,
                       const std::vector<Range>& ranges) {
  if (dtype == DType::i64) {
    put_offsets<int64_t>(t, name, form, ranges);
  } else {
    put_offsets<int32_t>(t, name, form, ranges);
  }
}

inline std::vector<float> whole_numbers(int64_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<float> v(static_cast<size_t>(count));
  for (float& x : v) x = static_cast<float>(static_cast<int>(random() % 15) - 7);
  return v;
}

/// x (T, K) times w (E, N, K), f32; y has its first bytes poisoned.
struct GemmCase {
  int64_t rows = 40;
  int64_t experts = 3;
  int64_t features = 10;
  int64_t sum = 9;
  GroupForm form = GroupForm::ends;
  DType offsets = DType::i32;
  std::vector<Range> ranges = consecutive({7, 20, 13});
  Tail tail = Tail::leave;

  std::vector<float> x = whole_numbers(rows * sum, 1);
  std::vector<float> w = whole_numbers(experts * features * sum, 2);

  [[nodiscard]] Graph graph() const {
    Builder g("gemm");
    const Dim t = g.dynamic("T", 4096);
    const auto a = g.input("x", {t, sum}, DType::f32);
    const auto b = g.weights("w", {experts, features, sum}, DType::f32);
    const auto groups =
        g.groups("g", static_cast<int64_t>(ranges.size()), form, {.dtype = offsets});
    g.output("y", g.add(GroupedGemm{.a = a, .b = b, .groups = groups}), {.tail = tail});
    return finish(g);
  }
  [[nodiscard]] std::vector<float> run(const PlanOptions& options = {}) const {
    Bench bench(graph(), {{"T", rows}}, options);
    bench.tensors.set("x", x);
    bench.tensors.set("w", w);
    put_groups(bench.tensors, "g", form, offsets, ranges);
    bench.run_well();
    return bench.tensors.values<float>("y");
  }
  /// The same by the definition, row by row.
  [[nodiscard]] std::vector<float> expected() const {
    std::vector<float> y(static_cast<size_t>(rows * features), 0);
    if (tail == Tail::leave && !y.empty()) {
      std::memset(y.data(), kPoison, y.size() * sizeof(float));
    }
    for (size_t g = 0; g < ranges.size(); ++g) {
      const int64_t e = static_cast<int64_t>(g) % experts;
      for (int64_t r = ranges[g].begin; r < ranges[g].begin + ranges[g].rows; ++r) {
        for (int64_t n = 0; n < features; ++n) {
          double s = 0;
          for (int64_t k = 0; k < sum; ++k) {
            s += static_cast<double>(x[static_cast<size_t>(r * sum + k)]) *
                 static_cast<double>(w[static_cast<size_t>((e * features + n) * sum + k)]);
          }
          y[static_cast<size_t>(r * features + n)] = static_cast<float>(s);
        }
      }
    }
    return y;
  }
  /// Makes rows that no group owns NaN.
  void poison_unowned() {
    for (int64_t r = 0; r < rows; ++r) {
      const bool owned = std::any_of(ranges.begin(), ranges.end(), [&](const Range& g) {
        return r >= g.begin && r < g.begin + g.rows;
      });
      if (owned) continue;
      std::fill_n(x.begin() + r * sum, sum, std::numeric_limits<float>::quiet_NaN());
    }
  }
};

/// Equal bits; NaN patterns too.
inline void expect_same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    uint32_t x = 0;
    uint32_t y = 0;
    std::memcpy(&x, &a[i], 4);
    std::memcpy(&y, &b[i], 4);
    ASSERT_EQ(x, y) << "element " << i << ": " << a[i] << " and " << b[i];
  }
}

}  // namespace cohort::test
