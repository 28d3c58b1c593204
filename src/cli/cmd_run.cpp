#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>

#include "cli/commands.h"
#include "cli/run_memory.h"

namespace cohort::cli {

namespace {

using Clock = std::chrono::steady_clock;

// A bar on a terminal, once the work has taken a second.
struct Bar {
  Clock::time_point begin = Clock::now();
  int shown = -1;

  static bool update(int64_t done, int64_t total, void* user) {
    Bar& bar = *static_cast<Bar*>(user);
    if (Clock::now() - bar.begin < std::chrono::seconds(1)) return true;
    const int percent = total > 0 ? static_cast<int>(100 * done / total) : 100;
    if (percent == bar.shown) return true;
    bar.shown = percent;
    std::string line(static_cast<size_t>(percent) / 2, '#');
    line.resize(50, '.');
    std::fprintf(stderr, "\r[%s] %3d %%", line.c_str(), percent);
    return true;
  }
  ~Bar() {
    if (shown >= 0) std::fprintf(stderr, "\r%60s\r", "");
  }
};

double execute(const Graph& graph, const Plan& plan, const RunMemory& memory) {
  const Execution execution = value_of(plan.bind(graph, memory.sizes(), memory.tensors()));
  const auto bytes = static_cast<size_t>(execution.workspace_bytes());
  const std::unique_ptr<void, decltype(&std::free)> workspace(
      bytes > 0 ? std::aligned_alloc(256, (bytes + 255) / 256 * 256) : nullptr, &std::free);
  if (bytes > 0 && workspace == nullptr) throw std::bad_alloc();
  Bar bar;
  RunOptions options;
  if (::isatty(2) != 0) {
    options.progress = Bar::update;
    options.user = &bar;
  }
  const Status status = execution.run(workspace.get(), {}, options);
  if (!status) throw Failure{status.findings()};
  return std::chrono::duration<double>(Clock::now() - bar.begin).count();
}

// Outputs that differ in a byte from what the reference engine makes of the same inputs.
std::vector<std::string> compare(const RunMemory& got, const RunMemory& wanted) {
  std::vector<std::string> different;
  const auto a = got.outputs();
  const auto b = wanted.outputs();
  for (size_t i = 0; i < a.size(); ++i) {
    if (packed_bytes(a[i].view) != packed_bytes(b[i].view)) different.emplace_back(a[i].name);
  }
  return different;
}

// Stores outputs packed, as the file format wants them.
void store(const std::string& path, std::vector<NamedTensor> outputs) {
  std::vector<std::vector<std::byte>> packed;
  for (NamedTensor& o : outputs) {
    packed.push_back(packed_bytes(o.view));
    o.view.data = packed.back().data();
    o.view.pack();
  }
  const Status s = write_safetensors(path, outputs);
  if (!s) throw Failure{s.findings()};
}

}  // namespace

int run(const Common& common, const RunArguments& a) {
  const Graph graph = read_graph(common);
  const Device device = value_of(Device::find(a.arch));
  PlanOptions options;
  options.engine = a.engine;
  const Plan plan = value_of(make_plan(graph, device, options));
  std::optional<TensorFile> file;
  if (!a.random) file = value_of(TensorFile::read(a.inputs));
  const Json json = Json::parse(graph.json());
  const SizeMap sizes = infer_sizes(json, file ? &*file : nullptr, a.sizes);
  const auto fill = [&](RunMemory& m) {
    if (file) {
      m.load(*file);
    } else {
      m.randomize(a.seed);
    }
  };
  RunMemory memory(graph, plan, sizes);
  fill(memory);
  const double seconds = execute(graph, plan, memory);

  std::vector<std::string> different;
  if (!a.compare.empty()) {
    PlanOptions reference;
    reference.engine = "reference";
    const Plan other = value_of(make_plan(graph, Device::cpu(), reference));
    RunMemory wanted(graph, other, sizes);
    fill(wanted);
    execute(graph, other, wanted);
    different = compare(memory, wanted);
  }
  const auto outputs = memory.outputs();
  if (!a.outputs.empty()) store(a.outputs, outputs);
  if (common.json) {
    Json names = Json::array();
    for (const NamedTensor& o : outputs) names.push_back(o.name);
    const Json j{{"ok", different.empty()}, {"engine", plan.engine()}, {"device", device.name()},
                 {"sizes", sizes},          {"seconds", seconds},      {"outputs", names},
                 {"compared", a.compare},   {"different", different}};
    print(j.dump(1) + "\n");
  } else {
    std::string s = "ran on " + std::string(plan.engine());
    for (const auto& [name, value] : sizes) s += ", " + name + " = " + std::to_string(value);
    char time[40];
    std::snprintf(time, sizeof time, ", %.3f s\n", seconds);
    s += time;
    if (!a.compare.empty() && different.empty()) s += "equal to " + a.compare + "\n";
    if (!a.outputs.empty()) s += "outputs in " + a.outputs + "\n";
    print(s);
  }
  if (different.empty()) return kOk;
  std::string names;
  for (const std::string& n : different) names += " " + n;
  throw Stop{kBadGraph, "E-DIFFERENT: outputs that differ from " + a.compare + ":" + names};
}

}  // namespace cohort::cli
