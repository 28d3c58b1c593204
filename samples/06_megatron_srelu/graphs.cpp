#include "graphs.h"

#include <utility>

using namespace cohort;

namespace {

constexpr Format kMx = Format::mxfp8_e4m3;
constexpr int64_t kMostRows = 65536;

// Megatron pads each expert to 256 rows, so that no block of 32 or 128 rows is shared.
Groups ends_of(Builder& g, const StepSpec& s) {
  return g.groups("ends", s.experts, GroupForm::ends, {.row_alignment = 256});
}

// Ones, in the type of the model: no scale beside those of the blocks.
Alpha alpha_of(Builder& g, const StepSpec& s) {
  return {.by = g.group_input("alpha", s.experts, DType::bf16)};
}

// `major` n is a weight that was quantised along columns: (E, K, N) in memory, scales along K.
WeightOperand weight_of(Builder& g, const StepSpec& s, const char* name, int64_t n, int64_t k,
                        Major major = Major::k) {
  const Shape shape{s.experts, n, k};
  if (s.discrete) return g.weight_pointers(name, shape, kMx, {.major = major});
  return g.scaled_weights(name, shape, kMx, {.major = major});
}

}  // namespace

Result<Graph> quantize_graph(const StepSpec& s, int64_t features) {
  Builder g("srelu_quantize");
  Dim T = g.dynamic("T", kMostRows);
  auto x = g.add(Load{.x = g.input("x", {T, features}, DType::bf16), .groups = ends_of(g, s)});
  auto q = x.then(Quantize{.to = kMx, .axes = Axes::both});
  g.output("q", q.row);
  g.output("q_t", q.col);
  return std::move(g).finish();
}

Result<Graph> fc1_graph(const StepSpec& s) {
  Builder g("srelu_fc1");
  Dim T = g.dynamic("T", kMostRows);
  auto x = g.scaled_input("x", {T, s.hidden}, kMx);
  auto w1 = weight_of(g, s, "w1", s.inter, s.hidden);
  auto c = g.add(GroupedGemm{.a = x, .b = w1, .groups = ends_of(g, s)})
               .then(alpha_of(g, s))
               .then(Bias{.by = g.group_matrix("b1", {s.experts, s.inter}, DType::bf16)});
  auto d = c.then(ReluSquared{})
               .then(RowGate{.by = g.row_input("prob", T, DType::bf16)})
               .then(Quantize{.to = kMx, .axes = s.keep ? Axes::both : Axes::row});
  g.output("c", c, {.dtype = DType::bf16});
  g.output("d", d.row);
  if (s.keep) g.output("d_t", d.col);
  return std::move(g).finish();
}

Result<Graph> fc2_graph(const StepSpec& s) {
  Builder g("srelu_fc2");
  Dim T = g.dynamic("T", kMostRows);
  auto d = g.scaled_input("d", {T, s.inter}, kMx);
  auto w2 = weight_of(g, s, "w2", s.hidden, s.inter);
  auto y = g.add(GroupedGemm{.a = d, .b = w2, .groups = ends_of(g, s)})
               .then(alpha_of(g, s))
               .then(Bias{.by = g.group_matrix("b2", {s.experts, s.hidden}, DType::bf16),
                          .scaled_by = g.row_input("prob", T, DType::bf16)});
  g.output("y", y, {.dtype = DType::bf16});
  return std::move(g).finish();
}

Result<Graph> bias_graph(const StepSpec& s) {
  Builder g("srelu_fc2_bias");
  Dim T = g.dynamic("T", kMostRows);
  auto dy = g.input("dy", {T, s.hidden}, DType::bf16);
  auto ends = ends_of(g, s);
  auto b2 = g.weights("b2", {s.experts, 1, s.hidden}, DType::bf16);
  g.output("dprob", g.add(GroupedGemm{.a = dy, .b = b2, .groups = ends}));
  auto rows = g.add(Load{.x = dy, .groups = ends});
  g.output("db2", rows.then(DBias{.scaled_by = g.row_input("prob", T, DType::bf16)}));
  return std::move(g).finish();
}

Result<Graph> d_act_graph(const StepSpec& s) {
  Builder g("srelu_d_act");
  Dim T = g.dynamic("T", kMostRows);
  auto dy = g.scaled_input("dy", {T, s.hidden}, kMx);
  auto w2 = weight_of(g, s, "w2_t", s.inter, s.hidden, Major::n);
  auto ends = ends_of(g, s);
  auto c = g.add(Load{.x = g.input("c", {T, s.inter}, DType::bf16), .groups = ends});
  auto dc = g.add(GroupedGemm{.a = dy, .b = w2, .groups = ends})
                .then(alpha_of(g, s))
                .then(DReluSquared{.c = c,
                                   .prob = g.row_input("prob", T),
                                   .dprob_add = RowTerm(g.row_input("dprob_of_bias", T))});
  auto q = dc.then(Quantize{.to = kMx, .axes = Axes::both});
  g.output("dc", q.row);
  g.output("dc_t", q.col);
  g.output("dprob", dc.dprob);
  g.output("db1", dc.then(DBias{}));
  if (!s.keep) {
    g.output("d_t", dc.d_srelu.then(Quantize{.to = kMx, .axes = Axes::col}).col);
  }
  return std::move(g).finish();
}

Result<Graph> wgrad_graph(const StepSpec& s, int64_t out, int64_t in) {
  Builder g("srelu_wgrad");
  Dim T = g.dynamic("T", kMostRows);
  auto a = g.scaled_input("a", {T, out}, kMx, {.axis = Axes::col});
  auto b = g.scaled_input("b", {T, in}, kMx, {.axis = Axes::col});
  const Shape shape{s.experts, out, in};
  const WeightOperand main_grad =
      s.discrete ? WeightOperand(g.weight_pointers("main_grad", shape, DType::f32))
                 : WeightOperand(g.weights("main_grad", shape, DType::f32));
  auto dw = g.add(GroupedWgrad{.a = a, .b = b, .groups = ends_of(g, s), .accumulate = main_grad});
  g.output("dw", dw, {.discrete = s.discrete});
  return std::move(g).finish();
}

Result<Graph> dgrad_graph(const StepSpec& s) {
  Builder g("srelu_dgrad");
  Dim T = g.dynamic("T", kMostRows);
  auto dc = g.scaled_input("dc", {T, s.inter}, kMx);
  auto w1 = weight_of(g, s, "w1_t", s.hidden, s.inter, Major::n);
  auto dx = g.add(GroupedGemm{.a = dc, .b = w1, .groups = ends_of(g, s)}).then(alpha_of(g, s));
  g.output("dx", dx, {.dtype = DType::bf16});
  return std::move(g).finish();
}
