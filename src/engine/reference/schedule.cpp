#include "engine/reference/schedule.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "base/checked.h"
#include "ir/op_record.h"
#include "numerics/layout.h"

namespace cohort::engine::reference {

using ir::kNone;

namespace {

// Calls f(value) for each value that a node consumes.
template <class F>
void each_operand(const ir::Graph& g, const ir::Node& n, F&& f) {
  if (n.in != kNone) f(n.in);
  for (size_t i = 0; i < n.op->fields.size(); ++i) {
    const ir::FieldValue& field = g.fields[static_cast<size_t>(n.first_field) + i];
    if (field.kind == ir::FieldValue::Kind::value) f(field.value);
  }
}

// fp8_tensor needs the maximum over all rows before it can write the first code.
bool needs_whole_input(const ir::Graph& g, const ir::Node& n) {
  return n.op->reference.kind == ir::Reference::Kind::quantize &&
         static_cast<Format>(g.field(n, "to").integer) == Format::fp8_tensor;
}

int64_t align(int64_t bytes) { return base::ceil_div(bytes, 256) * 256; }

}  // namespace

Schedule::Schedule(const ir::Graph& graph) {
  assign_stages(graph);
  make_regions(graph);
  find_kept(graph);
}

// A root runs after everything that makes its operands; an op that continues a chain runs with it,
// unless an operand is complete only after a whole region.
void Schedule::assign_stages(const ir::Graph& g) {
  for (const ir::Node& n : g.nodes) {
    int32_t stage = 0;
    each_operand(g, n, [&](int32_t value) {
      const int32_t producer = g.values[static_cast<size_t>(value)].node;
      if (producer == kNone) return;
      const ir::OpRecord& made_by = *g.nodes[static_cast<size_t>(producer)].op;
      const bool whole = n.op->is_root || needs_whole_input(g, n) ||
                         made_by.reference.kind == ir::Reference::Kind::reduce;
      stage = std::max(stage, stage_[static_cast<size_t>(producer)] + (whole ? 1 : 0));
    });
    stage_.push_back(stage);
  }
}

void Schedule::make_regions(const ir::Graph& g) {
  std::vector<int32_t> parent(g.nodes.size());
  std::iota(parent.begin(), parent.end(), 0);
  const std::function<int32_t(int32_t)> root = [&](int32_t i) {
    while (parent[static_cast<size_t>(i)] != i) i = parent[static_cast<size_t>(i)];
    return i;
  };
  for (size_t i = 0; i < g.nodes.size(); ++i) {
    if (g.nodes[i].op->is_root) continue;
    each_operand(g, g.nodes[i], [&](int32_t value) {
      const int32_t producer = g.values[static_cast<size_t>(value)].node;
      if (producer == kNone || stage_[static_cast<size_t>(producer)] != stage_[i]) return;
      const int32_t a = root(producer);
      const int32_t b = root(static_cast<int32_t>(i));
      parent[static_cast<size_t>(std::max(a, b))] = std::min(a, b);
    });
  }
  region_of.assign(g.nodes.size(), kNone);
  for (size_t i = 0; i < g.nodes.size(); ++i) {
    const auto r = static_cast<size_t>(root(static_cast<int32_t>(i)));
    if (region_of[r] == kNone) {
      region_of[r] = static_cast<int32_t>(regions.size());
      regions.push_back({stage_[i], {}, {}, kNone});
    }
    region_of[i] = region_of[r];
    Region& region = regions[static_cast<size_t>(region_of[i])];
    region.nodes.push_back(static_cast<int32_t>(i));
    const ir::Node& n = g.nodes[i];
    // Rows are those of the piped value, or of the root's result.
    const ir::Value& v = g.values[static_cast<size_t>(n.op->is_root ? n.first_result : n.in)];
    region.rows = v.shape[0];
    if (region.groups == kNone) region.groups = v.groups;
  }
  // Regions keep their numbers in region_of, so the order is kept apart as a stable sort by stage.
  std::vector<int32_t> order(regions.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    return regions[static_cast<size_t>(a)].stage < regions[static_cast<size_t>(b)].stage;
  });
  std::vector<Region> sorted;
  std::vector<int32_t> position(regions.size());
  for (int32_t r : order) {
    position[static_cast<size_t>(r)] = static_cast<int32_t>(sorted.size());
    sorted.push_back(std::move(regions[static_cast<size_t>(r)]));
  }
  regions = std::move(sorted);
  for (int32_t& r : region_of) r = position[static_cast<size_t>(r)];
}

void Schedule::find_kept(const ir::Graph& g) {
  kept.assign(g.values.size(), false);
  for (size_t i = 0; i < g.nodes.size(); ++i) {
    each_operand(g, g.nodes[i], [&](int32_t value) {
      const int32_t producer = g.values[static_cast<size_t>(value)].node;
      if (producer == kNone) return;
      if (region_of[static_cast<size_t>(producer)] != region_of[i]) {
        kept[static_cast<size_t>(value)] = true;
      }
    });
  }
}

int64_t Schedule::element_bytes(const ir::Value& v, ir::SymbolSizes sizes) {
  int64_t elements = 1;
  for (int d = 0; d < v.shape.rank; ++d) elements *= ir::extent_at(v.shape[d], sizes);
  return align(v.scaled ? base::ceil_div(elements * bits(v.dtype), 8) : elements * 4);
}

int64_t Schedule::kept_bytes(const ir::Graph& g, int32_t value, ir::SymbolSizes sizes) const {
  if (!kept[static_cast<size_t>(value)]) return 0;
  const ir::Value& v = g.values[static_cast<size_t>(value)];
  int64_t total = element_bytes(v, sizes);
  if (!v.scaled) return total;
  const int64_t rows = ir::extent_at(v.shape[0], sizes);
  const int64_t features = ir::extent_at(v.shape[1], sizes);
  const FormatInfo f = info(v.scaled->format);
  const int64_t block = f.block > 0 ? f.block : std::max<int64_t>(features, 1);
  if (f.scale == DType::f32) return total + align(rows * base::ceil_div(features, block) * 4 + 4);
  const int64_t groups =
      v.groups == kNone ? 1 : g.values[static_cast<size_t>(v.groups)].shape[0].bound;
  return total +
         align(*numerics::scale_buffer_bytes(v.scaled->layout, rows, features, block, groups));
}

std::string Schedule::explain(const ir::Graph& g) const {
  std::string s;
  for (size_t r = 0; r < regions.size(); ++r) {
    s += "region " + std::to_string(r) + ":";
    for (int32_t n : regions[r].nodes)
      s += std::string(" ") + g.nodes[static_cast<size_t>(n)].op->name;
    s += "\n";
  }
  return s;
}

}  // namespace cohort::engine::reference
