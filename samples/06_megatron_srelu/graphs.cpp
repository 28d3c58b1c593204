#include "graphs.h"

#include <utility>

using namespace cohort;

namespace {

constexpr Format kMx = Format::mxfp8_e4m3;
constexpr int64_t kMostRows = 65536;

// Megatron pads each expert to 256 rows, so that no block of 32 or 128 rows is shared.
Groups ends_of(Builder& g) {
  return g.groups("ends", kExperts, GroupForm::ends, {.row_alignment = 256});
}

// Ones, in the type of the model: no scale beside those of the blocks.
Alpha alpha_of(Builder& g) { return {.by = g.group_input("alpha", kExperts, DType::bf16)}; }

// `major` n is a weight that was quantised along columns: (E, K, N) in memory, scales along K.
WeightOperand weight_of(Builder& g, const char* name, int64_t n, int64_t k, Variant v,
                        Major major = Major::k) {
  const Shape shape{kExperts, n, k};
  if (v.discrete) return g.weight_pointers(name, shape, kMx, {.major = major});
  return g.scaled_weights(name, shape, kMx, {.major = major});
}

}  // namespace

Result<Graph> quantize_graph(int64_t features) {
  Builder g("quantize");
  Dim T = g.dynamic("T", kMostRows);
  auto x = g.add(Load{.x = g.input("x", {T, features}, DType::bf16), .groups = ends_of(g)});
  auto q = x.then(Quantize{.to = kMx, .axes = Axes::both});
  g.output("q", q.row);
  g.output("q_t", q.col);
  return std::move(g).finish();
}

Result<Graph> fc1_graph(Variant v) {
  Builder g("fc1_srelu");
  Dim T = g.dynamic("T", kMostRows);
  auto x = g.scaled_input("x", {T, kHidden}, kMx);
  auto w1 = weight_of(g, "w1", kInter, kHidden, v);
  auto c = g.add(GroupedGemm{.a = x, .b = w1, .groups = ends_of(g)})
               .then(alpha_of(g))
               .then(Bias{.by = g.group_matrix("b1", {kExperts, kInter}, DType::bf16)});
  auto d = c.then(ReluSquared{})
               .then(RowGate{.by = g.row_input("prob", T, DType::bf16)})
               .then(Quantize{.to = kMx, .axes = v.keep ? Axes::both : Axes::row});
  g.output("c", c, {.dtype = DType::bf16});
  g.output("d", d.row);
  if (v.keep) g.output("d_t", d.col);
  return std::move(g).finish();
}

Result<Graph> fc2_graph(Variant v) {
  Builder g("fc2");
  Dim T = g.dynamic("T", kMostRows);
  auto d = g.scaled_input("d", {T, kInter}, kMx);
  auto w2 = weight_of(g, "w2", kHidden, kInter, v);
  auto y = g.add(GroupedGemm{.a = d, .b = w2, .groups = ends_of(g)})
               .then(alpha_of(g))
               .then(Bias{.by = g.group_matrix("b2", {kExperts, kHidden}, DType::bf16),
                          .scaled_by = g.row_input("prob", T, DType::bf16)});
  g.output("y", y, {.dtype = DType::bf16});
  return std::move(g).finish();
}

Result<Graph> bias_graph() {
  Builder g("fc2_bias");
  Dim T = g.dynamic("T", kMostRows);
  auto dy = g.input("dy", {T, kHidden}, DType::bf16);
  auto ends = ends_of(g);
  auto b2 = g.weights("b2", {kExperts, 1, kHidden}, DType::bf16);
  g.output("dprob", g.add(GroupedGemm{.a = dy, .b = b2, .groups = ends}));
  auto rows = g.add(Load{.x = dy, .groups = ends});
  g.output("db2", rows.then(DBias{.scaled_by = g.row_input("prob", T, DType::bf16)}));
  return std::move(g).finish();
}

Result<Graph> d_act_graph(Variant v) {
  Builder g("d_srelu");
  Dim T = g.dynamic("T", kMostRows);
  auto dy = g.scaled_input("dy", {T, kHidden}, kMx);
  auto w2 = weight_of(g, "w2_t", kInter, kHidden, v, Major::n);
  auto ends = ends_of(g);
  auto c = g.add(Load{.x = g.input("c", {T, kInter}, DType::bf16), .groups = ends});
  auto dc = g.add(GroupedGemm{.a = dy, .b = w2, .groups = ends})
                .then(alpha_of(g))
                .then(DReluSquared{.c = c,
                                   .prob = g.row_input("prob", T),
                                   .dprob_add = RowTerm(g.row_input("dprob_of_bias", T))});
  auto q = dc.then(Quantize{.to = kMx, .axes = Axes::both});
  g.output("dc", q.row);
  g.output("dc_t", q.col);
  g.output("dprob", dc.dprob);
  g.output("db1", dc.then(DBias{}));
  if (!v.keep) {
    g.output("d_t", dc.d_srelu.then(Quantize{.to = kMx, .axes = Axes::col}).col);
  }
  return std::move(g).finish();
}

Result<Graph> wgrad_graph(int64_t out, int64_t in, Variant v) {
  Builder g("wgrad");
  Dim T = g.dynamic("T", kMostRows);
  auto a = g.scaled_input("a", {T, out}, kMx, {.axis = Axes::col});
  auto b = g.scaled_input("b", {T, in}, kMx, {.axis = Axes::col});
  const Shape shape{kExperts, out, in};
  const WeightOperand main_grad =
      v.discrete ? WeightOperand(g.weight_pointers("main_grad", shape, DType::f32))
                 : WeightOperand(g.weights("main_grad", shape, DType::f32));
  auto dw = g.add(GroupedWgrad{.a = a, .b = b, .groups = ends_of(g), .accumulate = main_grad});
  g.output("dw", dw, {.discrete = v.discrete});
  return std::move(g).finish();
}

Result<Graph> dgrad_graph(Variant v) {
  Builder g("dgrad");
  Dim T = g.dynamic("T", kMostRows);
  auto dc = g.scaled_input("dc", {T, kInter}, kMx);
  auto w1 = weight_of(g, "w1_t", kHidden, kInter, v, Major::n);
  auto dx = g.add(GroupedGemm{.a = dc, .b = w1, .groups = ends_of(g)}).then(alpha_of(g));
  g.output("dx", dx, {.dtype = DType::bf16});
  return std::move(g).finish();
}
