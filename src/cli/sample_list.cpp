#include "cli/sample_list.h"

#include <array>
#include <vector>

#include "cli/sample_activation.h"

namespace cohort::cli {

namespace {

Result<Graph> fc1_mxfp8() {
  Builder g("fc1_mxfp8");
  Dim T = g.dynamic("T", 65536);
  auto x = g.scaled_input("x", {T, 4096}, Format::mxfp8_e4m3);
  auto w = g.scaled_weights("w", {kExperts, 2048, 4096}, Format::mxfp8_e4m3);
  auto ends = g.groups("ends", kExperts, GroupForm::ends);
  auto prob = g.row_input("prob", T);
  auto y = g.add(GroupedGemm{.a = x, .b = w, .groups = ends})
               .then(ReluSquared{})
               .then(RowGate{.by = prob})
               .then(Quantize{.to = Format::mxfp8_e4m3, .axes = Axes::both});
  g.output("y", y.row);
  g.output("y_t", y.col);
  return std::move(g).finish();
}

// A grouped GEMM alone, in one of the group forms.
Result<Graph> plain(std::string_view name, DType dtype, GroupForm form, Major major, Tail tail) {
  Builder g(name);
  Dim T = g.dynamic("T", 65536);
  auto x = g.input("x", {T, 512}, dtype);
  auto w = g.weights("w", {kExperts, 256, 512}, dtype, {.major = major});
  auto rows = g.groups("rows", kExperts, form);
  g.output("y", g.add(GroupedGemm{.a = x, .b = w, .groups = rows}), {.dtype = dtype, .tail = tail});
  return std::move(g).finish();
}

Result<Graph> bf16_ends() {
  return plain("bf16_ends", DType::bf16, GroupForm::ends, Major::k, Tail::leave);
}
Result<Graph> bf16_starts() {
  return plain("bf16_starts", DType::bf16, GroupForm::starts, Major::k, Tail::leave);
}
Result<Graph> bf16_boundaries_tail() {
  return plain("bf16_boundaries_tail", DType::bf16, GroupForm::boundaries, Major::k, Tail::zero);
}
Result<Graph> bf16_slots() {
  return plain("bf16_slots", DType::bf16, GroupForm::slots, Major::k, Tail::zero);
}
Result<Graph> f16_n_major() {
  return plain("f16_n_major", DType::f16, GroupForm::counts, Major::n, Tail::leave);
}

// A dense layer as one group: nothing says which rows are its own, since all are.
Result<Graph> dense_pointers() {
  Builder g("dense_pointers");
  Dim T = g.dynamic("T", 65536);
  auto x = g.scaled_input("x", {T, 512}, Format::mxfp8_e4m3);
  auto w = g.weight_pointers("w", {1, 256, 512}, Format::mxfp8_e4m3);
  auto all = g.groups("all", 1, GroupForm::whole);
  auto y = g.add(GroupedGemm{.a = x, .b = w, .groups = all})
               .then(ReluSquared{})
               .then(Quantize{.to = Format::mxfp8_e4m3, .axes = Axes::both});
  g.output("y", y.row);
  g.output("y_t", y.col);
  return std::move(g).finish();
}

Result<Graph> bias_gate() {
  Builder g("bias_gate");
  Dim T = g.dynamic("T", 65536);
  auto x = g.input("x", {T, 512}, DType::f16);
  auto w = g.weights("w", {kExperts, 256, 512}, DType::f16);
  auto counts = g.groups("counts", kExperts, GroupForm::counts, {.dtype = DType::i64});
  auto y = g.add(GroupedGemm{.a = x, .b = w, .groups = counts})
               .then(Bias{.by = g.group_matrix("b", {kExperts, 256}, DType::f16)})
               .then(RowGate{.by = g.row_input("prob", T)});
  g.output("y", y, {.dtype = DType::f16});
  return std::move(g).finish();
}

// A quantised product with one factor an expert.
Result<Graph> scaled(std::string_view name, Format a, Format b) {
  Builder g(name);
  Dim T = g.dynamic("T", 65536);
  auto x = g.scaled_input("x", {T, 512}, a);
  auto w = g.scaled_weights("w", {kExperts, 256, 512}, b);
  auto ends = g.groups("ends", kExperts, GroupForm::ends);
  auto y = g.add(GroupedGemm{.a = x, .b = w, .groups = ends})
               .then(Alpha{.by = g.group_input("alpha", kExperts)});
  g.output("y", y, {.dtype = DType::bf16});
  return std::move(g).finish();
}

Result<Graph> fp8_tensor() { return scaled("fp8_tensor", Format::fp8_tensor, Format::fp8_tensor); }
Result<Graph> fp8_row() { return scaled("fp8_row", Format::fp8_row, Format::fp8_row); }
Result<Graph> fp8_block128() {
  return scaled("fp8_block128", Format::fp8_block128, Format::fp8_block128);
}
Result<Graph> mxfp4() { return scaled("mxfp4", Format::mxfp4, Format::mxfp4); }
Result<Graph> nvfp4() { return scaled("nvfp4", Format::nvfp4, Format::nvfp4); }
Result<Graph> mxfp8_by_mxfp4() {
  return scaled("mxfp8_by_mxfp4", Format::mxfp8_e5m2, Format::mxfp4);
}

Result<Graph> gather() {
  Builder g("gather");
  Dim T = g.dynamic("T", 65536);
  Dim R = g.dynamic("R", int64_t{8} * 65536);
  auto x = g.scaled_input("x", {T, 512}, Format::mxfp8_e4m3);
  auto w = g.scaled_weights("w", {kExperts, 256, 512}, Format::mxfp8_e4m3);
  auto ends = g.groups("ends", kExperts, GroupForm::ends);
  auto y = g.add(GroupedGemm{.a = x, .b = w, .groups = ends, .gather = g.index("token", R)});
  g.output("y", y, {.dtype = DType::bf16});
  return std::move(g).finish();
}

Result<Graph> discrete_weights() {
  Builder g("discrete_weights");
  Dim T = g.dynamic("T", 65536);
  auto x = g.scaled_input("x", {T, 512}, Format::mxfp8_e4m3);
  auto w = g.weight_pointers("w", {kExperts, 256, 512}, Format::mxfp8_e4m3);
  auto ends = g.groups("ends", kExperts, GroupForm::ends);
  g.output("y", g.add(GroupedGemm{.a = x, .b = w, .groups = ends}), {.dtype = DType::bf16});
  return std::move(g).finish();
}

Result<Graph> quantize(std::string_view name, const Quantize& op) {
  Builder g(name);
  Dim T = g.dynamic("T", 65536);
  auto x = g.input("x", {T, 512}, DType::f32);
  auto ends = g.groups("ends", kExperts, GroupForm::ends);
  auto q = g.add(Load{.x = x, .groups = ends}).then(op);
  g.output("q", q.row);
  if (op.axes == Axes::both) g.output("q_t", q.col);
  return std::move(g).finish();
}

Result<Graph> quantize_mxfp8() {
  return quantize("quantize_mxfp8", {.to = Format::mxfp8_e4m3, .axes = Axes::both});
}
Result<Graph> quantize_nvfp4() {
  return quantize("quantize_nvfp4", {.to = Format::nvfp4, .axes = Axes::both, .norm = 0.5});
}
Result<Graph> quantize_shifted() {
  return quantize("quantize_shifted",
                  {.to = Format::mxfp8_e4m3, .row_layout = ScaleLayout::shifted_128});
}
Result<Graph> quantize_fp8_row() {
  return quantize("quantize_fp8_row", {.to = Format::fp8_row, .element = DType::e5m2});
}

Result<Graph> quantize_stochastic() {
  Builder g("quantize_stochastic");
  Dim T = g.dynamic("T", 65536);
  auto q = g.add(Load{.x = g.input("x", {T, 512}, DType::f32)})
               .then(Quantize{.to = Format::mxfp4,
                              .rounding = Rounding::stochastic,
                              .seed = g.scalar("seed", DType::i64),
                              .offset = g.scalar("offset", DType::i64)});
  g.output("q", q.row);
  return std::move(g).finish();
}

Result<Graph> fp8_output_amax() {
  Builder g("fp8_output_amax");
  Dim T = g.dynamic("T", 65536);
  auto x = g.input("x", {T, 512}, DType::bf16);
  auto w = g.weights("w", {kExperts, 256, 512}, DType::bf16);
  auto ends = g.groups("ends", kExperts, GroupForm::ends);
  auto y = g.add(GroupedGemm{.a = x, .b = w, .groups = ends});
  g.output("amax", y.then(Amax{.per = AmaxPer::expert}));
  g.output("y", y.then(Cast{.to = DType::e4m3, .scale = g.scalar("scale")}));
  return std::move(g).finish();
}

Result<Graph> matmul_relu() {
  Builder g("matmul_relu");
  Dim M = g.dynamic("M", 4096);
  auto a = g.input("a", {M, 512}, DType::bf16);
  auto b = g.input("b", {256, 512}, DType::bf16);
  g.output("y", g.add(Matmul{.a = a, .b = b}).then(Unary{.mode = UnaryMode::relu}),
           {.dtype = DType::bf16});
  return std::move(g).finish();
}

Result<Graph> two_layers() {
  Builder g("two_layers");
  Dim T = g.dynamic("T", 65536);
  auto x = g.input("x", {T, 512}, DType::bf16);
  auto w1 = g.weights("w1", {kExperts, 1024, 512}, DType::bf16);
  auto w2 = g.weights("w2", {kExperts, 512, 1024}, DType::bf16);
  auto ends = g.groups("ends", kExperts, GroupForm::ends);
  auto h = g.add(GroupedGemm{.a = x, .b = w1, .groups = ends})
               .then(ReluSquared{.clamp = 8.0f})
               .then(Cast{.to = DType::bf16});
  auto y = g.add(GroupedGemm{.a = h, .b = w2, .groups = ends})
               .then(RowScale{.by = g.row_input("s", T)})
               .then(Add{.c = g.add(Load{.x = g.input("residual", {T, 512}, DType::bf16)})});
  g.output("h", h);
  g.output("y", y, {.dtype = DType::bf16});
  return std::move(g).finish();
}

// The gradient of a gelu, from a stored gradient and the saved input.
Result<Graph> gelu_backward() {
  Builder g("gelu_backward");
  Dim T = g.dynamic("T", 65536);
  auto dy = g.input("dy", {T, 512}, DType::bf16);
  auto h = g.input("h", {T, 512}, DType::bf16);
  auto dh =
      g.add(Load{.x = dy})
          .then(Unary{.mode = UnaryMode::gelu, .direction = Direction::bwd, .x = MatrixArg(h)});
  g.output("dh", dh, {.dtype = DType::bf16});
  return std::move(g).finish();
}

// A value held below a limit of its expert, and 0 where a mask says so.
Result<Graph> clamped_select() {
  Builder g("clamped_select");
  Dim T = g.dynamic("T", 65536);
  auto x = g.input("x", {T, 512}, DType::bf16);
  auto w = g.weights("w", {kExperts, 256, 512}, DType::bf16);
  auto ends = g.groups("ends", kExperts, GroupForm::ends);
  auto limit = g.group_input("limit", kExperts);
  auto y = g.add(GroupedGemm{.a = x, .b = w, .groups = ends})
               .then(Binary{.mode = BinaryMode::mul, .by = g.col_input("channel", 256)})
               .then(Binary{.mode = BinaryMode::min, .by = limit});
  auto kept = y.then(Compare{.mode = CompareMode::ge, .by = g.input("mask", {T, 256}, DType::bf16)})
                  .then(Select{.if_true = y, .if_false = 0.0});
  g.output("y", kept, {.dtype = DType::bf16});
  return std::move(g).finish();
}

Result<Graph> bias_gradient() {
  Builder g("bias_gradient");
  Dim T = g.dynamic("T", 65536);
  auto ends = g.groups("ends", kExperts, GroupForm::ends);
  auto dy = g.add(Load{.x = g.input("dy", {T, 512}, DType::bf16), .groups = ends});
  g.output("db", dy.then(DBias{}));
  g.output("db_scaled", dy.then(DBias{.scaled_by = g.row_input("prob", T)}),
           {.dtype = DType::bf16});
  return std::move(g).finish();
}

Result<Graph> hadamard_nvfp4() {
  Builder g("hadamard_nvfp4");
  Dim T = g.dynamic("T", 65536);
  auto ends = g.groups("ends", kExperts, GroupForm::ends, {.row_alignment = 16});
  auto x = g.add(Load{.x = g.input("x", {T, 512}, DType::bf16), .groups = ends});
  auto q = x.then(Hadamard{.axis = Axes::col, .round_through = DType::bf16})
               .then(Quantize{.to = Format::nvfp4, .axes = Axes::col});
  g.output("x_t", q.col);
  return std::move(g).finish();
}

constexpr std::array kSamples{
    Sample{"fc1_mxfp8", "MXFP8 FC1: squared ReLU, gate, row and column quantise", fc1_mxfp8},
    Sample{"bf16_ends", "bf16 grouped GEMM, groups as ends", bf16_ends},
    Sample{"bf16_starts", "bf16 grouped GEMM, groups as starts", bf16_starts},
    Sample{"bf16_boundaries_tail", "groups as boundaries, tail rows written as 0",
           bf16_boundaries_tail},
    Sample{"bf16_slots", "groups as padded slots", bf16_slots},
    Sample{"dense_pointers", "a dense layer as one group of every row, no offsets, MXFP8 pointers",
           dense_pointers},
    Sample{"f16_n_major", "f16 weights stored (E, K, N), groups as counts", f16_n_major},
    Sample{"bias_gate", "f16 with bias and routing gate, int64 counts", bias_gate},
    Sample{"fp8_tensor", "fp8 with one factor a tensor", fp8_tensor},
    Sample{"fp8_row", "fp8 with one factor a row", fp8_row},
    Sample{"fp8_block128", "fp8 with 1x128 and 128x128 factors", fp8_block128},
    Sample{"mxfp4", "MXFP4 with alpha", mxfp4},
    Sample{"nvfp4", "NVFP4 with alpha", nvfp4},
    Sample{"mxfp8_by_mxfp4", "MXFP8 tokens, MXFP4 weights", mxfp8_by_mxfp4},
    Sample{"gather", "tokens gathered by index, MXFP8", gather},
    Sample{"discrete_weights", "one pointer an expert, MXFP8", discrete_weights},
    Sample{"quantize_mxfp8", "f32 to MXFP8 along rows and tokens", quantize_mxfp8},
    Sample{"quantize_nvfp4", "f32 to NVFP4 along rows and tokens, norm 0.5", quantize_nvfp4},
    Sample{"quantize_shifted", "MXFP8 with shifted_128 scales", quantize_shifted},
    Sample{"quantize_fp8_row", "e5m2 with one f32 factor a row", quantize_fp8_row},
    Sample{"quantize_stochastic", "MXFP4 with stochastic rounding", quantize_stochastic},
    Sample{"fp8_output_amax", "e4m3 output with a given scale, amax an expert", fp8_output_amax},
    Sample{"matmul_relu", "plain product with ReLU", matmul_relu},
    Sample{"gelu_backward", "gradient of a gelu from the saved input", gelu_backward},
    Sample{"clamped_select", "factors a column, limits an expert, a mask", clamped_select},
    Sample{"bias_gradient", "sums over the rows of each expert, plain and scaled", bias_gradient},
    Sample{"hadamard_nvfp4", "Hadamard along tokens, then NVFP4 blocks", hadamard_nvfp4},
    Sample{"swiglu_split", "FC1 with SwiGLU, weight as gate half and up half", swiglu_split},
    Sample{"swiglu_interleaved", "FC1 with SwiGLU, gate and up alternate", swiglu_interleaved},
    Sample{"swiglu_gpt_oss", "FC1 of gpt-oss: bias, SwiGLU with slope 1.702 and limit 7",
           swiglu_gpt_oss},
    Sample{"swiglu_glm", "FC1 with SwiGLU and limit 10, as GLM and DeepSeek-V4.1", swiglu_glm},
    Sample{"geglu_bands32", "FC1 with quick-GELU GLU, bands of 32", geglu_bands32},
    Sample{"situ_bands8", "FC1 with SiTU, bands of 8", situ_bands8},
    Sample{"d_swiglu_act_out", "dH, dprob and the activation again, from x and h alone",
           d_swiglu_act_out},
    Sample{"d_gpt_oss_fc2_bias", "dH of gpt-oss; FC2 bias in dprob", d_gpt_oss_fc2_bias},
    Sample{"d_srelu_grad_acc", "MXFP8 dgrad of squared ReLU with every result, quantised",
           d_srelu_grad_acc},
    Sample{"d_srelu_recompute", "gradient of squared ReLU, pre-activation made again",
           d_srelu_recompute},
    Sample{"two_layers", "FC1, FC2, row scale and residual in one graph", two_layers},
};

}  // namespace

std::span<const Sample> samples() {
  static const std::vector<Sample> all = [] {
    std::vector<Sample> list(kSamples.begin(), kSamples.end());
    for (const std::span<const Sample> more : {product_samples(), layer_samples()}) {
      list.insert(list.end(), more.begin(), more.end());
    }
    return list;
  }();
  return all;
}

}  // namespace cohort::cli
