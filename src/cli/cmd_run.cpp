#include <cohort/compare.h>

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

// How each output lies to the reference, under its derived bound.
Json comparison_json(const Comparison& c) {
  Json all = Json::array();
  for (int32_t i = 0; i < c.size(); ++i) {
    const TensorComparison& t = c[i];
    Json one{{"tensor", t.tensor},
             {"elements", t.elements},
             {"wrong", t.wrong},
             {"largest_error_in_bounds", t.largest}};
    if (t.wrong > 0) {
      Json index = Json::array();
      for (int32_t d = 0; d < t.rank; ++d) index.push_back(t.index[d]);
      // JSON has no NaN: numbers as text.
      const auto number = [](double x) {
        char text[40];
        std::snprintf(text, sizeof text, "%.9g", x);
        return std::string(text);
      };
      one["first_wrong"] = {{"index", index},
                            {"wanted", number(t.wanted)},
                            {"got", number(t.got)},
                            {"bound", number(t.bound)}};
    }
    all.push_back(one);
  }
  return all;
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
  RunMemory memory(graph, plan, sizes);
  if (file) {
    memory.load(*file);
  } else {
    memory.randomize(a.seed);
  }
  double seconds = 0;
  if (a.results.empty()) {
    seconds = execute(graph, plan, memory);
  } else {
    memory.load_outputs(value_of(TensorFile::read(a.results)));
  }
  std::optional<Comparison> compared;
  if (!a.compare.empty()) {
    compared = value_of(cohort::compare(graph, memory.sizes(), memory.tensors(), {}));
  }
  const bool good = !compared || compared->good();
  const auto outputs = memory.outputs();
  if (!a.outputs.empty()) store(a.outputs, outputs);
  if (common.json) {
    Json names = Json::array();
    for (const NamedTensor& o : outputs) names.push_back(o.name);
    Json j{{"ok", good},           {"engine", plan.engine()}, {"device", device.name()},
           {"sizes", sizes},       {"seconds", seconds},      {"outputs", names},
           {"compared", a.compare}};
    if (compared) {
      j["comparison"] = comparison_json(*compared);
      j["different"] = Json::array();
      for (int32_t i = 0; i < compared->size(); ++i) {
        if ((*compared)[i].wrong > 0) j["different"].push_back((*compared)[i].tensor);
      }
    }
    print(j.dump(1) + "\n");
  } else {
    std::string s =
        a.results.empty() ? "ran on " + std::string(plan.engine()) : "results from " + a.results;
    for (const auto& [name, value] : sizes) s += ", " + name + " = " + std::to_string(value);
    char time[40];
    std::snprintf(time, sizeof time, ", %.3f s", seconds);
    s += a.results.empty() ? std::string(time) + "\n" : "\n";
    if (compared && good) s += "within the bounds of " + a.compare + ":\n";
    if (compared && good) s += std::string(compared->text());
    if (!a.outputs.empty()) s += "outputs in " + a.outputs + "\n";
    print(s);
  }
  if (good) return kOk;
  throw Stop{kBadGraph, "E-DIFFERENT: outputs differ from " + a.compare + ":\n" +
                            std::string(compared->text())};
}

}  // namespace cohort::cli
