#include "ops/glu_rules.h"

#include <limits>
#include <string>

namespace cohort::ops {

using Kind = ir::FieldValue::Kind;

void want_glu_parameters(ir::Infer& c) {
  if (!c.knows("act")) return;
  const bool situ = c.choice<GluAct>("act") == GluAct::situ;
  const auto want_absent = [&](const char* field) {
    if (!c.has(field) || !c.knows(field)) return;
    const std::string act(name(c.choice<GluAct>("act")));
    c.fail("E-ATTRIBUTE", field, -1, "null", std::to_string(c.field(field).real),
           act + " has no " + field);
  };
  for (const char* field : {"alpha", "beta", "limit"}) {
    if (situ) want_absent(field);
  }
  for (const char* field : {"gate_bound", "up_bound"}) {
    if (!situ) want_absent(field);
  }
}

void want_glu_features(ir::Infer& c, std::string_view field, const ir::Value& value) {
  if (!c.knows("packing")) return;
  const auto packing = c.choice<Packing>("packing");
  const ir::Extent features = value.shape[1];
  const int64_t unit = packing == Packing::split ? 2 : 2 * numerics::glu_band(packing, 0);
  if (features.symbol == ir::kNone && features.bound % unit == 0) return;
  const std::string wanted = "a multiple of " + std::to_string(unit) + " features";
  c.fail("E-SHAPE", field, 1, wanted, c.text(features),
         "packing " + std::string(name(packing)) + ": wanted " + wanted + ", " + c.describe(value) +
             " has " + c.text(features));
}

namespace {

// The parameters that an activation has when none is given.
numerics::GluSpec usual_spec(GluAct act) {
  const bool quick = act == GluAct::geglu;
  numerics::GluSpec s;
  s.act = act;
  s.alpha = quick ? 1.702f : 1.0f;
  s.beta = quick ? 1.0f : 0.0f;
  s.limit = quick ? 7.0f : std::numeric_limits<float>::infinity();
  s.gate_bound = 4.0f;
  s.up_bound = 25.0f;
  return s;
}

}  // namespace

void keep_glu_parameters(ir::Infer& c) {
  const numerics::GluSpec usual = usual_spec(c.choice<GluAct>("act"));
  c.keep_nothing_for("alpha", usual.alpha);
  c.keep_nothing_for("beta", usual.beta);
  c.keep_nothing_for("limit", usual.limit);
  c.keep_nothing_for("gate_bound", usual.gate_bound);
  c.keep_nothing_for("up_bound", usual.up_bound);
}

numerics::GluSpec glu_spec(const ir::Graph& graph, const ir::Node& node) {
  numerics::GluSpec s = usual_spec(static_cast<GluAct>(graph.field(node, "act").integer));
  s.packing = static_cast<Packing>(graph.field(node, "packing").integer);
  const auto given = [&](const char* field, float otherwise) {
    const ir::FieldValue& v = graph.field(node, field);
    return v.kind == Kind::none ? otherwise : v.real;
  };
  s.alpha = given("alpha", s.alpha);
  s.beta = given("beta", s.beta);
  s.limit = given("limit", s.limit);
  s.gate_bound = given("gate_bound", s.gate_bound);
  s.up_bound = given("up_bound", s.up_bound);
  return s;
}

namespace {

// A gradient that is 0 where the saved value lies outside of its range.
ir::Bound masked(ir::Bound d, ir::Bound saved, double low, double high) {
  if (saved.is_nan() || (saved.low >= low && saved.high <= high)) return d;
  if (saved.high < low || saved.low > high) return 0.0;
  return hull(d, 0.0);
}

}  // namespace

GluBounds glu_bounds(const numerics::GluSpec& k, ir::Bound gate, ir::Bound up) {
  const auto number = [](float x) { return ir::Bound(static_cast<double>(x)); };
  const ir::Bound one = 1.0;
  if (k.act == GluAct::situ) {
    const ir::Bound s = sigmoid(gate);
    const ir::Bound t = tanh(gate / number(k.gate_bound));
    const ir::Bound v = tanh(up / number(k.up_bound));
    const ir::Bound gb = number(k.gate_bound) * t;
    return {gb * s, number(k.up_bound) * v, s * ((one - t) * (one + t) + gb * (one - s)),
            (one - v) * (one + v)};
  }
  const auto limit = static_cast<double>(k.limit);
  const ir::Bound g = min(gate, limit);
  const ir::Bound u = max(min(up, limit), -limit);
  const ir::Bound s = sigmoid(number(k.alpha) * g);
  const ir::Bound slope = s * (one + number(k.alpha) * g * (one - s));
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  return {s * g, u + number(k.beta), masked(slope, gate, -kInfinity, limit),
          masked(one, up, -limit, limit)};
}

void describe_glu_parameters(ir::OpRecord& r) {
  using limits = std::numeric_limits<float>;
  range(r, "alpha", limits::lowest(), limits::max());
  range(r, "beta", limits::lowest(), limits::max());
  range(r, "limit", limits::min(), limits::infinity());
  range(r, "gate_bound", limits::min(), limits::max());
  range(r, "up_bound", limits::min(), limits::max());
  document(r, {{"act", "which activation: swiglu, geglu, situ"},
               {"packing", "how gate and up stand: split, interleaved, bands8, bands32"},
               {"alpha", "slope in the sigmoid; default 1 (swiglu), 1.702 (geglu)"},
               {"beta", "added to up; default 0 (swiglu), 1 (geglu)"},
               {"limit", "gate <= limit, |up| <= limit; default infinity (swiglu), 7 (geglu)"},
               {"gate_bound", "situ only; default 4"},
               {"up_bound", "situ only; default 25"}});
}

}  // namespace cohort::ops
