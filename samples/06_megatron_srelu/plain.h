// The same step in plain f64 loops, without any quantisation.
#pragma once

#include <cstdint>
#include <vector>

#include "graphs.h"

inline constexpr int64_t kExperts = StepSpec{}.experts;
inline constexpr int64_t kHidden = StepSpec{}.hidden;
inline constexpr int64_t kInter = StepSpec{}.inter;

using Numbers = std::vector<double>;

/// Tensors of the step, row-major. The bf16 numbers that the graphs get, as f64.
struct PlainStep {
  std::vector<int32_t> ends;  ///< (E)
  Numbers x, dy;              ///< (T, d)
  Numbers w1, w2;             ///< (E, n, d), (E, d, n)
  Numbers b1, b2;             ///< (E, n), (E, d)
  Numbers prob;               ///< (T)

  Numbers y, dx;     ///< (T, d)
  Numbers dw1, dw2;  ///< as w1, w2
  Numbers db1, db2;  ///< as b1, b2
  Numbers dprob;     ///< (T)

  /// Makes y and the gradients.
  void run();

 private:
  void row(int64_t expert, int64_t row);
};
