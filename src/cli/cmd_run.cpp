#include <cohort/compare.h>

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <system_error>

#include "cli/bar.h"
#include "cli/commands.h"
#include "cli/run_memory.h"

namespace cohort::cli {

namespace {

double execute(const Graph& graph, const Plan& plan, const RunMemory& memory) {
  const Execution execution = value_of(plan.bind(graph, memory.sizes(), memory.tensors()));
  const auto bytes = static_cast<size_t>(execution.workspace_bytes());
  const std::unique_ptr<void, decltype(&std::free)> workspace(
      bytes > 0 ? std::aligned_alloc(256, (bytes + 255) / 256 * 256) : nullptr, &std::free);
  if (bytes > 0 && workspace == nullptr) {
    throw Stop{kBadGraph,
               {{"E-MEMORY", "workspace", "no memory for its " + std::to_string(bytes) + " bytes",
                 std::to_string(bytes) + " bytes"}}};
  }
  Bar bar;
  RunOptions options;
  if (::isatty(2) != 0) {
    options.progress = Bar::update;
    options.user = &bar;
  }
  const Status status = execution.run(workspace.get(), {}, options);
  if (!status) throw Failure{status.findings()};
  return std::chrono::duration<double>(Bar::Clock::now() - bar.begin).count();
}

// Outputs that differ in a byte from what the reference engine makes of the same inputs: for graphs
// with an op that has no error bound.
std::vector<std::string> different_bytes(const Graph& graph, const RunMemory& got,
                                         const std::function<void(RunMemory&)>& fill) {
  PlanOptions options;
  options.engine = "reference";
  const Plan plan = value_of(make_plan(graph, Device::cpu(), options));
  SizeMap sizes;
  for (const Size& s : got.sizes()) sizes[std::string(s.name)] = s.value;
  RunMemory wanted(graph, plan, sizes);
  fill(wanted);
  execute(graph, plan, wanted);
  const auto a = got.outputs();
  const auto b = wanted.outputs();
  std::vector<std::string> different;
  for (size_t i = 0; i < a.size(); ++i) {
    if (packed_bytes(a[i].view) != packed_bytes(b[i].view)) different.emplace_back(a[i].name);
  }
  return different;
}

// What --compare found: by bound, or byte by byte.
struct Compared {
  std::optional<Comparison> bounds;
  std::vector<std::string> different;  ///< Outputs that have something wrong.
  int64_t elements = 0;                ///< Looked at, of all outputs.
  std::string text;                    ///< A line an output.
};

Compared compare_with_reference(const Graph& graph, const RunMemory& memory,
                                const std::function<void(RunMemory&)>& fill) {
  Compared c;
  const Result<Comparison> bounds = cohort::compare(graph, memory.sizes(), memory.tensors(), {});
  if (bounds) {
    c.bounds = *bounds;
    c.text = bounds->text();
    for (int32_t i = 0; i < bounds->size(); ++i) {
      if ((*bounds)[i].wrong > 0) c.different.emplace_back((*bounds)[i].tensor);
      c.elements += (*bounds)[i].elements;
    }
    return c;
  }
  if (bounds.findings().kind() != ErrorKind::unsupported) throw Failure{bounds.findings()};
  c.different = different_bytes(graph, memory, fill);
  for (const NamedTensor& o : memory.outputs()) {
    c.elements += byte_count(o.view) * 8 / bits(o.view.dtype);
  }
  c.text = "compared byte by byte: " + std::string(bounds.findings().text()) + "\n";
  for (const std::string& name : c.different) c.text += name + ": bytes differ\n";
  return c;
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

// What a run came to, as JSON or for a person.
void print_run(const Common& common, const RunArguments& a, const Plan& plan, const RunMemory& m,
               double seconds, const Compared& compared) {
  const bool good = compared.different.empty();
  Json sizes = Json::object();
  for (const Size& s : m.sizes()) sizes[std::string(s.name)] = s.value;
  if (common.json) {
    Json names = Json::array();
    for (const NamedTensor& o : m.outputs()) names.push_back(o.name);
    Json j{{"ok", good},          {"engine", plan.engine()},      {"device", plan.device().name()},
           {"sizes", sizes},      {"seconds", seconds},           {"outputs", names},
           {"compared", nullptr}, {"compared_elements", nullptr}, {"different", nullptr}};
    if (!a.compare.empty()) {
      j["compared"] = a.compare;
      j["compared_elements"] = compared.elements;
      j["different"] = compared.different;
    }
    if (compared.bounds) j["comparison"] = comparison_json(*compared.bounds);
    print(j.dump(1) + "\n");
    return;
  }
  std::string s = "results from " + a.results;
  if (a.results.empty()) {
    char time[40];
    std::snprintf(time, sizeof time, " in %.3f s", seconds);
    s = "ran on " + std::string(plan.engine()) + time;
  }
  for (const auto& [name, value] : sizes.items()) s += ", " + name + " = " + value.dump();
  s += "\n";
  if (!a.compare.empty() && good) {
    s += compared.elements == 0 ? "nothing was compared with "
         : compared.bounds      ? "within the bounds of "
                                : "equal to ";
    s += a.compare + ":\n" + compared.text;
  }
  if (!a.outputs.empty()) s += "outputs in " + a.outputs + "\n";
  print(s);
}

// Outputs take the place of what stood at their path: never that of what they were made from.
void want_other_file(const Common& common, const RunArguments& a) {
  for (const std::string& read : {common.graph, a.inputs, a.results}) {
    std::error_code none;
    if (a.outputs.empty() || !std::filesystem::is_regular_file(a.outputs, none) ||
        !std::filesystem::equivalent(read, a.outputs, none)) {
      continue;
    }
    throw Stop{kUsage,
               {{"E-USAGE", "", "--outputs: wanted another file than '" + read + "', which is read",
                 "another file", a.outputs}}};
  }
}

}  // namespace

int run(const Common& common, const RunArguments& a) {
  want_other_file(common, a);
  const Graph graph = read_graph(common);
  const Device device = value_of(Device::find(a.arch));
  PlanOptions options;
  options.engine = a.engine;
  const Plan plan = value_of(make_plan(graph, device, options));
  std::optional<TensorFile> file;
  if (!a.random) file = value_of(TensorFile::open(a.inputs));
  RunMemory memory(graph, plan, infer_sizes(graph, plan, file ? &*file : nullptr, a.sizes));
  const auto fill = [&](RunMemory& m) {
    if (file) {
      m.load(*file);
    } else {
      m.randomize(a.seed);
    }
  };
  fill(memory);
  double seconds = 0;
  if (a.results.empty()) {
    seconds = execute(graph, plan, memory);
  } else {
    memory.load_outputs(value_of(TensorFile::open(a.results)));
  }
  Compared compared;
  if (!a.compare.empty()) compared = compare_with_reference(graph, memory, fill);
  if (!a.outputs.empty()) store(a.outputs, memory.outputs());
  print_run(common, a, plan, memory, seconds, compared);
  if (!a.compare.empty() && compared.elements == 0) {
    std::fputs("nothing was compared: no row of an output belongs to a group, or all are empty\n",
               stderr);
  }
  if (compared.different.empty()) return kOk;
  compared.text.erase(compared.text.find_last_not_of('\n') + 1);
  throw Stop{kBadGraph,
             {{"E-DIFFERENT", "", "outputs differ from " + a.compare + ":\n" + compared.text}},
             true};
}

}  // namespace cohort::cli
