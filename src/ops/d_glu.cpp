#include "numerics/codec.h"
#include "ops/glu_rules.h"
#include "ops/row_sum.h"

namespace cohort {

std::string_view name(AccRound value) noexcept {
  switch (value) {
    case AccRound::none:
      return "none";
    case AccRound::bf16:
      return "bf16";
  }
  return {};
}

namespace ops {

namespace {

// The saved value has gate and up for each feature of the piped one. Whether their number is told
// to be right: a wrong one is no second mistake of the packing.
bool want_saved(ir::Infer& c) {
  const ir::Extent features = c.in().shape[1];
  if (features.symbol != ir::kNone || features.bound > ir::kMaxExtent / 2) {
    c.fail("E-SHAPE", "in", 1, "a number of features", c.text(features),
           c.describe(c.in()) + " has no number of features that could be doubled");
    return false;
  }
  const ir::Extent both{2 * features.bound};
  want_matrix(c, "c", both, "gate and up of the value");
  return c.knows("c") && c.operand("c")->shape[1] == both;
}

void infer(ir::Infer& c) {
  const bool fits = !c.knows("in") || want_saved(c);
  if (fits && c.knows("c")) want_glu_features(c, "c", *c.operand("c"));
  want_glu_parameters(c);
  want_prob(c);
  if (c.failed()) return;
  keep_glu_parameters(c);
  const ir::Value x = gradient_rows(c);
  ir::Value y;
  y.shape = x.shape;
  y.groups = x.groups;
  y.experts = x.experts;
  c.result(2, y);
  c.result(1, row_sum_type(y));
  y.shape[1] = c.operand("c")->shape[1];
  c.result(0, y);
}

void map(const ir::Panel& p) {
  const numerics::GluSpec spec = glu_spec(*p.graph, *p.node);
  const auto round = static_cast<AccRound>(p.graph->field(*p.node, "acc_round").integer);
  const ir::PanelData& c = p.operand[0];
  const ir::PanelData& prob = p.operand[8];
  const ir::PanelData& add = p.operand[9];
  const auto at = [](const ir::PanelData& m, int64_t r) {
    return m.data == nullptr ? nullptr : m.data + r * m.stride;
  };
  for (int64_t r = 0; r < p.rows; ++r) {
    double sum = 0;
    numerics::GluGradRow row;
    row.c = at(c, r);
    row.acc = at(p.in, r);
    row.round_acc = round == AccRound::bf16;
    row.prob = row_number(prob, r, 1.0f);
    row.count = p.columns;
    row.d = at(p.out[0], r);
    row.act = at(p.out[2], r);
    row.sum = p.out[1].data == nullptr ? nullptr : &sum;
    numerics::glu_kernels().backward(spec, row);
    if (row.sum == nullptr) continue;
    p.out[1].data[r] = static_cast<float>(sum + static_cast<double>(row_number(add, r, 0.0f)));
  }
}

// Rounding is monotone: the ends go where they are rounded to.
ir::Bound to_bf16(ir::Bound x) {
  const auto round = [](double end) {
    return static_cast<double>(numerics::round_to(DType::bf16, static_cast<float>(end)));
  };
  return {round(x.low), round(x.high)};
}

// A derivative that is 0 makes the gradient 0, whatever it is multiplied with.
ir::Bound gradient(ir::Bound factor, ir::Bound derivative) {
  return derivative.low == 0 && derivative.high == 0 ? derivative : factor * derivative;
}

void bound(const ir::BoundPanel& b) {
  const numerics::GluSpec spec = glu_spec(*b.low.graph, *b.low.node);
  const auto round = static_cast<AccRound>(b.low.graph->field(*b.low.node, "acc_round").integer);
  const int64_t band = numerics::glu_band(spec.packing, 2 * b.low.columns);
  for (int64_t r = 0; r < b.low.rows; ++r) {
    const ir::Bound prob = row_bound(b, 8, r, 1);
    ir::RowBound sum;
    for (int64_t i = 0; i < b.low.columns; ++i) {
      const int64_t gate = i / band * 2 * band + i % band;
      const GluBounds k = glu_bounds(spec, b.operand(0, r, gate), b.operand(0, r, gate + band));
      const ir::Bound y = round == AccRound::bf16 ? to_bf16(b.in(r, i)) : b.in(r, i);
      b.put(0, r, gate, gradient(y * prob * k.right, k.d_left));
      b.put(0, r, gate + band, gradient(y * prob * k.left, k.d_right));
      b.put(2, r, i, k.left * k.right * prob);
      sum.add(y * k.right * k.left);
    }
    b.put(1, r, 0, sum.finish() + row_bound(b, 9, r, 0));
  }
}

}  // namespace

ir::OpRecord d_glu() {
  ir::OpRecord r =
      ir::describe(DGlu{.c = ir::any<Value>(), .act = GluAct::swiglu, .packing = Packing::split});
  r.infer = infer;
  r.reference = {.kind = ir::Reference::Kind::map, .map = map, .bound = bound};
  r.results[1].added_to = "dprob_add";
  r.results[1].unread = {"prob"};
  r.results[2].unread = {"acc_round"};
  r.device_functor = "DGlu";
  r.formula =
      "d_up = y * prob * G * s; d_gate = y * prob * (U + beta) * s * (1 + alpha * G * (1 - s)); "
      "dprob = sum_n y * (U + beta) * G * s; act_out = s * G * (U + beta) * prob; "
      "s = sigmoid(alpha * G)";
  describe_glu_parameters(r);
  document(r, {{"c", "(T, 2 N): gate and up before any clamp"},
               {"prob", "(T); absent: 1"},
               {"dprob_add", "(T) or (T, 1): added to dprob before it is rounded"},
               {"acc_round", "rounding of the piped value before everything: none, bf16"}});
  return r;
}

}  // namespace ops
}  // namespace cohort
