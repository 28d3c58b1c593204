#include <cmath>
#include <string>

#include "ops/glu_rules.h"

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

// A half is the gate or the up features: which columns those are, the packing says. Features
// without a number split in two where they stand.
void want_packing(ir::Infer& c, AmaxPer per) {
  if (!c.knows("packing")) return;
  const auto packing = c.choice<Packing>("packing");
  const bool split = packing == Packing::split;
  if (per == AmaxPer::expert_half) {
    if (split && c.in().shape[1].symbol != ir::kNone) return;
    return want_glu_features(c, "in", c.in());
  }
  if (split) return;
  c.fail("E-ATTRIBUTE", "packing", -1, "split", std::string(name(packing)),
         "packing is of per expert_half only, per is " + std::string(name(per)));
}

void infer(ir::Infer& c) {
  if (!c.knows({"per", "in"})) return;
  const auto per = c.choice<AmaxPer>("per");
  const ir::Value& x = c.in();
  if (per != AmaxPer::tensor && x.groups == ir::kNone) {
    c.fail("E-GROUPS", "per", -1, "tensor", std::string(name(per)),
           c.describe(x) + " has no groups");
  }
  want_packing(c, per);
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

// Columns of one half that stand together: 0, 1, 0, ... by runs of this many.
int64_t run_of_columns(const ir::Panel& p) {
  const auto per = static_cast<AmaxPer>(p.graph->field(*p.node, "per").integer);
  if (per != AmaxPer::expert_half) return p.columns;
  const auto packing = static_cast<Packing>(p.graph->field(*p.node, "packing").integer);
  return numerics::glu_band(packing, p.columns);
}

void reduce(const ir::Panel& p, double* accumulator) {
  const int64_t run = run_of_columns(p);
  for (int64_t r = 0; r < p.rows; ++r) {
    const float* x = p.in.data + r * p.in.stride;
    for (int64_t n = 0; n < p.columns; ++n) {
      double& a = accumulator[n / run % 2];
      a = larger(a, std::fabs(static_cast<double>(x[n])));
    }
  }
}

void bound(const ir::BoundPanel& b, ir::RowBound* accumulator) {
  const ir::Panel& p = b.low;
  const int64_t run = run_of_columns(p);
  for (int64_t r = 0; r < p.rows; ++r) {
    for (int64_t n = 0; n < p.columns; ++n) {
      ir::Bound& a = accumulator[n / run % 2].value;
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
  document(r, {{"per", "what shares one maximum: tensor, expert, expert_half"},
               {"packing", "where gate and up stand, of expert_half: split, or in bands"}});
  return r;
}

}  // namespace ops
}  // namespace cohort
