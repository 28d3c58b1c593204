#include "engine/reference/schedule.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>

#include "base/checked.h"
#include "base/diagnostics.h"
#include "numerics/layout.h"

namespace cohort::engine::reference {

using ir::kNone;

namespace {

// fp8_tensor needs the maximum over all rows before it can write the first code.
bool needs_whole_input(const ir::Graph& g, const ir::Node& n) {
  return n.op->reference.kind == ir::Reference::Kind::quantize &&
         static_cast<Format>(g.field(n, "to").integer) == Format::fp8_tensor;
}

// The groups that divide the rows of a node: those of any of its operands; the others have none.
int32_t groups_of(const ir::Graph& g, const ir::Node& n) {
  const ir::Value& result = g.values[static_cast<size_t>(n.first_result)];
  if (n.op->is_root) return result.groups;
  int32_t groups = kNone;
  each_operand(g, n, [&](int32_t value) {
    const ir::Value& v = g.values[static_cast<size_t>(value)];
    if (groups == kNone) groups = v.groups;
  });
  return groups;
}

// A size that fits in 63 bits, with room to be aligned.
int64_t fitting(std::optional<int64_t> size) {
  if (size && *size >= 0 && *size <= std::numeric_limits<int64_t>::max() - 4096) return *size;
  throw base::FindingsError{base::make_findings(
      ErrorKind::limit,
      {.code = "E-OVERFLOW",
       .op = "workspace",
       .wanted = "a size below 2^63 bytes",
       .got = "more",
       .message = "the size of a value between two products does not fit in 63 bits"})};
}

int64_t align(int64_t bytes) { return base::ceil_div(bytes, 256) * 256; }

}  // namespace

Schedule::Schedule(const ir::Graph& graph) : places(graph) {
  assign_stages(graph);
  make_regions(graph);
  find_kept(graph);
  find_needs(graph);
}

// A root runs after everything that makes its operands; an op that continues a chain runs with it,
// unless an operand is complete only after a whole region. Rows without groups are walked all,
// rows with groups are not: they never share a region.
void Schedule::assign_stages(const ir::Graph& g) {
  for (const ir::Node& n : g.nodes) {
    int32_t stage = 0;
    each_operand(g, n, [&](int32_t value) {
      const int32_t producer = g.values[static_cast<size_t>(value)].node;
      if (producer == kNone) return;
      const ir::OpRecord& made_by = *g.nodes[static_cast<size_t>(producer)].op;
      const bool whole = n.op->is_root || needs_whole_input(g, n) ||
                         made_by.reference.kind == ir::Reference::Kind::reduce ||
                         groups_of(g, g.nodes[static_cast<size_t>(producer)]) != groups_of(g, n);
      stage = std::max(stage, stage_[static_cast<size_t>(producer)] + (whole ? 1 : 0));
    });
    stage_.push_back(stage);
  }
}

void Schedule::make_regions(const ir::Graph& g) {
  std::vector<int32_t> parent(g.nodes.size());
  std::iota(parent.begin(), parent.end(), 0);
  const auto root = [&](int32_t i) {  // halves the way for the next search
    while (parent[static_cast<size_t>(i)] != i) {
      int32_t& up = parent[static_cast<size_t>(i)];
      i = up = parent[static_cast<size_t>(up)];
    }
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
    region.groups = groups_of(g, n);
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

// Blocks of layout global lie at fixed rows, whatever the groups are: a block that two groups
// shared would need two scales. Ragged e2m1 are packed in pairs within the matrix of each group: a
// kernel addresses it by bytes, so it begins and ends at one.
void Schedule::find_needs(const ir::Graph& g) {
  needs.resize(g.values.size());
  for (const ir::Node& n : g.nodes) {
    const int32_t named = n.op->field_index("groups") < 0 ? kNone : g.operand(n, "groups");
    const int32_t groups = named == kNone ? groups_of(g, n) : named;
    if (groups == kNone) continue;
    GroupNeeds& need = needs[static_cast<size_t>(groups)];
    const auto look = [&](int32_t number) {
      const ir::Value& v = g.values[static_cast<size_t>(number)];
      if (!v.scaled || v.scaled->axis != Axes::col || v.absent) return;
      if (v.scaled->layout == ScaleLayout::global) {
        need.begin = std::max<int64_t>(need.begin, info(v.scaled->format).block);  // powers of two
      }
      if (v.scaled->storage == ColStorage::ragged && v.dtype == DType::e2m1) need.pairs = true;
    };
    each_operand(g, n, look);
    for (size_t p = 0; p < n.op->results.size(); ++p) {
      look(n.first_result + static_cast<int32_t>(p));
    }
  }
}

int64_t Schedule::element_bytes(const ir::Value& v, ir::SymbolSizes sizes) {
  int64_t elements = 1;
  for (int d = 0; d < v.shape.rank; ++d) {
    elements = fitting(base::checked_mul(elements, ir::extent_at(v.shape[d], sizes)));
  }
  const int64_t total_bits = fitting(base::checked_mul(elements, v.scaled ? bits(v.dtype) : 32));
  return align(base::ceil_div(total_bits, 8));
}

int64_t Schedule::kept_bytes(const ir::Graph& g, int32_t value, ir::SymbolSizes sizes) const {
  if (!kept[static_cast<size_t>(value)]) return 0;
  const ir::Value& v = g.values[static_cast<size_t>(value)];
  const int64_t total = element_bytes(v, sizes);
  if (!v.scaled) return total;
  const int64_t rows = ir::extent_at(v.shape[0], sizes);
  const int64_t features = ir::extent_at(v.shape[1], sizes);
  const FormatInfo f = info(v.scaled->format);
  const int64_t block = f.block > 0 ? f.block : std::max<int64_t>(features, 1);
  const int64_t groups =
      v.groups == kNone ? 1 : g.values[static_cast<size_t>(v.groups)].shape[0].bound;
  const auto scales =
      f.scale == DType::f32
          ? base::checked_mul(base::checked_mul(rows, base::ceil_div(features, block)).value_or(-1),
                              4)
          : numerics::scale_buffer_bytes(v.scaled->layout, rows, features, block, groups);
  return fitting(base::checked_add(total, align(fitting(scales) + 4)));
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
