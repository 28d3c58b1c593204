#include "training.h"

#include <cohort/numerics.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <string_view>

#include "numbers.h"

using namespace cohort;
using sample::must;

namespace {

constexpr float kMainGrad = 0.5f;  // what earlier steps left in main_grad

// Exact: the numbers are bf16.
void fill(Step& step, const char* name, DType dtype, const Numbers& numbers) {
  const std::vector<float> f32(numbers.begin(), numbers.end());
  must(encode(dtype, f32.data(), static_cast<int64_t>(f32.size()),
              step.memory().data<std::byte>(name)));
}

// A weight (E, out, in) in MXFP8, along rows or along columns; codes and scales of each expert
// behind a pointer, or one after the other.
void fill_weight(Step& step, const std::string& name, const Numbers& w, int64_t out, int64_t in,
                 bool along_columns, bool discrete) {
  const std::vector<float> values(w.begin(), w.end());
  const std::string scale_name = name + ".scale";
  const int64_t scales = must(along_columns ? scale_bytes(ScaleLayout::tiled_128x4, in, out, 32)
                                            : scale_bytes(ScaleLayout::tiled_128x4, out, in, 32));
  if (discrete) {
    step.allocate(name, kExperts, out * in);
    step.allocate(scale_name, kExperts, scales);
  }
  const sample::HostMemory& m = step.memory();
  for (int64_t e = 0; e < kExperts; ++e) {
    const float* from = values.data() + e * out * in;
    auto* codes = discrete ? m.data<std::byte*>(name)[e] : m.data<std::byte>(name) + e * out * in;
    auto* scale =
        discrete ? m.data<std::byte*>(scale_name)[e] : m.data<std::byte>(scale_name) + e * scales;
    must(along_columns ? quantize_columns({}, from, out, in, {}, codes, scale)
                       : quantize_rows({}, from, out, in, codes, scale));
  }
}

// What earlier steps left in main_grad, and memory for the gradient.
void fill_gradient(Step& step, int64_t elements, bool discrete) {
  if (!discrete) {
    fill(step, "main_grad", DType::f32, Numbers(static_cast<size_t>(elements), kMainGrad));
    return;
  }
  step.allocate("main_grad", kExperts, elements / kExperts * 4);
  step.allocate("dw", kExperts, elements / kExperts * 4);
  for (int64_t e = 0; e < kExperts; ++e) {
    float* grad = step.memory().data<float*>("main_grad")[e];
    std::fill_n(grad, elements / kExperts, kMainGrad);
  }
}

// A plain result; that of discrete gradients one expert after the other.
std::vector<std::byte> result_bytes(const Step& step, const char* name, int64_t bytes,
                                    bool discrete) {
  const sample::HostMemory& m = step.memory();
  if (!discrete || std::string_view(name) != "dw") {
    return {m.data<std::byte>(name), m.data<std::byte>(name) + bytes};
  }
  std::vector<std::byte> all;
  for (int64_t e = 0; e < kExperts; ++e) {
    const std::byte* matrix = m.data<std::byte*>(name)[e];
    all.insert(all.end(), matrix, matrix + bytes / kExperts);
  }
  return all;
}

// e4m3 has three fraction bits: it rounds by at most 2^-4 of a number, by less than 2^-5 in the
// mean. Errors of different tensors are independent, so their squares add, and the error of a sum
// is as large a part of it as those of its summands: behind n roundings, sqrt(n) * 2^-5. One that a
// square doubles counts four times.
bool within(const StepResult& result, const Numbers& wanted, int roundings, float before = 0) {
  std::vector<float> got(wanted.size());
  must(decode(result.dtype, result.bytes.data(), static_cast<int64_t>(got.size()), got.data()));
  double error = 0, size = 0;
  for (size_t i = 0; i < wanted.size(); ++i) {
    error += std::pow(got[i] - before - wanted[i], 2);
    size += wanted[i] * wanted[i];
  }
  const double relative = std::sqrt(error / size);
  const double allowed = std::sqrt(roundings) * 0x1p-5 + 1e-4;  // f32 and bf16
  std::printf("  %-6s %5.2f %%, allowed %5.2f %%\n", result.name, 100 * relative, 100 * allowed);
  return relative <= allowed;
}

}  // namespace

Training::Training(const PlainStep& plain, const StepSpec& spec) : plain_(plain), s_(spec) {
  for (Step* s :
       {&quantize_x_, &quantize_dy_, &f1_, &f2_, &bias_, &b1_, &b2_fc2_, &b3_, &b2_fc1_}) {
    sample::copy(s->memory(), "ends", plain.ends);
    if (s->has("alpha")) fill(*s, "alpha", DType::bf16, Numbers(kExperts, 1));
  }
}

