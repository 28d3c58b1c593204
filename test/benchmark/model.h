// A whole model as one graph: every layer has a mixture of experts and a shared expert, forward
// and backward, 26 ops a layer.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>

#include <cohort/cohort.h>

namespace cohort::benchmarks {

struct ModelShape {
  int64_t layers = 60;
  int64_t hidden = 4096;
  int64_t inter = 1536;
  int64_t experts = 128;
  int64_t top_k = 8;
};

/// What all layers share.
struct ModelInputs {
  Tensor x;  ///< Tokens; the residual stream of the first layer.
  Tensor d_out;
  Groups ends;
  Index token;
  Index row;
  Tensor weight;
  RowVec row_weight;
};

inline void add_layer(Builder& g, const ModelShape& s, const ModelInputs& in, int64_t number) {
  const std::string p = "layers." + std::to_string(number) + ".";
  const auto bf16 = Cast{.to = DType::bf16};
  const auto w1 = g.weights(p + "w1", {s.experts, 2 * s.inter, s.hidden}, DType::bf16);
  const auto w2 = g.weights(p + "w2", {s.experts, s.hidden, s.inter}, DType::bf16);
  const WeightOptions turned{.major = Major::n};
  const auto v1 = g.weights(p + "v1", {s.experts, s.hidden, 2 * s.inter}, DType::bf16, turned);
  const auto v2 = g.weights(p + "v2", {s.experts, s.inter, s.hidden}, DType::bf16, turned);
  const auto shared1 = g.input(p + "shared1", {2 * s.inter, s.hidden}, DType::bf16);
  const auto shared2 = g.input(p + "shared2", {s.hidden, s.inter}, DType::bf16);
  const Glu glu{.act = GluAct::swiglu, .packing = Packing::bands32};

  const auto h = g.add(GroupedGemm{.a = in.x, .b = w1, .groups = in.ends, .gather = in.token});
  const auto h16 = h.then(bf16);
  const auto y = g.add(GroupedGemm{.a = h16.then(glu).then(bf16), .b = w2, .groups = in.ends});
  const auto shared = g.add(Matmul{.a = in.x, .b = shared1}).then(glu).then(bf16);
  const auto z = g.add(Matmul{.a = shared, .b = shared2}).then(bf16);
  const auto out = g.add(Combine{.y = y.then(bf16), .rev = in.row, .weights = in.weight})
                       .then(Add{.c = z})
                       .then(Add{.c = g.add(Load{.x = in.x})});
  g.output(p + "out", out, {.dtype = DType::bf16});

  auto act = DGlu::of(glu, h16);
  act.prob = in.row_weight;
  const auto d =
      g.add(GroupedGemm{.a = in.d_out, .b = v2, .groups = in.ends, .gather = in.token}).then(act);
  const auto dh = d.then(bf16);
  const auto a = d.act_out.then(bf16);
  const auto dx = g.add(GroupedGemm{.a = dh, .b = v1, .groups = in.ends}).then(bf16);
  const auto into =
      g.add(Combine{.y = dx, .rev = in.row}).then(Add{.c = g.add(Load{.x = in.d_out})});
  g.output(p + "dx", into, {.dtype = DType::bf16});
  g.output(p + "dw1",
           g.add(GroupedWgrad{.a = dh, .b = in.x, .groups = in.ends, .gather_b = in.token}));
  g.output(p + "dw2",
           g.add(GroupedWgrad{.a = in.d_out, .b = a, .groups = in.ends, .gather_a = in.token}));
  g.output(p + "d_weight", d.dprob);
}

/// A graph of a whole model, forward and backward.
inline Graph model(const ModelShape& s) {
  Builder g("model");
  const Dim t = g.dynamic("T", 65536);
  const Dim r = g.dynamic("R", 65536 * s.top_k);
  const ModelInputs in{g.input("x", {t, s.hidden}, DType::bf16),
                       g.input("d_out", {t, s.hidden}, DType::bf16),
                       g.groups("ends", s.experts, GroupForm::ends),
                       g.index("token", r),
                       g.index("row", {t, s.top_k}),
                       g.input("weight", {t, s.top_k}, DType::f32),
                       g.row_input("row_weight", r)};
  for (int64_t i = 0; i < s.layers; ++i) add_layer(g, s, in, i);
  Result<Graph> graph = std::move(g).finish();
  if (!graph) std::abort();
  return *std::move(graph);
}

}  // namespace cohort::benchmarks
