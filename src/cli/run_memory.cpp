#include "cli/run_memory.h"

#include <unistd.h>

#include <cohort/numerics.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <random>

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

int64_t extent_of(const Json& extent, const SizeMap& sizes) {
  return extent.is_string() ? sizes.at(extent.get<std::string>()) : extent.get<int64_t>();
}

void set_size(SizeMap& sizes, const std::string& dim, int64_t value, const std::string& from) {
  const auto [it, is_new] = sizes.emplace(dim, value);
  if (is_new || it->second == value) return;
  throw Stop{kBadGraph, "E-SIZE " + dim + ": " + from + " says " + std::to_string(value) +
                            ", another tensor says " + std::to_string(it->second)};
}

}  // namespace

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
      throw Stop{kBadGraph,
                 "E-SIZE " + name + ": no input's shape says it; give --size " + name + "=VALUE"};
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

std::vector<NamedTensor> RunMemory::outputs() const {
  std::vector<NamedTensor> all;
  for (size_t i = 0; i < tensors_.size(); ++i) {
    if (is_output_[i]) all.push_back(tensors_[i]);
  }
  return all;
}

// A matrix and its scales for each expert of discrete weights, named "w.0", "w.0.scale".
void RunMemory::add_pointers(const Json& input) {
  static std::vector<std::unique_ptr<std::string>> names;  // views of names live as long
  const auto keep = [](std::string name) -> std::string_view {
    names.push_back(std::make_unique<std::string>(std::move(name)));
    return *names.back();
  };
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
    experts_.push_back({keep(base), v});
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
    experts_.push_back({keep(base + ".scale"), s});
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
    if (is_output_[i]) {
      take(name + ".init", tensors_[i], false);
    } else {
      take(name, tensors_[i], true);
    }
  }
  for (const NamedTensor& t : experts_) take(std::string(t.name), t, true);
  for (int32_t i = 0; i < file.size(); ++i) {
    const bool is_output = [&] {
      const NamedTensor* t = find(std::string(file.name(i)));
      return t != nullptr;
    }();
    if (used[static_cast<size_t>(i)] || is_output) continue;
    problems.push_back("E-TENSOR " + std::string(file.name(i)) + ": the graph has no such input");
  }
  if (problems.empty()) return;
  std::string all;
  for (const std::string& p : problems) all += (all.empty() ? "" : "\n") + p;
  throw Stop{kBadGraph, all};
}

namespace {

// Data of about unit scale for one kind of tensor.
class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}

  int64_t below(int64_t n) {
    return n <= 0 ? 0 : static_cast<int64_t>(engine_() % static_cast<uint64_t>(n));
  }

  void values(const TensorView& v, float scale) {
    const int64_t n = byte_count(v) * 8 / bits(v.dtype);
    std::vector<float> x(static_cast<size_t>(n));
    for (float& f : x) f = normal_(engine_) * scale;
    std::vector<std::byte> codes(static_cast<size_t>(byte_count(v)));
    const Status done = encode(v.dtype, x.data(), n, codes.data());
    if (!done) throw Failure{done.findings()};
    put_packed(v, codes.data());
  }

  // One factor between 0.5 and 1.5: a scale or a norm of 0 or less would make no sense.
  void factor(const TensorView& v) {
    const float f = 0.5f + static_cast<float>(below(1024)) / 1024;
    (void)encode(v.dtype, &f, 1, static_cast<std::byte*>(v.data));
  }

  // Scales that bring elements of values(v, spread) back to about one.
  void scales(const TensorView& v, float spread) {
    if (v.dtype == DType::f32) {
      auto* f = static_cast<float*>(v.data);
      for (int64_t i = 0; i < byte_count(v) / 4; ++i) {
        f[i] = (0.5f + static_cast<float>(below(1024)) / 1024) / spread;
      }
      return;
    }
    auto* b = static_cast<uint8_t*>(v.data);
    const int center = v.dtype == DType::e4m3 ? 0x30 : 127 - std::ilogb(spread);
    for (int64_t i = 0; i < byte_count(v); ++i) b[i] = static_cast<uint8_t>(center + below(3) - 1);
  }

  // Sizes of `count` groups of `rows` rows: multiples of `unit`, the middle one empty.
  std::vector<int64_t> groups(int64_t count, int64_t rows, int64_t unit) {
    std::vector<int64_t> sizes(static_cast<size_t>(count), 0);
    const int64_t empty = count / 2;
    for (int64_t left = rows / unit; left > 0; --left) {
      int64_t g = below(count);
      if (g == empty && count > 1) g = (g + 1) % count;
      sizes[static_cast<size_t>(g)] += unit;
    }
    return sizes;
  }

 private:
  std::mt19937_64 engine_;
  std::normal_distribution<float> normal_;
};

