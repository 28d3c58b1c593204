#include <limits>

#include "numerics/smooth.h"
#include "ops/row_sum.h"

namespace cohort {

std::string_view name(DReluSquaredMode value) noexcept {
  switch (value) {
    case DReluSquaredMode::grad_acc:
      return "grad_acc";
    case DReluSquaredMode::recompute:
      return "recompute";
  }
  return {};
}

namespace ops {

namespace {

void infer(ir::Infer& c) {
  want_like_value(c, "c");
  want_prob(c);
  if (c.failed()) return;
  const ir::Value x = gradient_rows(c);
  ir::Value y;
  y.shape = x.shape;
  y.groups = x.groups;
  y.experts = x.experts;
  c.result(0, y);
  c.result(1, row_sum_type(y));
  c.result(2, y);
}

// One row. The gradient of the activation is `slope` * g, its result is h * h.
struct Row {
  const float* a;
  const float* g;
  float prob;
  float* d;
  float* forward;
};

// Returns the sum over the row, made in f64 in ascending order and not yet rounded.
template <class Activation>
double one_row(const Row& row, int64_t columns, bool sums, Activation&& activation) {
  double sum = 0;
  for (int64_t n = 0; n < columns; ++n) {
    const auto [h, d] = activation(row.a[n], row.g[n]);
    const float y = h * h;
    if (row.d != nullptr) row.d[n] = d * row.prob;
    if (row.forward != nullptr) row.forward[n] = y * row.prob;
    if (sums) sum += static_cast<double>(y * row.g[n]);
  }
  return sum;
}

struct Step {
  float h;
  float d;
};

Step plain(float a, float g) {
  const float r = a < 0 ? 0.0f : a;
  return {r, g * r * 2.0f};
}

Step clamped(float a, float g, float s) {
  const float r = a < 0 ? 0.0f : a;
  const float t = numerics::tanh(r / s);
  const float h = s * t;
  // 1 - t^2 as a product: near 1 the square of t has lost what the difference needs.
  return {h, 2.0f * h * ((1.0f - t) * (1.0f + t)) * g};
}

void map(const ir::Panel& p) {
  const ir::FieldValue& mode = p.graph->field(*p.node, "mode");
  const ir::FieldValue& clamp = p.graph->field(*p.node, "clamp");
  const ir::PanelData& c = p.operand[0];
  const ir::PanelData& prob = p.operand[3];
  const ir::PanelData& add = p.operand[4];
  const bool recompute = static_cast<DReluSquaredMode>(mode.integer) == DReluSquaredMode::recompute;
  const auto at = [](const ir::PanelData& m, int64_t r) {
    return m.data == nullptr ? nullptr : m.data + r * m.stride;
  };
  for (int64_t r = 0; r < p.rows; ++r) {
    const Row row{recompute ? at(p.in, r) : at(c, r), recompute ? at(c, r) : at(p.in, r),
                  row_number(prob, r, 1.0f), at(p.out[0], r), at(p.out[2], r)};
    const bool sums = p.out[1].data != nullptr;
    double sum = 0;
    if (clamp.kind == ir::FieldValue::Kind::none) {
      sum = one_row(row, p.columns, sums, plain);
    } else {
      const float s = clamp.real;
      sum = one_row(row, p.columns, sums, [s](float a, float g) { return clamped(a, g, s); });
    }
    if (sums) {
      p.out[1].data[r] = static_cast<float>(sum + static_cast<double>(row_number(add, r, 0.0f)));
    }
  }
}

void bound(const ir::BoundPanel& b) {
  const ir::FieldValue& mode = b.low.graph->field(*b.low.node, "mode");
  const ir::FieldValue& clamp = b.low.graph->field(*b.low.node, "clamp");
  const bool is_plain = clamp.kind == ir::FieldValue::Kind::none;
  const bool recompute = static_cast<DReluSquaredMode>(mode.integer) == DReluSquaredMode::recompute;
  const ir::Bound one = 1.0;
  for (int64_t r = 0; r < b.low.rows; ++r) {
    const ir::Bound prob = row_bound(b, 3, r, 1);
    ir::RowBound sum;
    for (int64_t n = 0; n < b.low.columns; ++n) {
      const ir::Bound x = b.in(r, n);
      const ir::Bound c = b.operand(0, r, n);
      const ir::Bound g = recompute ? c : x;
      const ir::Bound relu_a = relu(recompute ? x : c);
      const ir::Bound s = is_plain ? 1.0 : static_cast<double>(clamp.real);
      const ir::Bound t = min(tanh(relu_a / s), 1.0);
      const ir::Bound h = is_plain ? relu_a : s * t;
      const ir::Bound d = is_plain ? g * h * 2.0 : h * 2.0 * ((one - t) * (one + t)) * g;
      b.put(0, r, n, d * prob);
      b.put(2, r, n, square(h) * prob);
      sum.add(square(h) * g);
    }
    b.put(1, r, 0, sum.finish() + row_bound(b, 4, r, 0));
  }
}

}  // namespace

ir::OpRecord d_relu_squared() {
  ir::OpRecord r = ir::describe(DReluSquared{.c = ir::any<Value>()});
  r.infer = infer;
  r.reference = {.kind = ir::Reference::Kind::map, .map = map, .bound = bound};
  r.results[1].added_to = "dprob_add";
  r.results[1].unread = {"prob"};
  r.device_functor = "DReluSquared";
  r.formula = "d = 2 * relu(a) * g * prob; dprob = sum_n relu(a)^2 * g; d_srelu = relu(a)^2 * prob";
  range(r, "clamp", std::numeric_limits<float>::min(), std::numeric_limits<float>::max());
  document(r, {{"c", "(T, N): the saved input (grad_acc) or the upstream gradient (recompute)"},
               {"mode", "which matrix is the gradient: grad_acc (the piped value), recompute (c)"},
               {"clamp", "s > 0, the tanh clamp"},
               {"prob", "(T); absent: 1"},
               {"dprob_add", "(T) or (T, 1): added to dprob before it is rounded"}});
  return r;
}

}  // namespace ops
}  // namespace cohort
