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

using namespace cohort;

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

// Memory for every tensor of a graph, by name.
class Memory {
 public:
  Memory(const Graph& graph, const Plan& plan, Sizes sizes) {
    buffers_.resize(static_cast<size_t>(graph.tensor_count()));
    for (int32_t i = 0; i < graph.tensor_count(); ++i) {
      const TensorInfo info = *plan.tensor(i, graph, sizes);
      std::vector<std::byte>& b = buffers_[static_cast<size_t>(i)];
      b.resize(static_cast<size_t>(info.bytes) + 64);
      TensorView v;
      v.data = b.data() + (64 - reinterpret_cast<uintptr_t>(b.data()) % 64);
      v.dtype = info.dtype;
      v.rank = info.rank;
      std::memcpy(v.shape, info.shape, sizeof v.shape);
      v.pack();
      (info.is_output ? outputs : inputs).push_back({graph.tensor_name(i), v});
    }
  }
  std::vector<NamedTensor> all() const {
    std::vector<NamedTensor> t = inputs;
    t.insert(t.end(), outputs.begin(), outputs.end());
    return t;
  }
  std::vector<NamedTensor> inputs;
  std::vector<NamedTensor> outputs;

 private:
  std::vector<std::vector<std::byte>> buffers_;
};

// Unit-scale f32 data, quantised to MXFP8 as the graph wants it.
void fill(const Memory& memory) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  const auto find = [&](std::string_view name) {
    for (const NamedTensor& t : memory.inputs) {
      if (t.name == name) return t.view.data;
    }
    return static_cast<void*>(nullptr);
  };
  const QuantizeSpec spec{.format = Format::mxfp8_e4m3};
  const auto quantised = [&](std::string_view name, int64_t matrices, int64_t rows) {
    std::vector<float> values(static_cast<size_t>(rows * kHidden));
    auto* codes = static_cast<std::byte*>(find(name));
    auto* scales = static_cast<std::byte*>(find(std::string(name) + ".scale"));
    const int64_t step = *scale_bytes(ScaleLayout::tiled_128x4, rows, kHidden, 32);
    for (int64_t m = 0; m < matrices; ++m) {
      for (float& v : values) v = normal(random);
      const Status s = quantize_rows(spec, values.data(), rows, kHidden, codes + m * rows * kHidden,
                                     scales + m * step);
      if (!s) std::fprintf(stderr, "%s\n", std::string(s.findings().text()).c_str());
    }
  };
  quantised("x", 1, kTokens);
  quantised("w", kExperts, kInter);
  std::memcpy(find("ends"), kEnds, sizeof kEnds);
  auto* prob = static_cast<float*>(find("prob"));
  for (int64_t i = 0; i < kTokens; ++i) prob[i] = std::uniform_real_distribution<float>()(random);
}

bool run(const Graph& graph, const Plan& plan, const Memory& memory) {
  const auto tensors = memory.all();
  Result<Execution> execution = plan.bind(graph, {{"T", kTokens}}, tensors);
  if (!execution) {
    std::printf("%s\n", std::string(execution.findings().text()).c_str());
    return false;
  }
  std::vector<std::byte> workspace(static_cast<size_t>(execution->workspace_bytes()) + 256);
  void* aligned = workspace.data() + (256 - reinterpret_cast<uintptr_t>(workspace.data()) % 256);
  const Status status = execution->run(aligned);
  if (!status) std::printf("%s\n", std::string(status.findings().text()).c_str());
  return static_cast<bool>(status);
}

int fail(const Findings& findings) {
  std::printf("%s\n", std::string(findings.text()).c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string folder = argc > 1 ? argv[1] : ".";
  const std::string graph_path = folder + "/fc1.json";
  const std::string tensor_path = folder + "/fc1.safetensors";

  Result<Graph> graph = describe();
  if (!graph) return fail(graph.findings());
  std::printf("graph\n%s\n", std::string(graph->json()).c_str());

  Result<Plan> plan = make_plan(graph, Device::cpu());
  if (!plan) return fail(plan.findings());
  std::printf("plan\n%s\n", std::string(plan->explain()).c_str());

  Memory memory(*graph, *plan, {{"T", kTokens}});
  fill(memory);
  if (!run(*graph, *plan, memory)) return 1;

  if (Status s = write_text(graph_path, graph->json()); !s) return fail(s.findings());
  const auto stored = memory.all();
  if (Status s = write_safetensors(tensor_path, stored); !s) return fail(s.findings());

  // Replay from the files alone.
  std::ifstream in(graph_path);
  std::stringstream text;
  text << in.rdbuf();
  Result<Graph> again = parse_json(text.str());
  if (!again) return fail(again.findings());
  Result<TensorFile> file = TensorFile::read(tensor_path);
  if (!file) return fail(file.findings());
  Memory replayed(*again, *plan, {{"T", kTokens}});
  for (const NamedTensor& t : replayed.inputs) {
    const Result<TensorView> v = file->view(file->find(t.name), t.view.dtype);
    if (!v) return fail(v.findings());
    const int32_t i = again->tensor_index(t.name);
    std::memcpy(t.view.data, v->data,
                static_cast<size_t>(plan->tensor(i, *again, {{"T", kTokens}})->bytes));
  }
  if (!run(*again, *plan, replayed)) return 1;

  bool equal = again->json() == graph->json();
  for (size_t o = 0; o < memory.outputs.size(); ++o) {
    const int32_t i = graph->tensor_index(memory.outputs[o].name);
    const auto bytes = static_cast<size_t>(plan->tensor(i, *graph, {{"T", kTokens}})->bytes);
    // The unused end of a per_group scale buffer is nobody's: only written bytes are compared.
    const bool same =
        std::memcmp(memory.outputs[o].view.data, replayed.outputs[o].view.data, bytes) == 0;
    std::printf("%-10s %9zu bytes  %s\n", std::string(memory.outputs[o].name).c_str(), bytes,
                same ? "equal" : "DIFFERENT");
    equal = equal && same;
  }
  std::printf("%lld tokens, %lld experts, hidden %lld, intermediate %lld\n",
              static_cast<long long>(kTokens), static_cast<long long>(kExperts),
              static_cast<long long>(kHidden), static_cast<long long>(kInter));
  std::printf("replay from %s and %s: %s\n", graph_path.c_str(), tensor_path.c_str(),
              equal ? "byte-equal" : "DIFFERENT");
  return equal ? 0 : 1;
}
