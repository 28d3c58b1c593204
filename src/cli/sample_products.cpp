// Bundled graphs of gradients of weights, scattered outputs and combine.
#include <array>

#include "cli/sample_list.h"

namespace cohort::cli {

namespace {

constexpr int64_t kTopK = 4;

Result<Graph> scatter() {
  Builder g("scatter");
  Dim T = g.dynamic("T", 65536);
  Dim R = g.dynamic("R", kTopK * 65536);
  auto x = g.input("x", {R, 512}, DType::bf16);
  auto w = g.weights("w", {kExperts, 256, 512}, DType::bf16);
  auto ends = g.groups("ends", kExperts, GroupForm::ends);
  g.output("y", g.add(GroupedGemm{.a = x, .b = w, .groups = ends}),
           {.dtype = DType::bf16, .scatter = g.index("token", R), .rows = T});
  return std::move(g).finish();
}

Result<Graph> wgrad_bf16() {
  Builder g("wgrad_bf16");
  Dim T = g.dynamic("T", 65536);
  Dim S = g.dynamic("S", 65536);
  auto dy = g.input("dy", {T, 256}, DType::bf16);
  auto x = g.input("x", {S, 512}, DType::bf16);
  auto ends = g.groups("ends", kExperts, GroupForm::ends);
  auto dw = g.add(GroupedWgrad{.a = dy, .b = x, .groups = ends, .gather_b = g.index("token", T)});
  g.output("dw", dw, {.dtype = DType::bf16});
  return std::move(g).finish();
}

Result<Graph> wgrad_mxfp8() {
  Builder g("wgrad_mxfp8");
  Dim T = g.dynamic("T", 65536);
  auto dy = g.scaled_input("dy", {T, 256}, Format::mxfp8_e4m3, {.axis = Axes::col});
  auto x = g.scaled_input("x", {T, 512}, Format::mxfp8_e4m3,
                          {.axis = Axes::col, .storage = ColStorage::transposed});
  auto ends = g.groups("ends", kExperts, GroupForm::ends);
  g.output("dw", g.add(GroupedWgrad{.a = dy, .b = x, .groups = ends}));
  return std::move(g).finish();
}

Result<Graph> wgrad_nvfp4() {
  Builder g("wgrad_nvfp4");
  Dim T = g.dynamic("T", 65536);
  const ScaledOptions columns{.axis = Axes::col, .storage = ColStorage::transposed};
  auto dy = g.scaled_input("dy", {T, 256}, Format::nvfp4, columns);
  auto x = g.scaled_input("x", {T, 512}, Format::nvfp4, columns);
  auto ends = g.groups("ends", kExperts, GroupForm::ends, {.row_alignment = 16});
  g.output("dw", g.add(GroupedWgrad{.a = dy,
                                    .b = x,
                                    .groups = ends,
                                    .global_scale_a = g.group_input("scale_dy", kExperts),
                                    .global_scale_b = g.group_input("scale_x", kExperts)}));
  return std::move(g).finish();
}

Result<Graph> wgrad_accumulate() {
  Builder g("wgrad_accumulate");
  Dim T = g.dynamic("T", 65536);
  auto dy = g.input("dy", {T, 256}, DType::bf16);
  auto x = g.input("x", {T, 512}, DType::bf16);
  auto ends = g.groups("ends", kExperts, GroupForm::ends);
  auto main = g.weights("main", {kExperts, 256, 512}, DType::f32);
  g.output("dw", g.add(GroupedWgrad{.a = dy,
                                    .b = x,
                                    .groups = ends,
                                    .alpha = g.group_input("alpha", kExperts),
                                    .accumulate = main}));
  return std::move(g).finish();
}

Result<Graph> wgrad_discrete() {
  Builder g("wgrad_discrete");
  Dim T = g.dynamic("T", 65536);
  auto dy = g.input("dy", {T, 256}, DType::bf16);
  auto x = g.input("x", {T, 512}, DType::bf16);
  auto slots = g.groups("slots", kExperts, GroupForm::slots);
  g.output("dw", g.add(GroupedWgrad{.a = dy, .b = x, .groups = slots}), {.discrete = true});
  return std::move(g).finish();
}

Result<Graph> combine() {
  Builder g("combine");
  Dim T = g.dynamic("T", 65536);
  Dim R = g.dynamic("R", kTopK * 65536);
  auto y = g.input("y", {R, 512}, DType::bf16);
  auto rev = g.index("rev", {T, kTopK});
  auto scores = g.input("scores", {T, kTopK}, DType::f32);
  g.output("o", g.add(Combine{.y = y, .rev = rev, .weights = scores}), {.dtype = DType::bf16});
  return std::move(g).finish();
}

Result<Graph> combine_variable() {
  Builder g("combine_variable");
  Dim T = g.dynamic("T", 65536);
  Dim R = g.dynamic("R", kTopK * 65536);
  auto y = g.input("y", {R, 512}, DType::bf16);
  auto koff = g.groups("koff", T, GroupForm::boundaries);
  auto o = g.add(Combine{.y = y,
                         .rev = g.index("rev", R),
                         .weights = g.input("scores", {R}, DType::f32),
                         .koff = koff});
  g.output("o", o, {.dtype = DType::bf16});
  return std::move(g).finish();
}

Result<Graph> combine_backward() {
  Builder g("combine_backward");
  Dim T = g.dynamic("T", 65536);
  Dim R = g.dynamic("R", kTopK * 65536);
  auto d_out = g.input("d_out", {T, 512}, DType::bf16);
  auto dy = g.add(DCombine{.d_out = d_out,
                           .scat = g.index("scat", R),
                           .top_k = kTopK,
                           .weights = g.input("scores", {T, kTopK}, DType::f32)});
  auto dw = g.add(DCombineWeights{
      .d_out = d_out, .y = g.input("y", {R, 512}, DType::bf16), .rev = g.index("rev", {T, kTopK})});
  g.output("dy", dy, {.dtype = DType::bf16});
  g.output("d_scores", dw);
  return std::move(g).finish();
}

constexpr std::array kProductSamples{
    Sample{"scatter", "rows of a product back in the order of the tokens", scatter},
    Sample{"wgrad_bf16", "gradients of weights, tokens gathered by index", wgrad_bf16},
    Sample{"wgrad_mxfp8", "gradients of weights from column-quantised MXFP8", wgrad_mxfp8},
    Sample{"wgrad_nvfp4", "the same from NVFP4 with outer scales an expert", wgrad_nvfp4},
    Sample{"wgrad_accumulate", "bf16 gradients times alpha, added to f32", wgrad_accumulate},
    Sample{"wgrad_discrete", "gradients behind one pointer an expert, slots", wgrad_discrete},
    Sample{"combine", "tokens out of the rows of their experts, weighted", combine},
    Sample{"combine_variable", "tokens with different numbers of experts", combine_variable},
    Sample{"combine_backward", "gradients of rows and weights of combine", combine_backward},
};

}  // namespace

std::span<const Sample> product_samples() { return kProductSamples; }

}  // namespace cohort::cli
