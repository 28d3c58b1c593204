// Bundled graphs of whole layers: a bf16 layer forward and backward (sample 05), and the calls of
// the squared-ReLU MXFP8 training step (sample 06).
#include <array>

#include "cli/sample_list.h"

namespace cohort::cli {

namespace {

constexpr int64_t kExperts = 8;
constexpr int64_t kTopK = 4;
constexpr int64_t kHidden = 512;
constexpr int64_t kInter = 384;
constexpr int64_t kMostTokens = 65536;
constexpr Format kMx = Format::mxfp8_e4m3;

Glu swiglu() { return {.act = GluAct::swiglu, .packing = Packing::interleaved}; }

Result<Graph> layer_forward() {
  Builder g("layer_forward");
  Dim T = g.dynamic("T", kMostTokens);
  Dim R = g.dynamic("R", kTopK * kMostTokens);
  auto x = g.input("x", {T, kHidden}, DType::bf16);
  auto w1 = g.weights("w1", {kExperts, 2 * kInter, kHidden}, DType::bf16);
  auto w2 = g.weights("w2", {kExperts, kHidden, kInter}, DType::bf16);
  auto ends = g.groups("ends", kExperts, GroupForm::ends);
  auto h = g.add(GroupedGemm{.a = x, .b = w1, .groups = ends, .gather = g.index("token", R)});
  auto a = h.then(swiglu()).then(Cast{.to = DType::bf16});
  auto y = g.add(GroupedGemm{.a = a, .b = w2, .groups = ends}).then(Cast{.to = DType::bf16});
  auto o = g.add(Combine{.y = y,
                         .rev = g.index("row", {T, kTopK}),
                         .weights = g.input("weight", {T, kTopK}, DType::f32)});
  g.output("h", h, {.dtype = DType::bf16});
  g.output("o", o, {.dtype = DType::bf16});
  return std::move(g).finish();
}

Result<Graph> layer_backward() {
  Builder g("layer_backward");
  Dim T = g.dynamic("T", kMostTokens);
  Dim R = g.dynamic("R", kTopK * kMostTokens);
  auto d_o = g.input("d_o", {T, kHidden}, DType::bf16);
  auto x = g.input("x", {T, kHidden}, DType::bf16);
  auto h = g.input("h", {R, 2 * kInter}, DType::bf16);
  const WeightOptions other{.major = Major::n};
  auto w1 = g.weights("w1", {kExperts, kHidden, 2 * kInter}, DType::bf16, other);
  auto w2 = g.weights("w2", {kExperts, kInter, kHidden}, DType::bf16, other);
  auto ends = g.groups("ends", kExperts, GroupForm::ends);
  auto token = g.index("token", R);
  auto act = DGlu::of(swiglu(), g.add(Load{.x = h, .groups = ends}));
  act.prob = g.row_input("row_weight", R);
  auto d = g.add(GroupedGemm{.a = d_o, .b = w2, .groups = ends, .gather = token}).then(act);
  auto dh = d.then(Cast{.to = DType::bf16});
  auto a = d.act_out.then(Cast{.to = DType::bf16});
  auto dx = g.add(GroupedGemm{.a = dh, .b = w1, .groups = ends}).then(Cast{.to = DType::bf16});
  g.output("dx", g.add(Combine{.y = dx, .rev = g.index("row", {T, kTopK})}),
           {.dtype = DType::bf16});
  g.output("dw1", g.add(GroupedWgrad{.a = dh, .b = x, .groups = ends, .gather_b = token}));
  g.output("dw2", g.add(GroupedWgrad{.a = d_o, .b = a, .groups = ends, .gather_a = token}));
  g.output("d_weight", d.dprob);
  return std::move(g).finish();
}

Groups padded(Builder& g) {
  return g.groups("ends", kExperts, GroupForm::ends, {.row_alignment = 256});
}
Alpha ones(Builder& g) { return {.by = g.group_input("alpha", kExperts, DType::bf16)}; }

Result<Graph> srelu_fc1() {
  Builder g("srelu_fc1");
  Dim T = g.dynamic("T", kMostTokens);
  auto x = g.scaled_input("x", {T, kHidden}, kMx);
  auto w1 = g.scaled_weights("w1", {kExperts, kInter, kHidden}, kMx);
  auto c = g.add(GroupedGemm{.a = x, .b = w1, .groups = padded(g)})
               .then(ones(g))
               .then(Bias{.by = g.group_matrix("b1", {kExperts, kInter}, DType::bf16)});
  auto d = c.then(ReluSquared{})
               .then(RowGate{.by = g.row_input("prob", T, DType::bf16)})
               .then(Quantize{.to = kMx, .axes = Axes::both});
  g.output("c", c, {.dtype = DType::bf16});
  g.output("d", d.row);
  g.output("d_t", d.col);
  return std::move(g).finish();
}

Result<Graph> srelu_fc2() {
  Builder g("srelu_fc2");
  Dim T = g.dynamic("T", kMostTokens);
  auto d = g.scaled_input("d", {T, kInter}, kMx);
  auto w2 = g.scaled_weights("w2", {kExperts, kHidden, kInter}, kMx);
  auto y = g.add(GroupedGemm{.a = d, .b = w2, .groups = padded(g)})
               .then(ones(g))
               .then(Bias{.by = g.group_matrix("b2", {kExperts, kHidden}, DType::bf16),
                          .scaled_by = g.row_input("prob", T, DType::bf16)});
  g.output("y", y, {.dtype = DType::bf16});
  return std::move(g).finish();
}

Result<Graph> srelu_wgrad() {
  Builder g("srelu_wgrad");
  Dim T = g.dynamic("T", kMostTokens);
  auto dy = g.scaled_input("dy", {T, kHidden}, kMx, {.axis = Axes::col});
  auto d = g.scaled_input("d", {T, kInter}, kMx, {.axis = Axes::col});
  auto main_grad = g.weights("main_grad", {kExperts, kHidden, kInter}, DType::f32);
  g.output("dw",
           g.add(GroupedWgrad{.a = dy, .b = d, .groups = padded(g), .accumulate = main_grad}));
  return std::move(g).finish();
}

Result<Graph> srelu_dgrad() {
  Builder g("srelu_dgrad");
  Dim T = g.dynamic("T", kMostTokens);
  auto dc = g.scaled_input("dc", {T, kInter}, kMx);
  auto w1 = g.scaled_weights("w1_t", {kExperts, kHidden, kInter}, kMx, {.major = Major::n});
  auto dx = g.add(GroupedGemm{.a = dc, .b = w1, .groups = padded(g)}).then(ones(g));
  g.output("dx", dx, {.dtype = DType::bf16});
  return std::move(g).finish();
}

constexpr std::array kSamples{
    Sample{"layer_forward", "a bf16 layer: gather, FC1, SwiGLU, FC2, combine", layer_forward},
    Sample{"layer_backward", "gradients of that layer, from x and the pre-activation alone",
           layer_backward},
    Sample{"srelu_fc1", "MXFP8 training, FC1: bias, squared ReLU, gate, both axes", srelu_fc1},
    Sample{"srelu_fc2", "MXFP8 training, FC2: bias scaled by the gate", srelu_fc2},
    Sample{"srelu_wgrad", "MXFP8 training: gradient of a weight, added to f32", srelu_wgrad},
    Sample{"srelu_dgrad", "MXFP8 training: gradient of tokens, weight along columns", srelu_dgrad},
};

}  // namespace

std::span<const Sample> layer_samples() { return kSamples; }

}  // namespace cohort::cli
