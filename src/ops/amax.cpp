#include <cmath>
#include <string>

#include "ops/rules.h"

namespace cohort {

std::string_view name(AmaxPer value) noexcept {
  switch (value) {
    case AmaxPer::tensor:
      return "tensor";
    case AmaxPer::expert:
      return "expert";
    case AmaxPer::expert_half:
      return "expert_half";
  }
  return {};
}

namespace ops {

namespace {

void infer(ir::Infer& c) {
  if (!c.knows({"per", "in"})) return;
  const auto per = c.choice<AmaxPer>("per");
  const ir::Value& x = c.in();
  if (per != AmaxPer::tensor && x.groups == ir::kNone) {
    c.fail("E-GROUPS", "per", -1, "tensor", std::string(name(per)),
           c.describe(x) + " has no groups");
  }
  const ir::Extent features = x.shape[1];
  if (per == AmaxPer::expert_half && features.symbol == ir::kNone && features.bound % 2 != 0) {
    c.fail("E-SHAPE", "in", 1, "an even number of features", c.text(features),
           c.describe(x) + " has no halves");
  }
  if (c.failed()) return;
  ir::Value y;
  const ir::Extent groups = x.groups == ir::kNone
                                ? ir::Extent{1}
                                : c.graph().values[static_cast<size_t>(x.groups)].shape[0];
  if (per == AmaxPer::tensor) y.shape = {ir::Extent{1}};
  if (per == AmaxPer::expert) y.shape = {groups};
  if (per == AmaxPer::expert_half) y.shape = {groups, ir::Extent{2}};
  c.result(0, y);
}

// max that keeps a NaN, as max.NaN on the device.
double larger(double a, double b) { return std::isnan(a) || a > b ? a : b; }

void reduce(const ir::Panel& p, double* accumulator) {
  const auto per = static_cast<AmaxPer>(p.graph->field(*p.node, "per").integer);
  const int64_t half = per == AmaxPer::expert_half ? p.columns / 2 : p.columns;
  for (int64_t r = 0; r < p.rows; ++r) {
    const float* x = p.in.data + r * p.in.stride;
    for (int64_t n = 0; n < p.columns; ++n) {
      double& a = accumulator[n < half ? 0 : 1];
      a = larger(a, std::fabs(static_cast<double>(x[n])));
    }
  }
}

void bound(const ir::BoundPanel& b, ir::RowBound* accumulator) {
  const ir::Panel& p = b.low;
  const auto per = static_cast<AmaxPer>(p.graph->field(*p.node, "per").integer);
  const int64_t half = per == AmaxPer::expert_half ? p.columns / 2 : p.columns;
  for (int64_t r = 0; r < p.rows; ++r) {
    for (int64_t n = 0; n < p.columns; ++n) {
      ir::Bound& a = accumulator[n < half ? 0 : 1].value;
      a = max(a, abs(b.in(r, n)));
    }
  }
}

}  // namespace

ir::OpRecord amax() {
  ir::OpRecord r = ir::describe(Amax{});
  r.infer = infer;
  r.reference = {
      .kind = ir::Reference::Kind::reduce, .reduce = reduce, .fold = larger, .reduce_bound = bound};
  r.device_functor = "Amax";
  r.formula = "y = max |x|";
  document(r, {{"per", "what shares one maximum: tensor, expert, expert_half"}});
  return r;
}

}  // namespace ops
}  // namespace cohort
