// The calls of Megatron-LM's squared-ReLU MXFP8 training step, a graph each. Transformer Engine
// makes them for GroupedLinear, ScaledSReLU, GroupedLinear. The command bundles some of them
// (`cohort sample`).
#pragma once

#include <cohort/cohort.h>

#include <cstdint>

/// The layer, and how its step is run.
struct StepSpec {
  int64_t experts = 4;
  int64_t hidden = 128;   ///< d
  int64_t inter = 192;    ///< n
  bool keep = true;       ///< d along columns is kept for the gradient of w2, not made again.
  bool discrete = false;  ///< Weights and their gradients: one pointer an expert.
};

/// Rows and columns of a bf16 tensor in MXFP8: the step's x and dy.
cohort::Result<cohort::Graph> quantize_graph(const StepSpec& s, int64_t features);

/// F1: FC1 and activation.
cohort::Result<cohort::Graph> fc1_graph(const StepSpec& s);

/// F2: FC2, with a bias that is scaled by the routing probability.
cohort::Result<cohort::Graph> fc2_graph(const StepSpec& s);

/// What FC2's scaled bias adds: its gradient and its term of the probability's gradient.
cohort::Result<cohort::Graph> bias_graph(const StepSpec& s);

/// B1: through FC2 and activation. Makes d along columns from c where it is not kept.
cohort::Result<cohort::Graph> d_act_graph(const StepSpec& s);

/// B2: the gradient of a weight (out, in), added to main_grad.
cohort::Result<cohort::Graph> wgrad_graph(const StepSpec& s, int64_t out, int64_t in);

/// B3: through FC1.
cohort::Result<cohort::Graph> dgrad_graph(const StepSpec& s);
