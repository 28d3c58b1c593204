// Named extents of a run, and how the names of a file fit the graph's.
#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <string>
#include <unordered_set>
#include <utility>

#include "cli/run_memory.h"

namespace cohort::cli {

Problem missing_tensor(std::string_view name) {
  return {"E-TENSOR", shown(name), "the file has no such tensor", "a tensor", "none"};
}
Problem unknown_tensor(std::string_view name) {
  return {"E-TENSOR", shown(name), "the graph has no such input", "inputs of the graph only",
          shown(name)};
}

void stop_with(std::vector<Problem> problems) {
  if (!problems.empty()) throw Stop{kBadGraph, std::move(problems)};
}

std::vector<Json> stored_order(const Json& weights) {
  std::vector<Json> shape(weights["shape"].begin(), weights["shape"].end());
  if (weights.contains("major") && weights["major"] == "n") std::swap(shape[1], shape[2]);
  return shape;
}

namespace {

void set_size(SizeMap& sizes, const std::string& dim, int64_t value, const std::string& from,
              const std::string& before, std::vector<Problem>& problems) {
  const auto [it, is_new] = sizes.emplace(dim, value);
  if (is_new || it->second == value) return;
  problems.push_back({"E-SIZE", dim,
                      from + " says " + std::to_string(value) + ", " + before + " says " +
                          std::to_string(it->second),
                      std::to_string(it->second), std::to_string(value)});
}

// Names under which a file has an input. Of discrete weights none: their number may be large, and
// RunMemory::load knows them.
std::vector<std::string> names_in_file(const Json& input) {
  const std::string name = input["name"];
  if (input["role"] == "weight_pointers") return {};
  if (input["role"] == "groups" && input["form"] == "whole") return {};
  if (input["role"] == "groups" && input["form"] == "slots") {
    return {name + ".begin", name + ".used"};
  }
  if (input.contains("format") && !input["format"].is_null()) return {name, name + ".scale"};
  return {name};
}

// Inputs that a file lacks, and tensors of it that belong to nothing that the graph names.
void name_problems(const Json& graph, const TensorFile& file, std::vector<Problem>& problems) {
  std::unordered_set<std::string> known;
  for (const Json& input : graph["inputs"]) {
    known.insert(input["name"].get<std::string>());
    for (const std::string& name : names_in_file(input)) {
      if (file.find(name) < 0) problems.push_back(missing_tensor(name));
    }
  }
  for (const Json& output : graph["outputs"]) known.insert(output["name"].get<std::string>());
  for (int32_t i = 0; i < file.size(); ++i) {
    const std::string name(file.name(i));
    bool is_known = known.contains(name);
    for (size_t dot = name.find('.'); !is_known && dot != std::string::npos;
         dot = name.find('.', dot + 1)) {
      is_known = known.contains(name.substr(0, dot));
    }
    if (!is_known) problems.push_back(unknown_tensor(name));
  }
}

// Extents that --size gives.
SizeMap given_sizes(const std::vector<std::string>& given, std::vector<Problem>& problems) {
  SizeMap sizes;
  for (const std::string& text : given) {
    const size_t equals = text.find('=');
    int64_t value = -1;
    const char* end = text.data() + text.size();
    const char* begin = equals == std::string::npos ? end : text.data() + equals + 1;
    const auto parsed = std::from_chars(begin, end, value);
    if (equals == 0 || parsed.ec != std::errc() || parsed.ptr != end || value < 0) {
      throw Stop{kUsage,
                 {{"E-USAGE", "", "--size wants NAME=VALUE with a value of 0 or more, got " + text,
                   "NAME=VALUE", text}}};
    }
    set_size(sizes, text.substr(0, equals), value, "--size", "another --size", problems);
  }
  return sizes;
}

// Inputs that a file has with another rank than the graph: by a name of an extent that each would
// have said.
std::map<std::string, Problem> other_ranks(const Json& graph, const TensorFile& file) {
  std::map<std::string, Problem> found;
  for (const Json& input : graph["inputs"]) {
    const std::string name = input["name"];
    const int32_t i = file.find(name);
    if (i < 0 || input["role"] == "weight_pointers") continue;
    const auto wanted = static_cast<int32_t>(input["shape"].size());
    const int32_t got = file.view(i).rank;
    if (got == wanted) continue;
    const auto extents = [](int32_t rank) {
      return std::to_string(rank) + (rank == 1 ? " extent" : " extents");
    };
    const Problem problem{"E-SHAPE", shown(name),
                          "wanted " + extents(wanted) + ", the file has " + extents(got),
                          extents(wanted), extents(got)};
    for (const Json& extent : input["shape"]) {
      if (extent.is_string()) found.emplace(extent.get<std::string>(), problem);
    }
  }
  return found;
}

// Extents that nobody gave and that count entries of an index into no rows: such an index has none.
void empty_indices(const Json& graph, const SizeMap& given, SizeMap& sizes) {
  // Only whether there are rows matters, and products of small extents do not overflow.
  SizeMap probe;
  for (const auto& [name, value] : sizes) probe[name] = std::min<int64_t>(value, 1);
  for (bool is_new = true; is_new;) {
    is_new = false;
    const SizeMap rows_of = rows_by_user(graph, probe);
    for (const Json& input : graph["inputs"]) {
      const auto rows = rows_of.find(input["name"].get<std::string>());
      if (input["role"] != "index" || rows == rows_of.end() || rows->second > 0) continue;
      const Json& dim = input["shape"][0];
      if (!dim.is_string() || given.contains(dim.get<std::string>())) continue;
      is_new |= std::exchange(probe[dim.get<std::string>()], 0) != 0;
      sizes[dim.get<std::string>()] = 0;
    }
  }
}

// What the extents of one tensor of a file say: the value of a name, and what stands beyond it.
struct StoredExtent {
  std::string name;  ///< Empty: a number.
  int64_t extra = 0;
};

void take_sizes(const TensorFile& file, const std::string& tensor, DType dtype,
                const std::vector<StoredExtent>& extents, const SizeMap& told, SizeMap& sizes,
                std::vector<Problem>& problems) {
  const int32_t i = file.find(tensor);
  if (i < 0) return;
  // Another type is a finding of RunMemory::load, which has the sizes first.
  const Result<TensorView> typed = file.view(i, dtype);
  const TensorView v = typed ? *typed : file.view(i);
  if (static_cast<size_t>(v.rank) != extents.size()) return;
  for (size_t d = 0; d < extents.size(); ++d) {
    const StoredExtent& e = extents[d];
    if (e.name.empty() || v.shape[d] < e.extra) continue;
    set_size(sizes, e.name, v.shape[d] - e.extra, "'" + tensor + "'",
             told.contains(e.name) ? "--size" : "another tensor", problems);
  }
}

// Extents that the inputs of a file say.
void sizes_in_file(const Graph& graph, const Plan& plan, const Json& json, const TensorFile& file,
                   const SizeMap& told, SizeMap& sizes, std::vector<Problem>& problems) {
  for (int32_t i = 0; i < graph.tensor_count(); ++i) {
    const TensorInfo info = plan.tensor(i);
    if (info.is_output) continue;
    std::vector<StoredExtent> extents;
    extents.reserve(static_cast<size_t>(info.rank));
    for (int32_t d = 0; d < info.rank; ++d) {
      extents.push_back({std::string(graph.tensor_symbol(i, d)), graph.tensor_extra(i, d)});
    }
    take_sizes(file, std::string(graph.tensor_name(i)), info.dtype, extents, told, sizes, problems);
  }
  // A file has the matrix of each expert of discrete weights where the graph has pointers.
  for (const Json& input : json["inputs"]) {
    if (input["role"] != "weight_pointers") continue;
    const std::vector<Json> shape = stored_order(input);
    std::vector<StoredExtent> extents;
    extents.reserve(shape.size());
    for (size_t d = 1; d < shape.size(); ++d) {
      extents.push_back({shape[d].is_string() ? shape[d].get<std::string>() : std::string()});
    }
    take_sizes(file, input["name"].get<std::string>() + ".0", dtype_of(input["dtype"]), extents,
               told, sizes, problems);
  }
}

}  // namespace

SizeMap infer_sizes(const Graph& of, const Plan& plan, const TensorFile* file,
                    const std::vector<std::string>& given) {
  const Json graph = Json::parse(of.json());
  std::vector<Problem> problems;
  const SizeMap told = given_sizes(given, problems);
  SizeMap sizes = told;
  if (file != nullptr) sizes_in_file(of, plan, graph, *file, told, sizes, problems);
  // Groups of form `starts` fill T, so T must suit what the plan wants of every group; of a want
  // that is out of reach nothing is made.
  const int64_t wanted = plan.required_group_alignment();
  const int64_t unit = wanted < (int64_t{1} << 20) ? wanted : 1;
  std::map<std::string, Problem> misfits;
  if (file != nullptr) misfits = other_ranks(graph, *file);
  std::set<std::string> told_of;  // inputs: one mistake, one finding
  for (const Json& dim : graph["dims"]) {
    const std::string name = dim["name"];
    if (sizes.contains(name)) continue;
    if (const auto misfit = misfits.find(name); misfit != misfits.end()) {
      if (told_of.insert(misfit->second.op).second) problems.push_back(misfit->second);
      continue;
    }
    if (file != nullptr) {
      std::string message = "no input's shape says it; give --size ";
      message += name;
      problems.push_back({"E-SIZE", name, message + "=VALUE", "--size", "nothing"});
      continue;
    }
    const auto bound = dim["bound"].get<int64_t>();
    const int64_t rows = (256 + unit - 1) / unit * unit;
    sizes[name] = rows <= bound ? rows : bound / unit * unit;
  }
  if (!problems.empty() && file != nullptr) name_problems(graph, *file, problems);
  stop_with(std::move(problems));
  if (file == nullptr) empty_indices(graph, told, sizes);
  return sizes;
}

}  // namespace cohort::cli
