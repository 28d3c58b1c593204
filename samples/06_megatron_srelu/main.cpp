// Megatron-LM's training step of squared-ReLU experts in MXFP8: FC1, FC2, the gradients of tokens,
// weights, biases and routing. Every tensor that a product reads is quantised along the axis that
// it sums over: along rows for the forward, along columns for the gradients of weights. Run twice:
// FC2's input kept along columns, and made again in the backward. The graphs are in graphs.cpp.
#include <cohort/cohort.h>
#include <cohort/numerics.h>

#include <cmath>
#include <cstddef>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include "graphs.h"
#include "numbers.h"
#include "plain.h"
#include "step.h"

using namespace cohort;
using sample::must;

namespace {

// The second expert has no tokens; the others are padded to 256 rows by zeros.
constexpr int64_t kUsed[kExperts] = {200, 0, 300, 100};
constexpr int32_t kEnds[kExperts] = {256, 256, 768, 1024};
constexpr int64_t kRows = kEnds[kExperts - 1];
constexpr float kMainGrad = 0.5f;  // what earlier steps left in main_grad

PlainStep make_data() {
  std::mt19937 random(6);
  const auto normal = [&](int64_t count, double deviation) {
    std::vector<std::byte> bf16(static_cast<size_t>(2 * count));
    return sample::draw(count, deviation, random, bf16.data());
  };
  PlainStep s;
  s.ends.assign(kEnds, kEnds + kExperts);
  s.x = normal(kRows * kHidden, 1);
  s.dy = normal(kRows * kHidden, 1);
  s.w1 = normal(kExperts * kInter * kHidden, 1 / std::sqrt(double{kHidden}));
  s.w2 = normal(kExperts * kHidden * kInter, 1 / std::sqrt(double{kInter}));
  s.b1 = normal(kExperts * kInter, 0.5);
  s.b2 = normal(kExperts * kHidden, 0.5);
  s.prob = normal(kRows, 1);
  int64_t begin = 0;
  for (int64_t e = 0; e < kExperts; ++e) {
    for (int64_t r = begin + kUsed[e]; r < kEnds[e]; ++r) {
      s.prob[static_cast<size_t>(r)] = 0;
      for (int64_t i = r * kHidden; i < (r + 1) * kHidden; ++i) {
        s.x[static_cast<size_t>(i)] = s.dy[static_cast<size_t>(i)] = 0;
      }
    }
    begin = kEnds[e];
  }
  for (double& p : s.prob) p = std::abs(p);
  s.run();
  return s;
}

// Exact: the numbers are bf16.
void fill(Step& step, const char* name, DType dtype, const Numbers& numbers) {
  const std::vector<float> f32(numbers.begin(), numbers.end());
  must(encode(dtype, f32.data(), static_cast<int64_t>(f32.size()),
              step.memory().data<std::byte>(name)));
}

// A weight (E, out, in) in MXFP8, along rows or along columns.
void fill_weight(Step& step, const std::string& name, const Numbers& w, int64_t out, int64_t in,
                 bool along_columns) {
  const std::vector<float> values(w.begin(), w.end());
  const sample::HostMemory& m = step.memory();
  const int64_t scales = m.bytes(name + ".scale") / kExperts;
  for (int64_t e = 0; e < kExperts; ++e) {
    const float* from = values.data() + e * out * in;
    auto* codes = m.data<std::byte>(name) + e * out * in;
    auto* scale = m.data<std::byte>(name + ".scale") + e * scales;
    must(along_columns ? quantize_columns({}, from, out, in, {}, codes, scale)
                       : quantize_rows({}, from, out, in, codes, scale));
  }
}

// e4m3 has three fraction bits: it rounds by at most 2^-4 of a number, by less than 2^-5 in the
// mean. Errors of different tensors are independent, so their squares add, and the error of a sum
// is as large a part of it as those of its summands: behind n roundings, sqrt(n) * 2^-5. One that a
// square doubles counts four times.
bool within(const char* name, const Step& step, const char* tensor, DType dtype,
            const Numbers& wanted, int roundings, float before = 0) {
  const auto got = sample::read(step.memory(), tensor, dtype, wanted.size());
  double error = 0, size = 0;
  for (size_t i = 0; i < wanted.size(); ++i) {
    error += std::pow(got[i] - before - wanted[i], 2);
    size += wanted[i] * wanted[i];
  }
  const double relative = std::sqrt(error / size);
  const double allowed = std::sqrt(roundings) * 0x1p-5 + 1e-4;  // f32 and bf16
  std::printf("  %-6s off by %.4f of it, %.4f allowed\n", name, relative, allowed);
  return relative <= allowed;
}

// The calls in their order. What one hands to another stands in the memory of both.
class Training {
 public:
  Training(const PlainStep& plain, bool keep) : plain_(plain), keep_(keep) {
    for (Step* s :
         {&quantize_x_, &quantize_dy_, &f1_, &f2_, &bias_, &b1_, &b2_fc2_, &b3_, &b2_fc1_}) {
      sample::copy(s->memory(), "ends", plain.ends);
      if (s->has("alpha")) fill(*s, "alpha", DType::bf16, Numbers(kExperts, 1));
    }
  }

