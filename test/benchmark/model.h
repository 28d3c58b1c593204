// A whole model as one graph: every layer has a mixture of experts and a shared expert, and feeds
// the next one; gradients go back through all of them. 35 ops a layer.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

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
  Groups ends;
  Groups all;  ///< One group of every token: the shared expert.
  Index token;
  Index row;
  Tensor weight;
  RowVec row_weight;
};

/// Weights of a layer, and what its backward reads again. `v1` and `v2` are `w1` and `w2` as the
/// products of the backward read them.
struct ModelLayer {
  Weights w1, w2, v1, v2;
  Tensor shared1, shared2;
  Maybe<Value> x{}, h{}, shared_h{}, shared_act{};
};

inline const Cast kBf16{.to = DType::bf16};
inline const Glu kGlu{.act = GluAct::swiglu, .packing = Packing::bands32};

inline ModelLayer layer_weights(Builder& g, const ModelShape& s, const std::string& p) {
  const WeightOptions turned{.major = Major::n};
  return {g.weights(p + "w1", {s.experts, 2 * s.inter, s.hidden}, DType::bf16),
          g.weights(p + "w2", {s.experts, s.hidden, s.inter}, DType::bf16),
          g.weights(p + "v1", {s.experts, s.hidden, 2 * s.inter}, DType::bf16, turned),
          g.weights(p + "v2", {s.experts, s.inter, s.hidden}, DType::bf16, turned),
          g.input(p + "shared1", {2 * s.inter, s.hidden}, DType::bf16),
          g.input(p + "shared2", {s.hidden, s.inter}, DType::bf16)};
}

/// The next layer's x.
inline Value forward(Builder& g, const ModelInputs& in, ModelLayer& l, const Value& x) {
  const auto h =
      g.add(GroupedGemm{.a = x, .b = l.w1, .groups = in.ends, .gather = in.token}).then(kBf16);
  const auto act = h.then(kGlu).then(kBf16);
  const auto y = g.add(GroupedGemm{.a = act, .b = l.w2, .groups = in.ends}).then(kBf16);
  const auto shared_h = g.add(Matmul{.a = x, .b = l.shared1}).then(kBf16);
  const auto shared_act = shared_h.then(kGlu).then(kBf16);
  const auto z = g.add(Matmul{.a = shared_act, .b = l.shared2}).then(kBf16);
  l.x = x;
  l.h = h;
  l.shared_h = shared_h;
  l.shared_act = shared_act;
  return g.add(Combine{.y = y, .rev = in.row, .weights = in.weight})
      .then(Add{.c = z})
      .then(Add{.c = x})
      .then(kBf16);
}

/// The gradient of the layer's x from that of its result.
inline Value backward(Builder& g, const ModelInputs& in, const ModelLayer& l, const Value& d,
                      const std::string& p) {
  auto routed = DGlu::of(kGlu, *l.h);
  routed.prob = in.row_weight;
  const auto dy =
      g.add(GroupedGemm{.a = d, .b = l.v2, .groups = in.ends, .gather = in.token}).then(routed);
  const auto dh = dy.then(kBf16);
  const auto act = dy.act_out.then(kBf16);
  const auto dx = g.add(GroupedGemm{.a = dh, .b = l.v1, .groups = in.ends}).then(kBf16);
  g.output(p + "dw1",
           g.add(GroupedWgrad{.a = dh, .b = *l.x, .groups = in.ends, .gather_b = in.token}));
  g.output(p + "dw2",
           g.add(GroupedWgrad{.a = d, .b = act, .groups = in.ends, .gather_a = in.token}));
  g.output(p + "d_weight", dy.dprob);

  const auto shared_dh = g.add(Matmul{.a = d, .b = l.shared2, .b_major = Major::n})
                             .then(DGlu::of(kGlu, *l.shared_h))
                             .then(kBf16);
  const auto shared_dx =
      g.add(Matmul{.a = shared_dh, .b = l.shared1, .b_major = Major::n}).then(kBf16);
  g.output(p + "d_shared1", g.add(GroupedWgrad{.a = shared_dh, .b = *l.x, .groups = in.all}));
  g.output(p + "d_shared2", g.add(GroupedWgrad{.a = d, .b = *l.shared_act, .groups = in.all}));
  return g.add(Combine{.y = dx, .rev = in.row})
      .then(Add{.c = shared_dx})
      .then(Add{.c = d})
      .then(kBf16);
}

/// A graph of a whole model, forward and backward.
inline Graph model(const ModelShape& s) {
  Builder g("model");
  const Dim t = g.dynamic("T", 65536);
  const Dim r = g.dynamic("R", 65536 * s.top_k);
  const auto tokens = g.input("x", {t, s.hidden}, DType::bf16);
  const auto d_out = g.input("d_out", {t, s.hidden}, DType::bf16);
  const ModelInputs in{g.groups("ends", s.experts, GroupForm::ends),
                       g.groups("all", 1, GroupForm::whole),
                       g.index("token", r),
                       g.index("row", {t, s.top_k}),
                       g.input("weight", {t, s.top_k}, DType::f32),
                       g.row_input("row_weight", r)};
  const auto prefix = [](size_t i) { return "layers." + std::to_string(i) + "."; };
  std::vector<ModelLayer> layers;
  auto x = g.add(Load{.x = tokens}).then(kBf16);
  for (size_t i = 0; i < static_cast<size_t>(s.layers); ++i) {
    layers.push_back(layer_weights(g, s, prefix(i)));
    x = forward(g, in, layers[i], x);
  }
  g.output("out", x);
  auto d = g.add(Load{.x = d_out}).then(kBf16);
  for (size_t i = layers.size(); i-- > 0;) d = backward(g, in, layers[i], d, prefix(i));
  g.output("dx", d);
  Result<Graph> graph = std::move(g).finish();
  if (!graph) {
    std::fprintf(stderr, "%s\n", std::string(graph.findings().text()).c_str());
    std::abort();
  }
  return *std::move(graph);
}

}  // namespace cohort::benchmarks
