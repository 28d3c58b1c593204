#include "ops/glu_rules.h"

namespace cohort::ops {

namespace {

void infer(ir::Infer& c) {
  if (c.knows("in")) want_glu_features(c, "in", c.in());
  want_glu_parameters(c);
  if (c.failed()) return;
  keep_glu_parameters(c);
  ir::Value y = c.in();
  y.dtype = DType::f32;
  y.accumulator = false;
  y.shape[1] = ir::Extent{y.shape[1].bound / 2};
  c.result(0, y);
}

void map(const ir::Panel& p) {
  const numerics::GluSpec spec = glu_spec(*p.graph, *p.node);
  const numerics::GluKernels& kernels = numerics::glu_kernels();
  for (int64_t r = 0; r < p.rows; ++r) {
    kernels.forward(spec, p.in.data + r * p.in.stride, p.columns / 2,
                    p.out[0].data + r * p.out[0].stride);
  }
}

void bound(const ir::BoundPanel& b) {
  const numerics::GluSpec spec = glu_spec(*b.low.graph, *b.low.node);
  const int64_t band = numerics::glu_band(spec.packing, b.low.columns);
  for (int64_t r = 0; r < b.low.rows; ++r) {
    for (int64_t i = 0; i < b.low.columns / 2; ++i) {
      const int64_t gate = i / band * 2 * band + i % band;
      const GluBounds k = glu_bounds(spec, b.in(r, gate), b.in(r, gate + band));
      b.put(0, r, i, k.left * k.right);
    }
  }
}

}  // namespace

ir::OpRecord glu() {
  ir::OpRecord r = ir::describe(Glu{.act = GluAct::swiglu, .packing = Packing::split});
  r.infer = infer;
  r.reference = {.kind = ir::Reference::Kind::map, .map = map, .bound = bound};
  r.device_functor = "Glu";
  r.formula = "y = sigmoid(alpha * G) * G * (U + beta), G and U clamped to limit";
  describe_glu_parameters(r);
  return r;
}

}  // namespace cohort::ops