void put_integer(const TensorView& v, int64_t i, int64_t x) {
  if (v.dtype == DType::i64) {
    static_cast<int64_t*>(v.data)[i] = x;
  } else {
    static_cast<int32_t*>(v.data)[i] = static_cast<int32_t>(x);
  }
}

// Offsets of groups in the form that the input has.
void put_groups(const Json& input, const std::vector<int64_t>& sizes, int64_t unit,
                const TensorView& first, const TensorView* used) {
  const std::string form = input["form"];
  int64_t at = 0;
  for (size_t g = 0; g < sizes.size(); ++g) {
    const auto i = static_cast<int64_t>(g);
    const int64_t end = at + sizes[g];
    put_integer(first, i, form == "counts" ? sizes[g] : form == "ends" ? end : at);
    if (form == "boundaries") put_integer(first, i + 1, end);
    // A slot need not be full: the largest multiple of `unit` that leaves one free.
    if (used != nullptr) put_integer(*used, i, std::max<int64_t>(sizes[g] - unit, 0));
    at = end;
  }
}

float spread_of(DType element) {
  return element == DType::e2m1 ? 2.0f : element == DType::e4m3 ? 64.0f : 256.0f;
}

}  // namespace

void RunMemory::randomize(uint64_t seed) {
  Random random(seed);
  // Rows that groups divide and rows that indices may name follow from the ops that use them.
  std::map<std::string, int64_t> rows_of;
  std::map<std::string, const Json*> inputs;
  for (const Json& i : graph_["inputs"]) inputs[i["name"]] = &i;
  std::map<std::string, int64_t> node_rows;
  int64_t number = 0;
  const auto rows_of_operand = [&](const std::string& reference) {
    if (reference[0] == '%') return node_rows[reference.substr(0, reference.find('.'))];
    return extent_of((*inputs.at(reference))["shape"][0], size_map_);
  };
  for (const Json& n : graph_["nodes"]) {
    const std::string self = "%" + std::to_string(number++);
    const char* source = n.contains("in") ? "in" : n.contains("a") ? "a" : "x";
    int64_t rows = rows_of_operand(n[source]);
    if (n.contains("gather") && !n["gather"].is_null()) {
      rows_of[n["gather"]] = rows;
      rows = extent_of((*inputs.at(n["gather"]))["shape"][0], size_map_);
    }
    node_rows[self] = rows;
    if (n.contains("groups") && !n["groups"].is_null()) rows_of[n["groups"]] = rows;
  }
  for (const Json& i : graph_["inputs"]) {
    const std::string name = i["name"];
    const std::string role = i["role"];
    if (role == "groups") {
      const bool slots = i["form"] == "slots";
      const auto unit = std::max<int64_t>(i["row_alignment"].get<int64_t>(), 1);
      const std::vector<int64_t> sizes =
          random.groups(i["shape"][0].get<int64_t>(), rows_of[name], unit);
      put_groups(i, sizes, unit, find(slots ? name + ".begin" : name)->view,
                 slots ? &find(name + ".used")->view : nullptr);
      continue;
    }
    if (role == "weight_pointers") continue;
    const TensorView& v = find(name)->view;
    if (role == "index") {
      for (int64_t k = 0; k < v.shape[0]; ++k) put_integer(v, k, random.below(rows_of[name]));
    } else if (v.dtype == DType::i32 || v.dtype == DType::i64) {
      put_integer(v, 0, random.below(1000));
    } else if (role == "scalar") {
      random.factor(v);
    } else if (i.contains("format") && !i["format"].is_null()) {
      random.values(v, spread_of(v.dtype));
      random.scales(find(name + ".scale")->view, spread_of(v.dtype));
    } else {
      random.values(v, 1);
    }
  }
  for (const NamedTensor& t : experts_) {
    const std::string name(t.name);
    const bool is_scale = name.size() > 6 && name.substr(name.size() - 6) == ".scale";
    const NamedTensor* data = is_scale ? find(name.substr(0, name.size() - 6)) : &t;
    const bool scaled = is_scale || find(name + ".scale") != nullptr;
    if (is_scale) {
      random.scales(t.view, spread_of(data->view.dtype));
    } else {
      random.values(t.view, scaled ? spread_of(t.view.dtype) : 1);
    }
  }
}

}  // namespace cohort::cli
