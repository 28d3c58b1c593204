// The calls of Megatron-LM's squared-ReLU MXFP8 training step, a graph each. Transformer Engine
// makes them for GroupedLinear, ScaledSReLU, GroupedLinear.
#pragma once

#include <cohort/cohort.h>

#include <cstdint>

inline constexpr int64_t kExperts = 4;
inline constexpr int64_t kHidden = 128;  ///< d
inline constexpr int64_t kInter = 192;   ///< n

/// How the step is run.
struct Variant {
  bool keep = true;       ///< d along columns is kept for the gradient of w2, not made again.
  bool discrete = false;  ///< Weights and their gradients: one pointer an expert.
};

/// Rows and columns of a bf16 tensor in MXFP8: the step's x and dy.
cohort::Result<cohort::Graph> quantize_graph(int64_t features);

/// F1: FC1 and activation.
cohort::Result<cohort::Graph> fc1_graph(Variant v);

/// F2: FC2, with a bias that is scaled by the routing probability.
cohort::Result<cohort::Graph> fc2_graph(Variant v);

/// What FC2's scaled bias adds: its gradient and its term of the probability's gradient.
cohort::Result<cohort::Graph> bias_graph();

/// B1: through FC2 and activation. Makes d along columns from c where it is not kept.
cohort::Result<cohort::Graph> d_act_graph(Variant v);

/// B2: the gradient of a weight (out, in), added to main_grad.
cohort::Result<cohort::Graph> wgrad_graph(int64_t out, int64_t in, Variant v);

/// B3: through FC1.
cohort::Result<cohort::Graph> dgrad_graph(Variant v);
