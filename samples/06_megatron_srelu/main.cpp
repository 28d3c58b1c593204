// Megatron-LM's training step of squared-ReLU experts in MXFP8: FC1, FC2, the gradients of tokens,
// weights, biases and routing. Every tensor that a product reads is quantised along the axis that
// it sums over: along rows for the forward, along columns for the gradients of weights. Run three
// times: FC2's input kept along columns, made again in the backward, and kept while each expert's
// weights stand behind a pointer of their own. The graphs are in graphs.cpp, the calls in
// training.cpp.
#include <cohort/cohort.h>

#include <cmath>
#include <cstddef>
#include <cstdio>
#include <random>
#include <vector>

#include "graphs.h"
#include "numbers.h"
#include "plain.h"
#include "training.h"

using namespace cohort;

namespace {

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

std::vector<StepResult> train(const PlainStep& plain, const StepSpec& spec, bool& good) {
  Training t(plain, spec);
  const bool forward = t.forward();
  t.print_kept();
  const bool backward = t.backward();
  good &= t.agrees() && forward && backward;
  return t.results();
}

// Where the weights stand changes no bit.
bool same_bytes(const std::vector<StepResult>& a, const std::vector<StepResult>& b) {
  size_t bytes = 0;
  bool good = a.size() == b.size() && !a.empty();
  for (size_t i = 0; good && i < a.size(); ++i) {
    good = a[i].bytes == b[i].bytes && !a[i].bytes.empty();
    if (!good) std::printf("%s differs\n", a[i].name);
    bytes += a[i].bytes.size();
  }
  if (good) std::printf("all %zu bytes of results are those of the dense weights\n", bytes);
  return good;
}

}  // namespace

int main() {
  const PlainStep plain = make_data();
  std::printf("%lld rows of %lld experts, hidden %lld, intermediate %lld\n",
              static_cast<long long>(kRows), static_cast<long long>(kExperts),
              static_cast<long long>(kHidden), static_cast<long long>(kInter));
  std::printf(
      "Each call runs on the reference engine. compare() then evaluates its graph anew, and "
      "derives\n"
      "for each result how far from that an f32 engine may be: the allowed distance.\n");
  bool good = true;
  std::printf("\nFC2's input is kept\n");
  const auto dense = train(plain, {.keep = true}, good);
  std::printf("\nFC2's input is made again\n");
  train(plain, {.keep = false}, good);
  std::printf("\nFC2's input is kept; weights and their gradients: one pointer an expert\n");
  good &= same_bytes(dense, train(plain, {.keep = true, .discrete = true}, good));
  std::printf("%s\n", good ? "good" : "WRONG");
  return good ? 0 : 1;
}
