// Inputs at random that suit the graph.
#include <cohort/numerics.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <set>

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
    for (int64_t left = count > 0 ? rows / unit : 0; left > 0; --left) {
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

// Numbers below `limit`, each once, in random order; -1 where they do not suffice.
void put_distinct(const TensorView& v, int64_t limit, Random& random) {
  std::vector<int64_t> places(static_cast<size_t>(std::max(limit, v.shape[0])), -1);
  for (int64_t k = 0; k < limit; ++k) places[static_cast<size_t>(k)] = k;
  for (int64_t k = static_cast<int64_t>(places.size()) - 1; k > 0; --k) {
    std::swap(places[static_cast<size_t>(k)], places[static_cast<size_t>(random.below(k + 1))]);
  }
  for (int64_t k = 0; k < v.shape[0]; ++k) put_integer(v, k, places[static_cast<size_t>(k)]);
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

// The nodes and outputs that use groups and indices say so.
SizeMap rows_by_user(const Json& graph, const SizeMap& sizes) {
  SizeMap rows_of;
  std::map<std::string, const Json*> inputs;
  for (const Json& i : graph["inputs"]) inputs[i["name"]] = &i;
  std::map<std::string, int64_t> node_rows;
  int64_t number = 0;
  const auto extents = [&](const std::string& name) {
    std::vector<int64_t> e;
    for (const Json& x : (*inputs.at(name))["shape"]) e.push_back(extent_of(x, sizes));
    return e;
  };
  const auto count = [&](const std::string& name) {
    int64_t n = 1;
    for (int64_t e : extents(name)) n *= e;
    return n;
  };
  const auto rows_of_operand = [&](const std::string& reference) {
    if (reference[0] == '%') return node_rows[reference.substr(0, reference.find('.'))];
    return extents(reference)[0];
  };
  const auto given = [](const Json& item, const char* key) {
    return item.contains(key) && !item[key].is_null();
  };
  for (const Json& n : graph["nodes"]) {
    int64_t rows = 0;
    for (const char* source : {"in", "a", "x", "y", "d_out"}) {
      if (!given(n, source)) continue;
      rows = rows_of_operand(n[source]);
      break;
    }
    // An index, and what it names rows of.
    for (const auto& [key, source] : {std::pair{"gather", "a"}, std::pair{"gather_a", "a"},
                                      std::pair{"gather_b", "b"}, std::pair{"rev", "y"}}) {
      if (!given(n, key)) continue;
      rows_of[n[key]] = rows_of_operand(n[source]);
      if (std::string_view(key) != "gather_b") rows = extents(n[key])[0];
    }
    if (given(n, "scat")) {
      const int64_t tokens = rows_of_operand(n["d_out"]);
      rows_of[n["scat"]] =
          given(n, "koff") ? count(n["weights"]) : tokens * n["top_k"].get<int64_t>();
      rows = extents(n["scat"])[0];
    }
    if (given(n, "groups")) rows_of[n["groups"]] = rows;
    if (given(n, "koff")) {
      rows_of[n["koff"]] = count(given(n, "rev") ? n["rev"] : n["weights"]);
      if (given(n, "rev")) rows = extents(n["koff"])[0];
    }
    node_rows["%" + std::to_string(number++)] = rows;
  }
  for (const Json& o : graph["outputs"]) {
    if (!given(o, "scatter")) continue;
    const int64_t places = extent_of(o["rows"], sizes) / o["top_k"].get<int64_t>();
    rows_of[o["scatter"].get<std::string>() + "!"] = places;
    if (given(o, "slot")) rows_of[o["slot"]] = o["top_k"].get<int64_t>();
  }
  return rows_of;
}

void RunMemory::randomize(uint64_t seed) {
  Random random(seed);
  // Entries of a token are no rows of a product or of a block: their groups keep what they promise.
  std::set<std::string> of_entries;
  for (const Json& n : graph_["nodes"]) {
    if (n.contains("koff") && !n["koff"].is_null()) of_entries.insert(n["koff"]);
  }
  SizeMap rows_of = rows_by_user(graph_, size_map_);
  for (const Json& i : graph_["inputs"]) {
    const std::string name = i["name"];
    const std::string role = i["role"];
    if (role == "groups") {
      if (i["form"] == "whole") continue;
      const bool slots = i["form"] == "slots";
      const int64_t unit =
          of_entries.contains(name) ? i["row_alignment"].get<int64_t>() : group_alignment_;
      const std::vector<int64_t> sizes =
          random.groups(extent_of(i["shape"][0], size_map_), rows_of[name], unit);
      put_groups(i, sizes, unit, find(slots ? name + ".begin" : name)->view,
                 slots ? &find(name + ".used")->view : nullptr);
      continue;
    }
    if (role == "weight_pointers") continue;
    const TensorView& v = find(name)->view;
    if (role == "index") {
      const int64_t entries = byte_count(v) * 8 / bits(v.dtype);
      if (rows_of.contains(name + "!")) {
        put_distinct(v, rows_of[name + "!"], random);
        continue;
      }
      // An index into nothing names no row.
      const int64_t limit = rows_of[name];
      for (int64_t k = 0; k < entries; ++k) put_integer(v, k, limit > 0 ? random.below(limit) : -1);
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