  bool forward() {
    fill(quantize_x_, "x", DType::bf16, plain_.x);
    bool good = quantize_x_.run();
    f1_.take("x", quantize_x_, "q");
    fill_weight(f1_, "w1", plain_.w1, kInter, kHidden, false);
    fill(f1_, "b1", DType::bf16, plain_.b1);
    fill(f1_, "prob", DType::bf16, plain_.prob);
    good &= f1_.run();
    f2_.take("d", f1_, "d");
    fill_weight(f2_, "w2", plain_.w2, kHidden, kInter, false);
    fill(f2_, "b2", DType::bf16, plain_.b2);
    fill(f2_, "prob", DType::bf16, plain_.prob);
    return f2_.run() && good;
  }

  bool backward() {
    fill(quantize_dy_, "x", DType::bf16, plain_.dy);
    bool good = quantize_dy_.run();
    fill(bias_, "dy", DType::bf16, plain_.dy);
    fill(bias_, "b2", DType::bf16, plain_.b2);
    fill(bias_, "prob", DType::bf16, plain_.prob);
    good &= bias_.run();
    b1_.take("dy", quantize_dy_, "q");
    b1_.take("c", f1_, "c");
    b1_.take("dprob_of_bias", bias_, "dprob");
    fill_weight(b1_, "w2_t", plain_.w2, kHidden, kInter, true);
    fill(b1_, "prob", DType::f32, plain_.prob);
    good &= b1_.run();
    b2_fc2_.take("a", quantize_dy_, "q_t");
    b2_fc2_.take("b", keep_ ? f1_ : b1_, "d_t");
    fill(b2_fc2_, "main_grad", DType::f32, Numbers(plain_.w2.size(), kMainGrad));
    good &= b2_fc2_.run();
    b3_.take("dc", b1_, "dc");
    fill_weight(b3_, "w1_t", plain_.w1, kInter, kHidden, true);
    good &= b3_.run();
    b2_fc1_.take("a", b1_, "dc_t");
    b2_fc1_.take("b", quantize_x_, "q_t");
    fill(b2_fc1_, "main_grad", DType::f32, Numbers(plain_.w1.size(), kMainGrad));
    return b2_fc1_.run() && good;
  }

  // What FC1, FC2 and the backward made, against the step in f64. The comments name what is
  // quantised on the way.
  bool agrees() const {
    std::printf("against the step in f64, where nothing is quantised:\n");
    const DType f32 = DType::f32;
    bool good = within("y", f2_, "y", DType::bf16, plain_.y, 10);          // 4 x, 4 w1, d, w2
    good &= within("dx", b3_, "dx", DType::bf16, plain_.dx, 6);            // x, w1, dy, w2, dc, w1
    good &= within("dw1", b2_fc1_, "dw", f32, plain_.dw1, 6, kMainGrad);   // x, w1, dy, w2, dc, x
    good &= within("dw2", b2_fc2_, "dw", f32, plain_.dw2, 10, kMainGrad);  // 4 x, 4 w1, d, dy
    good &= within("db1", b1_, "db1", f32, plain_.db1, 4);                 // x, w1, dy, w2
    good &= within("db2", bias_, "db2", f32, plain_.db2, 0);
    good &= within("dprob", b1_, "dprob", f32, plain_.dprob, 10);  // 4 x, 4 w1, dy, w2
    return good;
  }

  void print_kept() const {
    std::printf("kept for the backward: x along columns %lld, c %lld, d along columns %lld bytes\n",
                static_cast<long long>(quantize_x_.bytes("q_t")),
                static_cast<long long>(f1_.bytes("c")),
                static_cast<long long>(keep_ ? f1_.bytes("d_t") : 0));
  }

 private:
  const PlainStep& plain_;
  bool keep_;
  Step quantize_x_{"quantise x", quantize_graph(kHidden), kRows};
  Step quantize_dy_{"quantise dy", quantize_graph(kHidden), kRows};
  Step f1_{"F1 FC1, squared ReLU", fc1_graph(keep_), kRows};
  Step f2_{"F2 FC2", fc2_graph(), kRows};
  Step bias_{"FC2's bias", bias_graph(), kRows};
  Step b1_{"B1 through the ReLU", d_act_graph(!keep_), kRows};
  Step b2_fc2_{"B2 gradient of w2", wgrad_graph(kHidden, kInter), kRows};
  Step b3_{"B3 gradient of x", dgrad_graph(), kRows};
  Step b2_fc1_{"B2 gradient of w1", wgrad_graph(kInter, kHidden), kRows};
};

bool train(const PlainStep& plain, bool keep) {
  std::printf("FC2's input %s\n", keep ? "is kept" : "is made again");
  Training t(plain, keep);
  const bool forward = t.forward();
  t.print_kept();
  const bool backward = t.backward();
  return t.agrees() && forward && backward;
}

}  // namespace

int main() {
  const PlainStep plain = make_data();
  std::printf("%lld rows of %lld experts, hidden %lld, intermediate %lld\n",
              static_cast<long long>(kRows), static_cast<long long>(kExperts),
              static_cast<long long>(kHidden), static_cast<long long>(kInter));
  const bool kept = train(plain, true);
  const bool made_again = train(plain, false);
  std::printf("%s\n", kept && made_again ? "good" : "WRONG");
  return kept && made_again ? 0 : 1;
}
