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

std::vector<Json> stored_order(const Json& input) {
  std::vector<Json> shape(input["shape"].begin(), input["shape"].end());
  const bool n_major = input.contains("major") && input["major"] == "n";
  const bool transposed = input.contains("storage") && input["storage"] == "transposed";
  if (n_major && shape.size() == 3) std::swap(shape[1], shape[2]);
  if (transposed && shape.size() == 2) std::swap(shape[0], shape[1]);
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

}  // namespace

SizeMap infer_sizes(const Json& graph, const TensorFile* file,
                    const std::vector<std::string>& given) {
  std::vector<Problem> problems;
  const SizeMap told = given_sizes(given, problems);
  SizeMap sizes = told;
  for (const Json& input : graph["inputs"]) {
    if (file == nullptr || input["role"] == "weight_pointers") continue;
    const std::string name = input["name"];
    const int32_t i = file->find(name);
    const std::vector<Json> shape = stored_order(input);
    if (i < 0) continue;
    const TensorView v = file->view(i);
    if (static_cast<size_t>(v.rank) != shape.size()) continue;
    for (size_t d = 0; d < shape.size(); ++d) {
      if (!shape[d].is_string()) continue;
      const bool packed = input["dtype"] == "e2m1" && d + 1 == shape.size();
      set_size(sizes, shape[d], packed && v.shape[d] <= INT64_MAX / 2 ? 2 * v.shape[d] : v.shape[d],
               "'" + name + "'",
               told.contains(shape[d].get<std::string>()) ? "--size" : "another tensor", problems);
    }
  }
  // Groups of form `starts` fill T, so T must suit the alignment that they promise.
  int64_t unit = 1;
  for (const Json& input : graph["inputs"]) {
    if (input["role"] != "groups") continue;
    const auto rows = input["row_alignment"].get<int64_t>();
    if (rows > unit && rows < (int64_t{1} << 20)) unit = rows;
  }
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
