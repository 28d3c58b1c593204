// Replays any stored graph: reads a graph and a file with its inputs and outputs, runs the graph on
// the inputs and says of each output whether its bytes are the stored ones.
#include <cohort/cohort.h>
#include <cohort/safetensors.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "host_memory.h"
#include "stored_sizes.h"

using namespace cohort;
using sample::must;

namespace {

std::string read(const std::string& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

}  // namespace

int main(int argc, char** argv) {
  const std::string folder = argc > 1 ? argv[1] : "../04_store";
  const Graph graph = must(parse_json(read(folder + "/graph.json")));
  const TensorFile file = must(TensorFile::read(folder + "/tensors.safetensors"));
  const Plan plan = must(make_plan(graph, Device::cpu()));
  const std::vector<Size> sizes = sample::sizes_of(graph, plan, file);
  std::printf("graph '%s'", std::string(graph.name()).c_str());
  for (const Size& s : sizes) {
    std::printf(", %s = %lld", std::string(s.name).c_str(), static_cast<long long>(s.value));
  }
  std::printf("\n");

  sample::HostMemory memory(graph, plan, Sizes(sizes));
  const auto stored = [&](const NamedTensor& t) {
    return must(file.view(file.find(t.name), t.view.dtype)).data;
  };
  for (size_t i = 0; i < memory.tensors().size(); ++i) {
    const NamedTensor& t = memory.tensors()[i];
    const auto bytes = static_cast<size_t>(memory.bytes(t.name));
    if (!memory.is_output(i)) std::memcpy(t.view.data, stored(t), bytes);
  }
  memory.run();

  bool equal = true;
  for (const NamedTensor& t : memory.outputs()) {
    const auto bytes = static_cast<size_t>(memory.bytes(t.name));
    const bool same = std::memcmp(t.view.data, stored(t), bytes) == 0;
    std::printf("%-10s %7zu bytes  %s\n", std::string(t.name).c_str(), bytes,
                same ? "equal" : "DIFFERENT");
    equal = equal && same;
  }
  return equal ? 0 : 1;
}
