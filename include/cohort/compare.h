// Comparing results with the reference under a derived error bound; docs/compare.md derives it.
#pragma once

#include <cstdint>
#include <string_view>

#include <cohort/graph.h>
#include <cohort/plan.h>
#include <cohort/status.h>

namespace cohort {

/// How one output tensor compares, scales as tensors of their own.
struct TensorComparison {
  std::string_view tensor;    ///< Name ("y", "y.scale"); lives as long as the comparison.
  int64_t elements = 0;       ///< Elements compared: rows of groups, tails that are zero.
  int64_t wrong = 0;          ///< Elements outside their bound; 0: `largest` is at most 1.
  double largest = 0;         ///< Largest error, in bounds; infinite: wrong by a bound of 0 or NaN.
  int32_t rank = 0;           ///< Rank of `index`.
  int64_t index[kMaxRank]{};  ///< First wrong element; of block scales: row (or feature), block.
  double wanted = 0;          ///< The reference's value there.
  double got = 0;             ///< The value given there.
  double bound = 0;           ///< Largest error allowed there, to the side of `got`.
};

namespace detail {
struct ComparisonRep;
struct ComparisonAccess;
}  // namespace detail

/// Outputs of a graph compared with the reference. Copies share it; immutable.
class COHORT_API Comparison {
 public:
  Comparison(const Comparison& other) noexcept;             ///< Shares the comparison.
  Comparison& operator=(const Comparison& other) noexcept;  ///< As above.
  ~Comparison();

  /// True when no element of any output is wrong.
  [[nodiscard]] bool good() const noexcept;
  [[nodiscard]] int32_t size() const noexcept;  ///< Output tensors compared.
  /// The i-th comparison; `i` must lie in [0, size()).
  [[nodiscard]] const TensorComparison& operator[](int32_t i) const noexcept;
  /// For a person: a line a tensor, with the first wrong element of those that have one.
  [[nodiscard]] std::string_view text() const noexcept;

 private:
  friend struct detail::ComparisonAccess;
  explicit Comparison(detail::ComparisonRep* rep) noexcept : rep_(rep) {}
  detail::ComparisonRep* rep_;
};

/// Compares outputs of a run of `graph` at `sizes` with the reference. `inputs` and `got` together
/// are what bind takes: CPU memory for every tensor, in any order. Any f32 evaluation, in any order
/// of summation, lies within the bound; products accumulated in fewer bits (fp8 on Hopper) may not.
/// Findings of bind when a tensor does not fit; E-UNSUPPORTED when an op has no bound
/// (docs/known_gaps.md). Takes memory for twelve bytes an element of every value of the graph.
[[nodiscard]] COHORT_API Result<Comparison> compare(const Graph& graph, Sizes sizes,
                                                    NamedTensors inputs, NamedTensors got) noexcept;

}  // namespace cohort
