// Bundled graphs of whole layers: those of samples 05 and 06, larger.
#include <array>

#include "cli/sample_list.h"
#include "samples/05_moe_layer/layer.h"
#include "samples/06_megatron_srelu/graphs.h"

namespace cohort::cli {

namespace {

constexpr LayerShape kLayer{.hidden = 512, .inter = 384, .experts = 8, .top_k = 4};
constexpr StepSpec kStep{.experts = 8, .hidden = 512, .inter = 384};

Result<Graph> layer_forward() { return forward_graph(kLayer); }
Result<Graph> layer_backward() { return backward_graph(kLayer); }
Result<Graph> srelu_fc1() { return fc1_graph(kStep); }
Result<Graph> srelu_fc2() { return fc2_graph(kStep); }
Result<Graph> srelu_wgrad() { return wgrad_graph(kStep, kStep.hidden, kStep.inter); }
Result<Graph> srelu_dgrad() { return dgrad_graph(kStep); }

constexpr std::array kLayerSamples{
    Sample{"layer_forward", "a bf16 layer: gather, FC1, SwiGLU, FC2, combine", layer_forward},
    Sample{"layer_backward", "gradients of that layer, from x and the pre-activation alone",
           layer_backward},
    Sample{"srelu_fc1", "MXFP8 training, FC1: bias, squared ReLU, gate, both axes", srelu_fc1},
    Sample{"srelu_fc2", "MXFP8 training, FC2: bias scaled by the gate", srelu_fc2},
    Sample{"srelu_wgrad", "MXFP8 training: gradient of a weight, added to f32", srelu_wgrad},
    Sample{"srelu_dgrad", "MXFP8 training: gradient of tokens, weight along columns", srelu_dgrad},
};

}  // namespace

std::span<const Sample> layer_samples() { return kLayerSamples; }

}  // namespace cohort::cli
