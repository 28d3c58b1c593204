#include "cli/sample_activation.h"

#include <string_view>

#include "cli/sample_list.h"

namespace cohort::cli {

namespace {

constexpr int64_t kHidden = 512;
constexpr int64_t kInter = 256;

// FC1 with a gated activation; the pre-activation is saved.
Result<Graph> fc1(std::string_view name, const Glu& op, bool has_bias) {
  Builder g(name);
  Dim T = g.dynamic("T", 65536);
  auto x = g.input("x", {T, kHidden}, DType::bf16);
  auto w = g.weights("w1", {kExperts, 2 * kInter, kHidden}, DType::bf16);
  auto ends = g.groups("ends", kExperts, GroupForm::ends);
  auto h = g.add(GroupedGemm{.a = x, .b = w, .groups = ends});
  if (has_bias) {
    h = h.then(Bias{.by = g.group_matrix("b1", {kExperts, 2 * kInter}, DType::bf16)});
  }
  g.output("h", h, {.dtype = DType::bf16});
  g.output("y", h.then(op).then(RowGate{.by = g.row_input("prob", T)}), {.dtype = DType::bf16});
  return std::move(g).finish();
}

// The backward of FC2 and the activation: what a layer needs that kept only x and h. `d_out` holds
// a row a token, R rows are routed to experts.
Result<Graph> d_fc2(std::string_view name, const Glu& forward, bool has_bias) {
  Builder g(name);
  Dim T = g.dynamic("T", 65536);
  Dim R = g.dynamic("R", int64_t{4} * 65536);
  auto d_out = g.input("d_out", {T, kHidden}, DType::bf16);
  auto w2 = g.weights("w2", {kExperts, kInter, kHidden}, DType::bf16, {.major = Major::n});
  auto ends = g.groups("ends", kExperts, GroupForm::ends);
  auto token = g.index("token", R);
  auto h = g.add(Load{.x = g.input("h", {R, 2 * kInter}, DType::bf16), .groups = ends});
  DGlu op = DGlu::of(forward, h);
  op.prob = g.row_input("prob", R);
  if (has_bias) {
    auto b2 = g.weights("b2", {kExperts, 1, kHidden}, DType::bf16);
    op.dprob_add =
        RowTerm(g.add(GroupedGemm{.a = d_out, .b = b2, .groups = ends, .gather = token}));
  }
  auto d = g.add(GroupedGemm{.a = d_out, .b = w2, .groups = ends, .gather = token}).then(op);
  g.output("dh", d, {.dtype = DType::bf16});
  g.output("dprob", d.dprob);
  g.output("act", d.act_out, {.dtype = DType::bf16});
  return std::move(g).finish();
}

}  // namespace

Result<Graph> swiglu_split() {
  return fc1("swiglu_split", {.act = GluAct::swiglu, .packing = Packing::split}, false);
}
Result<Graph> swiglu_interleaved() {
  return fc1("swiglu_interleaved", {.act = GluAct::swiglu, .packing = Packing::interleaved}, false);
}
Result<Graph> swiglu_gpt_oss() {
  return fc1("swiglu_gpt_oss", Glu::gpt_oss(Packing::interleaved), true);
}
Result<Graph> swiglu_glm() { return fc1("swiglu_glm", Glu::clamped(Packing::split, 10.0f), false); }
Result<Graph> geglu_bands32() {
  return fc1("geglu_bands32", {.act = GluAct::geglu, .packing = Packing::bands32}, false);
}
Result<Graph> situ_bands8() {
  return fc1("situ_bands8", {.act = GluAct::situ, .packing = Packing::bands8}, false);
}
Result<Graph> d_swiglu_act_out() {
  return d_fc2("d_swiglu_act_out", {.act = GluAct::swiglu, .packing = Packing::interleaved}, false);
}
Result<Graph> d_gpt_oss_fc2_bias() {
  return d_fc2("d_gpt_oss_fc2_bias", Glu::gpt_oss(Packing::interleaved), true);
}

Result<Graph> d_srelu_grad_acc() {
  Builder g("d_srelu_grad_acc");
  Dim T = g.dynamic("T", 65536);
  auto dy = g.scaled_input("dy", {T, kHidden}, Format::mxfp8_e4m3);
  auto w2 = g.scaled_weights("w2", {kExperts, kInter, kHidden}, Format::mxfp8_e4m3);
  auto ends = g.groups("ends", kExperts, GroupForm::ends, {.row_alignment = 256});
  auto c = g.add(Load{.x = g.input("c", {T, kInter}, DType::bf16), .groups = ends});
  auto d = g.add(GroupedGemm{.a = dy, .b = w2, .groups = ends})
               .then(DReluSquared{.c = c, .prob = g.row_input("prob", T)});
  auto q = d.then(Quantize{.to = Format::mxfp8_e4m3, .axes = Axes::both});
  g.output("d", q.row);
  g.output("d_t", q.col);
  g.output("dprob", d.dprob);
  // The operand of FC2's weight gradient, made again so that the forward need not keep it.
  auto act = d.d_srelu.then(Quantize{.to = Format::mxfp8_e4m3, .axes = Axes::col});
  g.output("act_t", act.col);
  return std::move(g).finish();
}

Result<Graph> d_srelu_recompute() {
  Builder g("d_srelu_recompute");
  Dim T = g.dynamic("T", 65536);
  auto x = g.input("x", {T, kHidden}, DType::bf16);
  auto w1 = g.weights("w1", {kExperts, kInter, kHidden}, DType::bf16);
  auto ends = g.groups("ends", kExperts, GroupForm::ends);
  auto gradient = g.add(Load{.x = g.input("dy", {T, kInter}, DType::bf16), .groups = ends});
  auto d = g.add(GroupedGemm{.a = x, .b = w1, .groups = ends})
               .then(DReluSquared{.c = gradient, .mode = DReluSquaredMode::recompute});
  g.output("d", d, {.dtype = DType::bf16});
  return std::move(g).finish();
}

}  // namespace cohort::cli