bool Training::forward() {
  fill(quantize_x_, "x", DType::bf16, plain_.x);
  bool good = quantize_x_.run();
  f1_.take("x", quantize_x_, "q");
  fill_weight(f1_, "w1", plain_.w1, kInter, kHidden, false, s_.discrete);
  fill(f1_, "b1", DType::bf16, plain_.b1);
  fill(f1_, "prob", DType::bf16, plain_.prob);
  good &= f1_.run();
  f2_.take("d", f1_, "d");
  fill_weight(f2_, "w2", plain_.w2, kHidden, kInter, false, s_.discrete);
  fill(f2_, "b2", DType::bf16, plain_.b2);
  fill(f2_, "prob", DType::bf16, plain_.prob);
  return f2_.run() && good;
}

bool Training::backward() {
  fill(quantize_dy_, "x", DType::bf16, plain_.dy);
  bool good = quantize_dy_.run();
  fill(bias_, "dy", DType::bf16, plain_.dy);
  fill(bias_, "b2", DType::bf16, plain_.b2);
  fill(bias_, "prob", DType::bf16, plain_.prob);
  good &= bias_.run();
  b1_.take("dy", quantize_dy_, "q");
  b1_.take("c", f1_, "c");
  b1_.take("dprob_of_bias", bias_, "dprob");
  fill_weight(b1_, "w2_t", plain_.w2, kHidden, kInter, true, s_.discrete);
  fill(b1_, "prob", DType::f32, plain_.prob);
  good &= b1_.run();
  b2_fc2_.take("a", quantize_dy_, "q_t");
  b2_fc2_.take("b", s_.keep ? f1_ : b1_, "d_t");
  fill_gradient(b2_fc2_, kExperts * kHidden * kInter, s_.discrete);
  good &= b2_fc2_.run();
  b3_.take("dc", b1_, "dc");
  fill_weight(b3_, "w1_t", plain_.w1, kInter, kHidden, true, s_.discrete);
  good &= b3_.run();
  b2_fc1_.take("a", b1_, "dc_t");
  b2_fc1_.take("b", quantize_x_, "q_t");
  fill_gradient(b2_fc1_, kExperts * kInter * kHidden, s_.discrete);
  return b2_fc1_.run() && good;
}

std::vector<StepResult> Training::results() const {
  std::vector<StepResult> all;
  const auto add = [&](const char* name, const Step& step, const char* tensor, DType dtype,
                       const Numbers& like) {
    const auto bytes = static_cast<int64_t>(like.size()) * (dtype == DType::bf16 ? 2 : 4);
    all.push_back({name, dtype, result_bytes(step, tensor, bytes, s_.discrete)});
  };
  add("y", f2_, "y", DType::bf16, plain_.y);
  add("dx", b3_, "dx", DType::bf16, plain_.dx);
  add("dw1", b2_fc1_, "dw", DType::f32, plain_.dw1);
  add("dw2", b2_fc2_, "dw", DType::f32, plain_.dw2);
  add("db1", b1_, "db1", DType::f32, plain_.db1);
  add("db2", bias_, "db2", DType::f32, plain_.db2);
  add("dprob", b1_, "dprob", DType::f32, plain_.dprob);
  return all;
}

// The comments name what is quantised on the way.
bool Training::agrees() const {
  std::printf(
      "results against the same step in f64 without quantisation: root mean square of the error,\n"
      "and what the roundings to e4m3 on the way allow\n");
  const std::vector<StepResult> r = results();
  bool good = within(r[0], plain_.y, 10);           // 4 x, 4 w1, d, w2
  good &= within(r[1], plain_.dx, 6);               // x, w1, dy, w2, dc, w1
  good &= within(r[2], plain_.dw1, 6, kMainGrad);   // x, w1, dy, w2, dc, x
  good &= within(r[3], plain_.dw2, 10, kMainGrad);  // 4 x, 4 w1, d, dy
  good &= within(r[4], plain_.db1, 4);              // x, w1, dy, w2
  good &= within(r[5], plain_.db2, 0);
  good &= within(r[6], plain_.dprob, 10);  // 4 x, 4 w1, dy, w2
  return good;
}

void Training::print_kept() const {
  std::printf("kept for the backward: x along columns %lld, c %lld, d along columns %lld bytes\n",
              static_cast<long long>(quantize_x_.bytes("q_t")),
              static_cast<long long>(f1_.bytes("c")),
              static_cast<long long>(s_.keep ? f1_.bytes("d_t") : 0));
}
