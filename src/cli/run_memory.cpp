#include "cli/run_memory.h"

#include <unistd.h>

#include <cohort/numerics.h>

#include <algorithm>
#include <cstring>
#include <unordered_set>

namespace cohort::cli {

DType dtype_of(const std::string& word) {
  for (int i = 0; !name(static_cast<DType>(i)).empty(); ++i) {
    if (name(static_cast<DType>(i)) == word) return static_cast<DType>(i);
  }
  return DType::f32;
}

namespace {

Format format_of(const std::string& word) {
  for (int i = 0; !name(static_cast<Format>(i)).empty(); ++i) {
    if (name(static_cast<Format>(i)) == word) return static_cast<Format>(i);
  }
  return Format::mxfp8_e4m3;
}

}  // namespace

int64_t extent_of(const Json& extent, const SizeMap& sizes) {
  return extent.is_string() ? sizes.at(extent.get<std::string>()) : extent.get<int64_t>();
}

int64_t byte_count(const TensorView& v) {
  int64_t n = bits(v.dtype);
  for (int d = 0; d < v.rank; ++d) {
    if (__builtin_mul_overflow(n, v.shape[d], &n)) throw std::bad_alloc();
  }
  return n / 8 + (n % 8 != 0 ? 1 : 0);
}

namespace {

// Calls visit(bytes into the strided memory, bytes into packed memory, bytes) for every row.
template <class F>
void for_each_row(const TensorView& v, const F& visit) {
  TensorView packed = v;
  packed.pack();
  if (byte_count(v) == 0) return;
  const bool is_packed = std::equal(v.strides, v.strides + v.rank, packed.strides);
  if (is_packed || v.rank == 0) return visit(int64_t{0}, int64_t{0}, byte_count(v));
  const int last = v.rank - 1;
  const bool whole_rows = v.strides[last] == 1;
  const int64_t run = whole_rows ? v.shape[last] : 1;
  const int64_t width = bits(v.dtype);
  const int64_t total = byte_count(v) * 8 / width;
  for (int64_t at = 0; at + run <= total; at += run) {
    int64_t left = at;
    int64_t element = 0;
    for (int d = last; d >= 0; --d) {
      element += left % v.shape[d] * v.strides[d];
      left /= v.shape[d];
    }
    visit(element * width / 8, at * width / 8, (run * width + 7) / 8);
  }
}

}  // namespace

std::vector<std::byte> packed_bytes(const TensorView& v) {
  std::vector<std::byte> all(static_cast<size_t>(byte_count(v)));
  for_each_row(v, [&](int64_t from, int64_t to, int64_t n) {
    std::memcpy(all.data() + to, static_cast<const std::byte*>(v.data) + from,
                static_cast<size_t>(n));
  });
  return all;
}

void put_packed(const TensorView& v, const std::byte* packed) {
  for_each_row(v, [&](int64_t to, int64_t from, int64_t n) {
    std::memcpy(static_cast<std::byte*>(v.data) + to, packed + from, static_cast<size_t>(n));
  });
}

RunMemory::RunMemory(const Graph& graph, const Plan& plan, const SizeMap& sizes)
    : graph_(Json::parse(graph.json())),
      group_alignment_(plan.required_group_alignment()),
      size_map_(sizes) {
  for (const auto& [name, value] : size_map_) sizes_.push_back({name, value});
  tensors_.reserve(static_cast<size_t>(graph.tensor_count()));  // index_ points to them
  for (int32_t i = 0; i < graph.tensor_count(); ++i) {
    const TensorInfo info = value_of(plan.tensor(i, graph, sizes_));
    TensorView v;
    v.dtype = info.dtype;
    v.rank = info.rank;
    std::copy(info.shape, info.shape + info.rank, v.shape);
    std::copy(info.strides, info.strides + info.rank, v.strides);
    v.data = allocate(graph.tensor_name(i), info.bytes);
    tensors_.push_back({graph.tensor_name(i), v});
    index_.emplace(tensors_.back().name, &tensors_.back());
    is_output_.push_back(info.is_output);
  }
  for (const Json& input : graph_["inputs"]) {
    if (input["role"] == "weight_pointers") add_pointers(input);
  }
  for (const Json& output : graph_["outputs"]) {
    if (output["discrete"].get<bool>()) add_output_pointers(graph, output);
  }
}

// A matrix for each expert of discrete gradients, named "dw.0".
void RunMemory::add_output_pointers(const Graph& graph, const Json& output) {
  const std::string name = output["name"];
  const ResultInfo result =
      graph.result(std::stoll(output["value"].get<std::string>().substr(1)), 0);
  const auto extent = [&](int d) {
    return result.symbol[d].empty() ? result.bound[d] : size_map_.at(std::string(result.symbol[d]));
  };
  const TensorView& array = find(name)->view;
  for (int64_t e = 0; e < array.shape[0]; ++e) {
    TensorView v = TensorView::packed(nullptr, dtype_of(output["dtype"]), {extent(1), extent(2)});
    v.data = allocate(name + "." + std::to_string(e), byte_count(v));
    static_cast<int64_t*>(array.data)[e] =
        static_cast<int64_t>(reinterpret_cast<uintptr_t>(v.data));
    output_matrices_.push_back({kept_name(name + "." + std::to_string(e)), v});
  }
}

namespace {

Stop no_memory(std::string_view tensor, int64_t bytes, const std::string& why) {
  const std::string wanted = std::to_string(bytes) + " bytes";
  return {kBadGraph, {{"E-MEMORY", shown(tensor), "no memory for its " + wanted + why, wanted}}};
}

}  // namespace

std::byte* RunMemory::allocate(std::string_view tensor, int64_t bytes) {
  const size_t size = (static_cast<size_t>(bytes) + 127) / 64 * 64;
  // The kernel grants what it does not have and ends the process later; say so instead.
  const auto most = static_cast<int64_t>(::sysconf(_SC_PHYS_PAGES)) * ::sysconf(_SC_PAGESIZE);
  if (bytes > most - allocated_) {
    throw no_memory(tensor, bytes,
                    allocated_ > 0 ? " beside the " + std::to_string(allocated_) +
                                         " of others: the machine has " + std::to_string(most)
                                   : ": the machine has " + std::to_string(most));
  }
  allocated_ += bytes;
  Buffer buffer(std::aligned_alloc(64, size));
  if (buffer == nullptr) throw no_memory(tensor, bytes, "");
  std::memset(buffer.get(), 0, size);
  buffers_.push_back(std::move(buffer));
  return static_cast<std::byte*>(buffers_.back().get());
}

NamedTensor* RunMemory::find(const std::string& name) {
  const auto it = index_.find(name);
  return it == index_.end() ? nullptr : it->second;
}

void RunMemory::add_expert(std::string name, const TensorView& view) {
  experts_.push_back({kept_name(std::move(name)), view});
  index_.emplace(experts_.back().name, &experts_.back());
}

namespace {

// Of the outputs: no result is an integer.
bool is_array_of_pointers(const NamedTensor& output) { return output.view.dtype == DType::i64; }

}  // namespace

std::vector<NamedTensor> RunMemory::outputs() const {
  std::vector<NamedTensor> all;
  for (size_t i = 0; i < tensors_.size(); ++i) {
    if (is_output_[i] && !is_array_of_pointers(tensors_[i])) all.push_back(tensors_[i]);
  }
  all.insert(all.end(), output_matrices_.begin(), output_matrices_.end());
  return all;
}

std::string_view RunMemory::kept_name(std::string name) {
  names_.push_back(std::make_unique<std::string>(std::move(name)));
  return *names_.back();
}

// A matrix and its scales for each expert of discrete weights, named "w.0", "w.0.scale".
void RunMemory::add_pointers(const Json& input) {
  const std::string name = input["name"];
  const std::vector<Json> shape = stored_order(input);
  const int64_t experts = extent_of(shape[0], size_map_);
  const int64_t n = extent_of(input["shape"][1], size_map_);
  const int64_t k = extent_of(input["shape"][2], size_map_);
  auto* data = static_cast<int64_t*>(find(name)->view.data);
  NamedTensor* const scales = find(name + ".scale");
  for (int64_t e = 0; e < experts; ++e) {
    const std::string base = name + "." + std::to_string(e);
    TensorView v =
        TensorView::packed(nullptr, dtype_of(input["dtype"]),
                           {extent_of(shape[1], size_map_), extent_of(shape[2], size_map_)});
    v.data = allocate(base, byte_count(v));
    data[e] = static_cast<int64_t>(reinterpret_cast<uintptr_t>(v.data));
    add_expert(base, v);
    if (input["format"].is_null()) continue;
    const FormatInfo f = info(format_of(input["format"]));
    const int64_t block = f.block > 0 ? f.block : std::max<int64_t>(k, 1);
    TensorView s;
    if (f.scale == DType::f32) {
      const bool per_tensor = input["format"] == "fp8_tensor";
      const int64_t rows = per_tensor ? 1 : f.block == 128 ? (n + 127) / 128 : n;
      s = TensorView::packed(nullptr, f.scale, {rows, f.block == 128 ? (k + 127) / 128 : 1});
    } else {
      const auto layout =
          input["layout"] == "linear" ? ScaleLayout::linear : ScaleLayout::tiled_128x4;
      s = TensorView::packed(nullptr, f.scale, {value_of(scale_bytes(layout, n, k, block))});
    }
    s.data = allocate(base + ".scale", byte_count(s));
    static_cast<int64_t*>(scales->view.data)[e] =
        static_cast<int64_t>(reinterpret_cast<uintptr_t>(s.data));
    add_expert(base + ".scale", s);
  }
}

bool RunMemory::fits(const TensorFile& file, const std::string& from, const NamedTensor& to,
                     std::vector<Problem>& problems) {
  const Result<TensorView> v = file.view(file.find(from), to.view.dtype);
  if (!v) {
    for (const Finding& f : v.findings()) {
      problems.push_back({std::string(f.code), shown(f.op), std::string(f.message),
                          std::string(f.wanted), std::string(f.got), shown(f.field),
                          std::string(f.hint)});
    }
    return false;
  }
  if (v->rank == to.view.rank && std::equal(v->shape, v->shape + v->rank, to.view.shape)) {
    return true;
  }
  const auto text = [](const TensorView& t) {
    std::string s = "[";
    for (int d = 0; d < t.rank; ++d) s += (d > 0 ? ", " : "") + std::to_string(t.shape[d]);
    return s + "]";
  };
  problems.push_back({"E-SHAPE", shown(from),
                      "wanted " + text(to.view) + ", the file has " + text(*v), text(to.view),
                      text(*v)});
  return false;
}

// Straight to where it belongs: a copy of the file beside it would double the memory.
void RunMemory::copy(const TensorFile& file, const std::string& from, const NamedTensor& to,
                     std::vector<Problem>& problems) {
  if (!fits(file, from, to, problems)) return;
  TensorView packed = to.view;
  packed.pack();
  const bool is_packed = std::equal(packed.strides, packed.strides + packed.rank, to.view.strides);
  std::vector<std::byte> rows(is_packed ? 0 : static_cast<size_t>(byte_count(to.view)));
  const Status read = file.copy_to(file.find(from), is_packed ? to.view.data : rows.data());
  if (!read) throw Failure{read.findings()};
  if (!is_packed) put_packed(to.view, rows.data());
}

void RunMemory::load(const TensorFile& file) {
  std::vector<Problem> problems;
  std::vector<bool> used(static_cast<size_t>(file.size()), false);
  // True when the file has it.
  const auto use = [&](const std::string& from) {
    const int32_t i = file.find(from);
    if (i >= 0) used[static_cast<size_t>(i)] = true;
    return i >= 0;
  };
  const auto take_input = [&](const NamedTensor& to) {
    const std::string from(to.name);
    if (!use(from)) return problems.push_back(missing_tensor(from));
    copy(file, from, to, problems);
  };
  // A file may hold what an earlier run made as well: not read, yet of the right type and shape.
  const auto take_output = [&](const NamedTensor& to) {
    const std::string name(to.name);
    if (use(name + ".init")) copy(file, name + ".init", to, problems);
    if (use(name)) fits(file, name, to, problems);
  };
  std::unordered_set<std::string> pointers;
  for (const Json& input : graph_["inputs"]) {
    if (input["role"] != "weight_pointers") continue;
    pointers.insert(input["name"].get<std::string>());
    pointers.insert(input["name"].get<std::string>() + ".scale");
  }
  for (size_t i = 0; i < tensors_.size(); ++i) {
    const NamedTensor& t = tensors_[i];
    if (is_output_[i]) {
      if (!is_array_of_pointers(t)) take_output(t);
    } else if (!pointers.contains(std::string(t.name))) {
      take_input(t);
    }
  }
  for (const NamedTensor& t : experts_) take_input(t);
  for (const NamedTensor& t : output_matrices_) take_output(t);
  for (int32_t i = 0; i < file.size(); ++i) {
    if (!used[static_cast<size_t>(i)]) problems.push_back(unknown_tensor(file.name(i)));
  }
  stop_with(std::move(problems));
}

void RunMemory::load_outputs(const TensorFile& file) const {
  std::vector<Problem> problems;
  for (const NamedTensor& t : outputs()) {
    const std::string name(t.name);
    if (file.find(name) < 0) {
      problems.push_back(missing_tensor(name));
    } else {
      copy(file, name, t, problems);
    }
  }
  stop_with(std::move(problems));
}

}  // namespace cohort::cli
