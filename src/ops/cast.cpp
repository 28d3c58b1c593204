#include <string>

#include "numerics/codec.h"
#include "ops/rules.h"

namespace cohort::ops {

namespace {

void infer(ir::Infer& c) {
  using enum DType;
  const auto to = c.knows("to") ? c.choice<DType>("to") : f32;
  if (to != f32 && to != f16 && to != bf16 && to != e4m3 && to != e5m2) {
    c.fail("E-DTYPE", "to", -1, "f32, f16, bf16, e4m3 or e5m2", std::string(name(to)),
           "cannot round to " + std::string(name(to)), "blocks with scales are made by Quantize");
  }
  c.want_dtype("scale", {f32, bf16});
  if (c.failed()) return;
  ir::Value y = c.in();
  y.dtype = to;
  y.accumulator = false;
  c.result(0, y);
}

void map(const ir::Panel& p) {
  const auto to = static_cast<DType>(p.graph->field(*p.node, "to").integer);
  const float* scale = p.operand[1].data;
  const float s = scale == nullptr ? 1.0f : *scale;
  each(p, [&](float x, int64_t, int64_t) {
    return numerics::round_to(to, scale == nullptr ? x : x * s);
  });
}

}  // namespace

ir::OpRecord cast() {
  ir::OpRecord r = ir::describe(Cast{.to = DType::f32});
  r.infer = infer;
  r.reference = {.kind = ir::Reference::Kind::map, .map = map, .monotone = true};
  r.device_functor = "Cast";
  r.formula = "y = round(x), or round(round_f32(x * scale))";
  document(r, {{"to", "f32, f16, bf16, e4m3 or e5m2"},
               {"scale", "one number that multiplies first: fp8 with a given scale"}});
  return r;
}

}  // namespace cohort::ops
