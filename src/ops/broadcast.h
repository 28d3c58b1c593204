// Operands of elementwise ops: what broadcasts to the (T, N) of the piped value, and how a panel
// walks it.
#pragma once

#include <initializer_list>
#include <limits>
#include <string_view>

#include "ir/bound.h"
#include "ir/infer.h"
#include "ir/op_record.h"

namespace cohort::ops {

/// Checks the operands in `fields` (those that are absent or numbers are skipped) against the piped
/// value, and sets result 0: f32, with the groups of whichever operand has some.
void infer_elementwise(ir::Infer& c, std::initializer_list<std::string_view> fields);

/// Where element (r, n) of a broadcast operand stands: data[r * row_step + n * column_step].
struct Broadcast {
  const float* data = nullptr;
  int64_t row_step = 0;
  int64_t column_step = 0;  ///< 0 or 1.
};

/// The operand of field `index` of the panel's node.
[[nodiscard]] Broadcast broadcast(const ir::Panel& p, size_t index);

/// Element (r, n) of a broadcast operand whose steps are those of `at`.
inline ir::Bound operand_bound(const ir::BoundPanel& b, const Broadcast& at, size_t field,
                               int64_t r, int64_t n) {
  return b.operand(field, r * at.row_step + n * at.column_step);
}

/// Whether a number is true (not 0): it surely is, surely is not, or neither is known.
enum class Truth : uint8_t { no, yes, unknown };
inline Truth truth(ir::Bound x) {
  if (x.is_nan() || x.low > 0 || x.high < 0) return Truth::yes;
  return x.low == 0 && x.high == 0 ? Truth::no : Truth::unknown;
}
/// The ends of 1 for true, 0 for false.
inline ir::Bound truth_bound(Truth t) {
  return {t == Truth::yes ? 1.0 : 0.0, t == Truth::no ? 0.0 : 1.0};
}
/// Nothing is known of a number.
inline ir::Bound unknown_bound() {
  return {-std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()};
}

/// Stores f(x, operand) for each element of a panel.
template <class F>
void each_with(const ir::Panel& p, const Broadcast& b, F&& f) {
  for (int64_t r = 0; r < p.rows; ++r) {
    const float* x = p.in.data + r * p.in.stride;
    const float* o = b.data + r * b.row_step;
    float* y = p.out[0].data + r * p.out[0].stride;
    if (b.column_step == 0) {
      const float v = *o;
      for (int64_t n = 0; n < p.columns; ++n) y[n] = f(x[n], v);
    } else {
      for (int64_t n = 0; n < p.columns; ++n) y[n] = f(x[n], o[n]);
    }
  }
}

}  // namespace cohort::ops
