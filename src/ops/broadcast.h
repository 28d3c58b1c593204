// Operands of elementwise ops: what broadcasts to the (T, N) of the piped value, and how a panel
// walks it.
#pragma once

#include <initializer_list>
#include <string_view>

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
