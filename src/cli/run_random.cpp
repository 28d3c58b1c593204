// Inputs at random that suit the graph.
#include <cohort/numerics.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "cli/run_memory.h"

namespace cohort::cli {

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

// Rows that each groups input divides and that each index may name: the ops that use them say so.
SizeMap RunMemory::rows_by_user() const {
  SizeMap rows_of;
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
  return rows_of;
}

void RunMemory::randomize(uint64_t seed) {
  Random random(seed);
  SizeMap rows_of = rows_by_user();
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
