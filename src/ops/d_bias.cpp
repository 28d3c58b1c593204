#include <limits>

#include "ir/bound.h"
#include "ops/rules.h"

namespace cohort::ops {

namespace {

void infer(ir::Infer& c) {
  want_row_vector(c, "scaled_by");
  if (c.failed()) return;
  const ir::Value x = grouped(c, {"scaled_by"});
  const ir::Extent groups = x.groups == ir::kNone
                                ? ir::Extent{1}
                                : c.graph().values[static_cast<size_t>(x.groups)].shape[0];
  ir::Value y;
  y.shape = {groups, x.shape[1]};
  c.result(0, y);
}

void reduce(const ir::Panel& p, double* accumulator) {
  const float* scale = p.operand[0].data;
  for (int64_t r = 0; r < p.rows; ++r) {
    const float* x = p.in.data + r * p.in.stride;
    const double s = scale == nullptr ? 1 : static_cast<double>(scale[r]);
    for (int64_t n = 0; n < p.columns; ++n) accumulator[n] += s * static_cast<double>(x[n]);
  }
}

void bound(const ir::BoundPanel& b, ir::RowBound* accumulator) {
  for (int64_t r = 0; r < b.low.rows; ++r) {
    for (int64_t n = 0; n < b.low.columns; ++n) {
      const ir::Bound x = b.in(r, n);
      const ir::Bound scale = b.has(0) ? b.operand(0, r) : ir::Bound(1.0);
      // NaN stays NaN: the sum of it is no number that nothing is known of.
      const bool is_nan = x.is_nan() || scale.is_nan();
      if (is_nan) {
        accumulator[n].add(std::numeric_limits<double>::quiet_NaN());
      } else {
        accumulator[n].add(b.has(0) ? scale * x : x);
      }
    }
  }
}

double fold(double a, double b) { return a + b; }

}  // namespace

ir::OpRecord d_bias() {
  ir::OpRecord r = ir::describe(DBias{});
  r.infer = infer;
  r.reference = {
      .kind = ir::Reference::Kind::reduce, .reduce = reduce, .fold = fold, .reduce_bound = bound};
  r.device_functor = "DBias";
  r.formula = "y[g][n] = sum over rows m of g of x[m,n], or of scaled_by[m] * x[m,n]";
  document(r, {{"scaled_by", "(T): multiplies each row; the gradient of a bias scaled by it"}});
  return r;
}

}  // namespace cohort::ops
