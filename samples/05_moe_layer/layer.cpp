#include "layer.h"

#include <utility>

using namespace cohort;

namespace {

constexpr int64_t kMostTokens = 65536;

Glu swiglu() { return {.act = GluAct::swiglu, .packing = Packing::interleaved}; }

}  // namespace

// o[t] = sum over the experts e of t: weight * w2[e] swiglu(w1[e] x[t])
Result<Graph> forward_graph(const LayerShape& s) {
  Builder g("layer_forward");
  Dim T = g.dynamic("T", kMostTokens);
  Dim R = g.dynamic("R", kMostTokens * s.top_k);  // rows of the grouped buffer: T * top_k
  auto x = g.input("x", {T, s.hidden}, DType::bf16);
  auto w1 = g.weights("w1", {s.experts, 2 * s.inter, s.hidden}, DType::bf16);
  auto w2 = g.weights("w2", {s.experts, s.hidden, s.inter}, DType::bf16);
  auto ends = g.groups("ends", s.experts, GroupForm::ends);
  auto token = g.index("token", R);         // of a row
  auto row = g.index("row", {T, s.top_k});  // of each of the token's experts
  auto weight = g.input("weight", {T, s.top_k}, DType::f32);

  auto h = g.add(GroupedGemm{.a = x, .b = w1, .groups = ends, .gather = token});
  auto a = h.then(swiglu()).then(Cast{.to = DType::bf16});
  auto y = g.add(GroupedGemm{.a = a, .b = w2, .groups = ends}).then(Cast{.to = DType::bf16});
  auto o = g.add(Combine{.y = y, .rev = row, .weights = weight});
  g.output("h", h, {.dtype = DType::bf16});
  g.output("o", o, {.dtype = DType::bf16});
  return std::move(g).finish();
}

// Neither y nor a is kept, nor any gathered copy: a comes again out of h, times the routing weight
// so that dw2 needs no y; and the gradient of the routing weight, <d_o, y>, is the same number as
// <w2^T d_o, a>, a sum over n in place of d (arXiv 2512.14080).
Result<Graph> backward_graph(const LayerShape& s) {
  Builder g("layer_backward");
  Dim T = g.dynamic("T", kMostTokens);
  Dim R = g.dynamic("R", kMostTokens * s.top_k);
  auto d_o = g.input("d_o", {T, s.hidden}, DType::bf16);
  auto x = g.input("x", {T, s.hidden}, DType::bf16);
  auto h = g.input("h", {R, 2 * s.inter}, DType::bf16);
  // The bytes of the forward's weights, contracted over their other axis.
  auto w1 = g.weights("w1", {s.experts, s.hidden, 2 * s.inter}, DType::bf16, {.major = Major::n});
  auto w2 = g.weights("w2", {s.experts, s.inter, s.hidden}, DType::bf16, {.major = Major::n});
  auto ends = g.groups("ends", s.experts, GroupForm::ends);
  auto token = g.index("token", R);
  auto row = g.index("row", {T, s.top_k});

  auto act = DGlu::of(swiglu(), g.add(Load{.x = h, .groups = ends}));
  act.prob = g.row_input("row_weight", R);
  auto d = g.add(GroupedGemm{.a = d_o, .b = w2, .groups = ends, .gather = token}).then(act);
  auto dh = d.then(Cast{.to = DType::bf16});
  auto a = d.act_out.then(Cast{.to = DType::bf16});
  auto dx = g.add(GroupedGemm{.a = dh, .b = w1, .groups = ends}).then(Cast{.to = DType::bf16});
  g.output("dx", g.add(Combine{.y = dx, .rev = row}), {.dtype = DType::bf16});
  g.output("dw1", g.add(GroupedWgrad{.a = dh, .b = x, .groups = ends, .gather_b = token}));
  g.output("dw2", g.add(GroupedWgrad{.a = d_o, .b = a, .groups = ends, .gather_a = token}));
  g.output("d_weight", d.dprob);
  return std::move(g).finish();
}
