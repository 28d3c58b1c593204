#include "cli/run_memory.h"

#include <unistd.h>

#include <cohort/numerics.h>

#include <algorithm>
#include <charconv>
#include <cstring>

namespace cohort::cli {

namespace {

DType dtype_of(const std::string& word) {
  for (int i = 0; !name(static_cast<DType>(i)).empty(); ++i) {
    if (name(static_cast<DType>(i)) == word) return static_cast<DType>(i);
  }
  return DType::f32;
}

Format format_of(const std::string& word) {
  for (int i = 0; !name(static_cast<Format>(i)).empty(); ++i) {
    if (name(static_cast<Format>(i)) == word) return static_cast<Format>(i);
  }
  return Format::mxfp8_e4m3;
}

// Extents of an input in the order in which its elements stand.
std::vector<Json> stored_order(const Json& input) {
  std::vector<Json> shape(input["shape"].begin(), input["shape"].end());
  const bool n_major = input.contains("major") && input["major"] == "n";
  const bool transposed = input.contains("storage") && input["storage"] == "transposed";
  if (n_major && shape.size() == 3) std::swap(shape[1], shape[2]);
  if (transposed && shape.size() == 2) std::swap(shape[0], shape[1]);
  return shape;
}

void set_size(SizeMap& sizes, const std::string& dim, int64_t value, const std::string& from) {
  const auto [it, is_new] = sizes.emplace(dim, value);
  if (is_new || it->second == value) return;
  throw Stop{kBadGraph, "E-SIZE " + dim + ": " + from + " says " + std::to_string(value) +
                            ", another tensor says " + std::to_string(it->second)};
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

SizeMap infer_sizes(const Json& graph, const TensorFile* file,
                    const std::vector<std::string>& given) {
  SizeMap sizes;
  for (const std::string& text : given) {
    const size_t equals = text.find('=');
    int64_t value = -1;
    const char* end = text.data() + text.size();
    const char* begin = equals == std::string::npos ? end : text.data() + equals + 1;
    const auto parsed = std::from_chars(begin, end, value);
    if (equals == 0 || parsed.ec != std::errc() || parsed.ptr != end || value < 0) {
      throw Stop{kUsage, "--size wants NAME=VALUE with a value of 0 or more, got " + text};
    }
    set_size(sizes, text.substr(0, equals), value, "--size");
  }
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
      set_size(sizes, shape[d], v.shape[d] * (packed ? 2 : 1), "'" + name + "'");
    }
  }
  // Groups of form `starts` fill T, so T must suit the alignment that they promise.
  int64_t unit = 1;
  for (const Json& input : graph["inputs"]) {
    if (input["role"] != "groups") continue;
    const auto rows = input["row_alignment"].get<int64_t>();
    if (rows > unit && rows < (int64_t{1} << 20)) unit = rows;
  }
  for (const Json& dim : graph["dims"]) {
    const std::string name = dim["name"];
    if (sizes.contains(name)) continue;
    if (file != nullptr) {
      std::string message = "E-SIZE ";
      message += name;
      message += ": no input's shape says it; give --size ";
      message += name;
      throw Stop{kBadGraph, message + "=VALUE"};
    }
    const auto bound = dim["bound"].get<int64_t>();
    const int64_t rows = (256 + unit - 1) / unit * unit;
    sizes[name] = rows <= bound ? rows : bound / unit * unit;
  }
  return sizes;
}

RunMemory::RunMemory(const Graph& graph, const Plan& plan, const SizeMap& sizes)
    : graph_(Json::parse(graph.json())), size_map_(sizes) {
  for (const auto& [name, value] : size_map_) sizes_.push_back({name, value});
  for (int32_t i = 0; i < graph.tensor_count(); ++i) {
    const TensorInfo info = value_of(plan.tensor(i, graph, sizes_));
    TensorView v;
    v.dtype = info.dtype;
    v.rank = info.rank;
    std::copy(info.shape, info.shape + info.rank, v.shape);
    std::copy(info.strides, info.strides + info.rank, v.strides);
    v.data = allocate(info.bytes);
    tensors_.push_back({graph.tensor_name(i), v});
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
    v.data = allocate(byte_count(v));
    static_cast<int64_t*>(array.data)[e] =
        static_cast<int64_t>(reinterpret_cast<uintptr_t>(v.data));
    output_matrices_.push_back({kept_name(name + "." + std::to_string(e)), v});
  }
}

std::byte* RunMemory::allocate(int64_t bytes) {
  const size_t size = (static_cast<size_t>(bytes) + 127) / 64 * 64;
  // The kernel grants what it does not have and ends the process later; say so instead.
  const auto most = static_cast<int64_t>(::sysconf(_SC_PHYS_PAGES)) * ::sysconf(_SC_PAGESIZE);
  if (bytes > most - allocated_) {
    throw Stop{kBadGraph, "E-MEMORY: the tensors of this run need more than the " +
                              std::to_string(most >> 20) + " MiB of this machine"};
  }
  allocated_ += bytes;
  Buffer buffer(std::aligned_alloc(64, size));
  if (buffer == nullptr) throw std::bad_alloc();
  std::memset(buffer.get(), 0, size);
  buffers_.push_back(std::move(buffer));
  return static_cast<std::byte*>(buffers_.back().get());
}

NamedTensor* RunMemory::find(const std::string& name) {
  for (NamedTensor& t : tensors_) {
    if (t.name == name) return &t;
  }
  for (NamedTensor& t : experts_) {
    if (t.name == name) return &t;
  }
  return nullptr;
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
  for (int64_t e = 0; e < experts; ++e) {
    const std::string base = name + "." + std::to_string(e);
    TensorView v =
        TensorView::packed(nullptr, dtype_of(input["dtype"]),
                           {extent_of(shape[1], size_map_), extent_of(shape[2], size_map_)});
    v.data = allocate(byte_count(v));
    data[e] = static_cast<int64_t>(reinterpret_cast<uintptr_t>(v.data));
    experts_.push_back({kept_name(base), v});
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
    s.data = allocate(byte_count(s));
    static_cast<int64_t*>(find(name + ".scale")->view.data)[e] =
        static_cast<int64_t>(reinterpret_cast<uintptr_t>(s.data));
    experts_.push_back({kept_name(base + ".scale"), s});
  }
}

void RunMemory::copy(const TensorFile& file, const std::string& from, const NamedTensor& to,
                     std::vector<std::string>& problems) {
  const Result<TensorView> v = file.view(file.find(from), to.view.dtype);
  if (!v) {
    problems.emplace_back(v.findings().text());
    return;
  }
  const bool same =
      v->rank == to.view.rank && std::equal(v->shape, v->shape + v->rank, to.view.shape);
  const bool flat = v->rank == 1 && to.view.rank >= 1 && byte_count(*v) == byte_count(to.view);
  if (!same && !flat) {
    const auto text = [](const TensorView& t) {
      std::string s = "[";
      for (int d = 0; d < t.rank; ++d) s += (d > 0 ? ", " : "") + std::to_string(t.shape[d]);
      return s + "]";
    };
    problems.push_back("E-SHAPE " + from + ": wanted " + text(to.view) + ", the file has " +
                       text(*v));
    return;
  }
  put_packed(to.view, static_cast<const std::byte*>(v->data));
}

namespace {

void stop_with(const std::vector<std::string>& problems) {
  if (problems.empty()) return;
  std::string all;
  for (const std::string& p : problems) all += (all.empty() ? "" : "\n") + p;
  throw Stop{kBadGraph, all};
}

}  // namespace

void RunMemory::load(const TensorFile& file) {
  std::vector<std::string> problems;
  std::vector<bool> used(static_cast<size_t>(file.size()), false);
  const auto take = [&](const std::string& from, const NamedTensor& to, bool required) {
    const int32_t i = file.find(from);
    if (i < 0 && required) problems.push_back("E-TENSOR " + from + ": the file has no such tensor");
    if (i < 0) return;
    used[static_cast<size_t>(i)] = true;
    copy(file, from, to, problems);
  };
  std::vector<std::string> pointers;
  for (const Json& input : graph_["inputs"]) {
    if (input["role"] != "weight_pointers") continue;
    pointers.push_back(input["name"]);
    pointers.push_back(pointers.back() + ".scale");
  }
  for (size_t i = 0; i < tensors_.size(); ++i) {
    const std::string name(tensors_[i].name);
    if (std::find(pointers.begin(), pointers.end(), name) != pointers.end()) continue;
    if (is_output_[i] && is_array_of_pointers(tensors_[i])) continue;
    if (is_output_[i]) {
      take(name + ".init", tensors_[i], false);
    } else {
      take(name, tensors_[i], true);
    }
  }
  for (const NamedTensor& t : experts_) take(std::string(t.name), t, true);
  for (const NamedTensor& t : output_matrices_) take(std::string(t.name) + ".init", t, false);
  for (int32_t i = 0; i < file.size(); ++i) {
    const bool is_output = [&] {
      const NamedTensor* t = find(std::string(file.name(i)));
      return t != nullptr;
    }();
    if (used[static_cast<size_t>(i)] || is_output) continue;
    problems.push_back("E-TENSOR " + std::string(file.name(i)) + ": the graph has no such input");
  }
  stop_with(problems);
}

void RunMemory::load_outputs(const TensorFile& file) {
  std::vector<std::string> problems;
  for (const NamedTensor& t : outputs()) {
    const std::string name(t.name);
    if (file.find(name) < 0) {
      problems.push_back("E-TENSOR " + name + ": the file has no such tensor");
    } else {
      copy(file, name, t, problems);
    }
  }
  stop_with(problems);
}

}  // namespace cohort::cli
