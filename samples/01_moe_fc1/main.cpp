// The first layer of a mixture of experts on a machine without a GPU: MXFP8 grouped GEMM, squared
// ReLU, routing gate, row and column quantisation. Describes it, plans it, runs it, stores it as
// JSON and safetensors, replays it from the files and compares.
#include <cohort/cohort.h>
#include <cohort/numerics.h>
#include <cohort/safetensors.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "host_memory.h"

using namespace cohort;
using sample::must;

namespace {

constexpr int64_t kExperts = 8;
constexpr int64_t kHidden = 256;
constexpr int64_t kInter = 512;
constexpr int32_t kEnds[kExperts] = {40, 168, 168, 296, 330, 458, 470, 512};  // the third is empty
constexpr int64_t kTokens = kEnds[kExperts - 1];

Result<Graph> describe() {
  Builder g("fc1");
  Dim T = g.dynamic("T", 65536);  // one plan serves every T up to the bound
  auto x = g.scaled_input("x", {T, kHidden}, Format::mxfp8_e4m3);
  auto w = g.scaled_weights("w", {kExperts, kInter, kHidden}, Format::mxfp8_e4m3);
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

// Unit-scale f32 data, quantised to MXFP8 as the graph wants it.
void fill(const sample::HostMemory& memory) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  const QuantizeSpec spec{.format = Format::mxfp8_e4m3};
  const auto quantised = [&](std::string_view name, int64_t matrices, int64_t rows) {
    std::vector<float> values(static_cast<size_t>(rows * kHidden));
    auto* codes = memory.data<std::byte>(name);
    auto* scales = memory.data<std::byte>(std::string(name) + ".scale");
    const int64_t step = *scale_bytes(ScaleLayout::tiled_128x4, rows, kHidden, 32);
    for (int64_t m = 0; m < matrices; ++m) {
      for (float& v : values) v = normal(random);
      must(quantize_rows(spec, values.data(), rows, kHidden, codes + m * rows * kHidden,
                         scales + m * step));
    }
  };
  quantised("x", 1, kTokens);
  quantised("w", kExperts, kInter);
  std::memcpy(memory.data("ends"), kEnds, sizeof kEnds);
  auto* prob = memory.data<float>("prob");
  for (int64_t i = 0; i < kTokens; ++i) prob[i] = std::uniform_real_distribution<float>()(random);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string folder = argc > 1 ? argv[1] : ".";
  const std::string graph_path = folder + "/fc1.json";
  const std::string tensor_path = folder + "/fc1.safetensors";

  const Graph graph = must(describe());
  std::printf("graph\n%s\n", std::string(graph.json()).c_str());
  const Plan plan = must(make_plan(graph, Device::cpu()));
  std::printf("plan\n%s\n", std::string(plan.explain()).c_str());

  sample::HostMemory memory(graph, plan, {{"T", kTokens}});
  fill(memory);
  memory.run();
  std::printf(
      "ran with %lld tokens, %lld experts (one without tokens), hidden %lld, intermediate %lld\n",
      static_cast<long long>(kTokens), static_cast<long long>(kExperts),
      static_cast<long long>(kHidden), static_cast<long long>(kInter));
  must(write_text(graph_path, graph.json()));
  must(write_safetensors(tensor_path, memory.tensors()));

  // Replay from the files alone.
  std::ifstream in(graph_path);
  std::stringstream text;
  text << in.rdbuf();
  const Graph again = must(parse_json(text.str()));
  const TensorFile file = must(TensorFile::read(tensor_path));
  sample::HostMemory replayed(again, must(make_plan(again, Device::cpu())), {{"T", kTokens}});
  for (size_t i = 0; i < replayed.tensors().size(); ++i) {
    const NamedTensor& t = replayed.tensors()[i];
    if (replayed.is_output(i)) continue;
    const TensorView stored = must(file.view(file.find(t.name), t.view.dtype));
    std::memcpy(t.view.data, stored.data, static_cast<size_t>(replayed.bytes(t.name)));
  }
  replayed.run();

  std::printf("stored the graph in %s, the tensors in %s; replayed from these files alone\n",
              graph_path.c_str(), tensor_path.c_str());
  bool equal = again.json() == graph.json();
  for (const NamedTensor& t : memory.outputs()) {
    const auto bytes = static_cast<size_t>(memory.bytes(t.name));
    const bool same = std::memcmp(t.view.data, replayed.data(t.name), bytes) == 0;
    std::printf("  %-10s %9zu bytes  %s\n", std::string(t.name).c_str(), bytes,
                same ? "equal" : "DIFFERENT");
    equal = equal && same;
  }
  std::printf("all outputs of the replay: %s\n", equal ? "byte-equal" : "DIFFERENT");
  return equal ? 0 : 1;
}
