// A program that makes something worth keeping: it runs a graph once and stores the graph as JSON,
// inputs and outputs as safetensors. Sample 04_replay, which knows nothing of it, runs it again.
#include <cohort/cohort.h>
#include <cohort/numerics.h>
#include <cohort/safetensors.h>

#include <cstdio>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "host_memory.h"

using namespace cohort;
using sample::must;

namespace {

constexpr int64_t kExperts = 4, kHidden = 128, kInter = 192, kTokens = 100;

// bf16 tokens, a bias and a routing gate; e4m3 rows for the next layer, and the largest |y|.
Result<Graph> describe() {
  Builder g("fc1_bias_gate");
  Dim T = g.dynamic("T", 4096);
  auto x = g.input("x", {T, kHidden}, DType::bf16);
  auto w = g.weights("w", {kExperts, kInter, kHidden}, DType::bf16);
  auto counts = g.groups("counts", kExperts, GroupForm::counts);
  auto bias = g.group_matrix("bias", {kExperts, kInter});
  auto prob = g.row_input("prob", T);
  auto y = g.add(GroupedGemm{.a = x, .b = w, .groups = counts})
               .then(Bias{.by = bias})
               .then(ReluSquared{})
               .then(RowGate{.by = prob});
  auto quantized = y.then(Quantize{.to = Format::mxfp8_e4m3});
  g.output("amax", y.then(Amax{.per = AmaxPer::expert}));
  g.output("y", quantized.row);
  return std::move(g).finish();
}

void fill(const sample::HostMemory& memory) {
  std::mt19937 random(4);
  std::normal_distribution<float> normal;
  const auto draw = [&](std::string_view name, DType dtype, int64_t count) {
    std::vector<float> values(static_cast<size_t>(count));
    for (float& v : values) v = normal(random);
    must(encode(dtype, values.data(), count, memory.data<std::byte>(name)));
  };
  draw("x", DType::bf16, kTokens * kHidden);
  draw("w", DType::bf16, kExperts * kInter * kHidden);
  draw("bias", DType::f32, kExperts * kInter);
  draw("prob", DType::f32, kTokens);
  const int32_t counts[kExperts] = {37, 0, 50, 13};
  std::memcpy(memory.data("counts"), counts, sizeof counts);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string folder = argc > 1 ? argv[1] : ".";
  const Graph graph = must(describe());
  const Plan plan = must(make_plan(graph, Device::cpu()));
  sample::HostMemory memory(graph, plan, {{"T", kTokens}});
  fill(memory);
  memory.run();

  // The outputs go into the same file: whoever replays the graph compares with them.
  must(write_text(folder + "/graph.json", graph.json()));
  must(write_safetensors(folder + "/tensors.safetensors", memory.tensors()));
  std::printf("stored graph.json and tensors.safetensors (%zu tensors) in %s\n",
              memory.tensors().size(), folder.c_str());
  return 0;
}
