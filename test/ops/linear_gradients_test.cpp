// Gradients of ops that are linear in each operand, against differences of the formulas. Numbers
// are whole, so both are exact.
#include <bit>
#include <vector>

#include "engine/gemm_case.h"

namespace cohort::test {
namespace {

double at(const std::vector<double>& v, int64_t i) { return v[static_cast<size_t>(i)]; }
std::vector<double> widened(const std::vector<float>& v) { return {v.begin(), v.end()}; }

// What the loss changes by when one number grows by 1, for each number.
template <class F>
void expect_slopes(const char* what, const std::vector<float>& got, std::vector<double> numbers,
                   F loss) {
  ASSERT_EQ(got.size(), numbers.size()) << what;
  const double before = loss(numbers);
  bool any = false;
  for (size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] += 1;
    EXPECT_EQ(got[i], loss(numbers) - before) << what << " " << i;
    numbers[i] -= 1;
    any = any || got[i] != 0;
  }
  EXPECT_TRUE(any) << what;
}

// y = a b^T; da = dy b and db = dy^T a, the gradient of a dense layer.
TEST(LinearGradients, Matmul) {
  constexpr int64_t kM = 6, kN = 5, kK = 9;
  for (const Major major : {Major::k, Major::n}) {
    Builder g("matmul");
    const auto a = g.input("a", {kM, kK}, DType::f32);
    const bool by_k = major == Major::k;
    const auto b = g.input("b", {by_k ? kN : kK, by_k ? kK : kN}, DType::f32);
    const auto dy = g.input("dy", {kM, kN}, DType::f32);
    const auto all = g.groups("all", 1, GroupForm::whole);
    g.output("y", g.add(Matmul{.a = a, .b = b, .b_major = major}));
    // Read the other way round, b is the second operand of its own gradient.
    g.output("da", g.add(Matmul{.a = dy, .b = b, .b_major = by_k ? Major::n : Major::k}));
    g.output("db", g.add(GroupedWgrad{.a = by_k ? dy : a, .b = by_k ? a : dy, .groups = all}));
    Bench bench(finish(g));
    const std::vector<float> av = whole_numbers(kM * kK, 1), bv = whole_numbers(kN * kK, 2);
    const std::vector<float> c = whole_numbers(kM * kN, 3);
    bench.tensors.set("a", av);
    bench.tensors.set("b", bv);
    bench.tensors.set("dy", c);
    bench.run_well();
    const auto loss = [&](const std::vector<double>& x, const std::vector<double>& w) {
      double sum = 0;
      for (int64_t m = 0; m < kM; ++m) {
        for (int64_t n = 0; n < kN; ++n) {
          for (int64_t k = 0; k < kK; ++k) {
            sum += static_cast<double>(c[static_cast<size_t>(m * kN + n)]) * at(x, m * kK + k) *
                   at(w, by_k ? n * kK + k : k * kN + n);
          }
        }
      }
      return sum;
    };
    double total = 0;
    const auto y = bench.tensors.values<float>("y");
    for (size_t i = 0; i < y.size(); ++i) total += static_cast<double>(y[i] * c[i]);
    EXPECT_EQ(total, loss(widened(av), widened(bv)));
    expect_slopes("da", bench.tensors.values<float>("da"), widened(av),
                  [&](const std::vector<double>& x) { return loss(x, widened(bv)); });
    expect_slopes("db", bench.tensors.values<float>("db"), widened(bv),
                  [&](const std::vector<double>& w) { return loss(widened(av), w); });
  }
}

// The matrix is symmetric: the gradient of the transform is the transform of the gradient.
TEST(LinearGradients, Hadamard) {
  constexpr int64_t kRows = 32, kColumns = 48;
  for (const Axes axis : {Axes::row, Axes::col}) {
    for (const bool normalised : {false, true}) {
      Builder g("hadamard");
      const Hadamard op{.axis = axis, .normalised = normalised};
      g.output("y", g.add(Load{.x = g.input("x", {kRows, kColumns}, DType::f32)}).then(op));
      g.output("dx", g.add(Load{.x = g.input("dy", {kRows, kColumns}, DType::f32)}).then(op));
      Bench bench(finish(g));
      const std::vector<float> xv = whole_numbers(kRows * kColumns, 1);
      const std::vector<float> c = whole_numbers(kRows * kColumns, 2);
      bench.tensors.set("x", xv);
      bench.tensors.set("dy", c);
      bench.run_well();
      // What element i adds to the loss, through the 16 results of its block.
      const auto term = [&](const std::vector<double>& x, int64_t i) {
        const int64_t step = axis == Axes::row ? 1 : kColumns;
        const int64_t position = axis == Axes::row ? i % kColumns % 16 : i / kColumns % 16;
        double sum = 0;
        for (int64_t j = 0; j < 16; ++j) {
          const auto to = static_cast<size_t>(i + (j - position) * step);
          const bool minus = std::popcount(static_cast<uint64_t>(j & position)) % 2 != 0;
          sum += static_cast<double>(c[to]) * (minus ? -at(x, i) : at(x, i));
        }
        return normalised ? sum / 4 : sum;
      };
      std::vector<double> x = widened(xv);
      double total = 0;
      double wanted = 0;
      const auto y = bench.tensors.values<float>("y");
      const auto dx = bench.tensors.values<float>("dx");
      for (size_t i = 0; i < y.size(); ++i) {
        const auto n = static_cast<int64_t>(i);
        total += static_cast<double>(y[i] * c[i]);
        const double before = term(x, n);
        wanted += before;
        x[i] += 1;
        EXPECT_EQ(dx[i], term(x, n) - before) << i;
        x[i] -= 1;
      }
      EXPECT_EQ(total, wanted);
    }
  }
}

}  // namespace
}  // namespace cohort::test
