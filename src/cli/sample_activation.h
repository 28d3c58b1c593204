// Bundled graphs of activations and their backwards.
#pragma once

#include <cohort/cohort.h>

namespace cohort::cli {

Result<Graph> swiglu_split();
Result<Graph> swiglu_interleaved();
Result<Graph> swiglu_gpt_oss();
Result<Graph> swiglu_glm();
Result<Graph> geglu_bands32();
Result<Graph> situ_bands8();
Result<Graph> d_swiglu_act_out();
Result<Graph> d_gpt_oss_fc2_bias();
Result<Graph> d_srelu_grad_acc();
Result<Graph> d_srelu_recompute();

}  // namespace cohort::cli
