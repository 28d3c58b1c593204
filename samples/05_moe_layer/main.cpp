// A whole bf16 layer of experts, forward and backward: routing, gather, FC1, SwiGLU, FC2, combine;
// then the gradients of tokens, weights and routing from x and the pre-activation h alone. Checked
// against differences of the same layer in f64. The graphs are in layer.cpp.
//
// usage: sample_05_moe_layer [--tokens T] [--d HIDDEN] [--n INTER] [--experts E] [--top-k K]
#include <cohort/cohort.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "check.h"
#include "host_memory.h"
#include "layer.h"
#include "numbers.h"
#include "plain.h"

using namespace cohort;
using sample::copy;
using sample::draw;
using sample::must;

namespace {

LayerShape read_shape(int argc, char** argv) {
  LayerShape s;
  bool good = argc % 2 == 1;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view name = argv[i];
    const int64_t value = std::atoll(argv[i + 1]);
    good = good && value >= 1 && value <= 65536;
    if (name == "--tokens") {
      s.tokens = value;
    } else if (name == "--d") {
      s.hidden = value;
    } else if (name == "--n") {
      s.inter = value;
    } else if (name == "--experts") {
      s.experts = value;
    } else if (name == "--top-k") {
      s.top_k = value;
    } else {
      good = false;
    }
  }
  if (good && s.top_k <= s.experts) return s;
  std::printf("usage: %s [--tokens T] [--d HIDDEN] [--n INTER] [--experts E] [--top-k K]\n",
              argv[0]);
  std::exit(2);
}

double timed(sample::HostMemory& memory) {
  const auto since = std::chrono::steady_clock::now();
  memory.run();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - since).count();
}

// Hands to the backward what it reads of the forward. Returns the bytes of activations among that:
// what is neither a parameter nor routing.
int64_t keep(const sample::HostMemory& forward, const sample::HostMemory& backward) {
  int64_t activations = 0;
  for (size_t i = 0; i < backward.tensors().size(); ++i) {
    const std::string name(backward.tensors()[i].name);
    if (backward.is_output(i) || name == "d_o" || name == "row_weight") continue;
    std::memcpy(backward.data(name), forward.data(name), static_cast<size_t>(forward.bytes(name)));
    if (name == "w1" || name == "w2" || name == "ends" || name == "token" || name == "row")
      continue;
    std::printf("kept for the backward: %-2s %lld bytes\n", name.c_str(),
                static_cast<long long>(backward.bytes(name)));
    activations += backward.bytes(name);
  }
  return activations;
}

}  // namespace

int main(int argc, char** argv) {
  const LayerShape s = read_shape(argc, argv);
  std::printf("%lld tokens, hidden %lld, %lld experts of %lld, top %lld\n",
              static_cast<long long>(s.tokens), static_cast<long long>(s.hidden),
              static_cast<long long>(s.experts), static_cast<long long>(s.inter),
              static_cast<long long>(s.top_k));
  const Graph forward = must(forward_graph(s));
  const Graph backward = must(backward_graph(s));
  const std::vector<Size> sizes{{"T", s.tokens}, {"R", s.rows()}};
  sample::HostMemory f(forward, must(make_plan(forward, Device::cpu())), Sizes(sizes));
  sample::HostMemory b(backward, must(make_plan(backward, Device::cpu())), Sizes(sizes));

  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  std::vector<float> logits(static_cast<size_t>(s.tokens * s.experts));
  for (float& l : logits) l = normal(random);
  PlainLayer plain{s, sample::route(logits, s.experts, s.top_k), {}, {}, {}, {}, {}};
  const sample::Routing& routing = plain.routing;
  copy(f, "ends", routing.ends);
  copy(f, "token", routing.token);
  copy(f, "row", routing.row);
  copy(f, "weight", routing.weight);
  copy(b, "row_weight", routing.row_weight);
  plain.weight.assign(routing.weight.begin(), routing.weight.end());

  const double k1 = 1 / std::sqrt(static_cast<double>(s.hidden));
  const double k2 = 1 / std::sqrt(static_cast<double>(s.inter));
  plain.x = draw(s.tokens * s.hidden, 1, random, f.data<std::byte>("x"));
  plain.w1 = draw(s.experts * 2 * s.inter * s.hidden, k1, random, f.data<std::byte>("w1"));
  plain.w2 = draw(s.experts * s.hidden * s.inter, k2, random, f.data<std::byte>("w2"));
  plain.d_o = draw(s.tokens * s.hidden, 1, random, b.data<std::byte>("d_o"));
  // The f64 loops are slow: a loss that reads some of the tokens of a large layer is enough.
  plain.every = std::max<int64_t>(1, s.rows() * s.hidden * s.inter / 30'000'000);
  for (int64_t i = 0; i < s.tokens * s.hidden; ++i) {
    if (i / s.hidden % plain.every == 0) continue;
    b.data<uint16_t>("d_o")[i] = 0;
    plain.d_o[static_cast<size_t>(i)] = 0;
  }

  const double forward_seconds = timed(f);
  const int64_t kept = keep(f, b);
  const double backward_seconds = timed(b);
  const int64_t wanted = 2 * s.tokens * s.hidden + 4 * s.tokens * s.top_k * s.inter;
  std::printf("together %lld bytes; 2Td + 4TKn is %lld\n", static_cast<long long>(kept),
              static_cast<long long>(wanted));
  std::printf("forward %.3f s, backward %.3f s\n", forward_seconds, backward_seconds);
  const bool good = check(plain, f, b) && kept == wanted;
  std::printf("%s\n", good ? "good" : "WRONG");
  return good ? 0 : 1;
}
