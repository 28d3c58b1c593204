// What glu and d_glu share: their parameters, and which of them an activation has.
#pragma once

#include "numerics/glu.h"
#include "ops/rules.h"

namespace cohort::ops {

/// E-ATTRIBUTE for parameters that the activation does not have.
void want_glu_parameters(ir::Infer& c);
/// A parameter that stands for what the activation has without it is kept as left out; only without
/// findings.
void keep_glu_parameters(ir::Infer& c);
/// E-SHAPE unless `features` (gate and up together) is a number that the packing divides.
void want_glu_features(ir::Infer& c, std::string_view field, const ir::Value& value);
/// The parameters of a node, defaults filled in.
[[nodiscard]] numerics::GluSpec glu_spec(const ir::Graph& graph, const ir::Node& node);
/// The ends of an activation = left * right, and of the derivatives of its factors.
struct GluBounds {
  ir::Bound left, right, d_left, d_right;
};
[[nodiscard]] GluBounds glu_bounds(const numerics::GluSpec& spec, ir::Bound gate, ir::Bound up);
/// Documents and bounds the parameters.
void describe_glu_parameters(ir::OpRecord& record);

}  // namespace cohort::ops
