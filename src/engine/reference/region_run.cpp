#include "engine/reference/region_run.h"

#include <algorithm>
#include <array>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/checked.h"
#include "base/diagnostics.h"
#include "base/parallel.h"
#include "engine/reference/combine.h"
#include "engine/reference/panel_buffers.h"
#include "engine/reference/panel_product.h"
#include "engine/reference/region_sinks.h"
#include "engine/reference/wgrad.h"
#include "ir/op_record.h"
#include "ir/reference.h"
#include "numerics/codec.h"
#include "numerics/quantize.h"

namespace cohort::engine::reference {

using ir::kNone;
using Kind = ir::Reference::Kind;

namespace {

struct PanelRange {
  const RowGroup* group;
  int64_t first;
  int64_t rows;
};

std::vector<PanelRange> make_panels(const std::vector<RowGroup>& groups) {
  std::vector<PanelRange> panels;
  for (const RowGroup& g : groups) {
    for (int64_t r = 0; r < g.rows; r += kPanelRows) {
      panels.push_back({&g, g.begin + r, std::min(kPanelRows, g.rows - r)});
    }
  }
  return panels;
}

// What a thread keeps from panel to panel.
struct Scratch {
  std::vector<std::vector<float>> panels;  // by PanelBuffers
  std::array<std::vector<float>, ir::kMaxFields> operands;
  std::vector<uint8_t> codes;
  ProductScratch product;
};

// Partial results of a reduction: one row of `width` numbers a panel.
struct Reduction {
  int32_t value = kNone;
  int64_t width = 1;
  std::vector<double> partial;
};

class RegionRun {
 public:
  RegionRun(const Memory& memory, const Region& region, const Schedule& schedule)
      : m_(memory),
        g_(memory.graph()),
        region_(region),
        schedule_(schedule),
        rows_(memory.extent(region.rows)),
        groups_(memory.groups(region.groups, rows_)),
        panels_(make_panels(groups_)),
        buffers_(g_, region.nodes),
        sinks_(memory, region, schedule, groups_, rows_) {
    for (int32_t n : region.nodes) check_rows(node(n));
    for (int32_t n : region.nodes) prepare_node(n);
  }

  bool run(int threads, const std::function<bool(int64_t)>& progress) {
    // Two groups that meet inside a byte of transposed fp4 codes may not be written at once.
    for (const Sink& s : sinks_.all()) {
      const bool packed = s.to.scaled != nullptr && s.to.dtype == DType::e2m1;
      if (packed && s.to.scaled->storage != ColStorage::as_rows) threads = 1;
    }
    std::vector<Scratch> scratch(static_cast<size_t>(threads));
    for (Scratch& s : scratch) s.panels.resize(buffers_.count());
    const auto work = [&](int64_t i, int thread) {
      panel(i, scratch[static_cast<size_t>(thread)]);
    };
    if (!base::parallel_for(static_cast<int64_t>(panels_.size()), threads, work, progress))
      return false;
    for (const auto& [node, reduction] : reductions_) fold(node, reduction);
    return true;
  }

 private:
  const ir::Node& node(int32_t n) const { return g_.nodes[static_cast<size_t>(n)]; }
  const ir::Value& value(int32_t v) const { return g_.values[static_cast<size_t>(v)]; }
  int32_t result(const ir::Node& n, size_t port) const {
    return n.first_result + static_cast<int32_t>(port);
  }

  void check_rows(const ir::Node& n) const {
    if (n.op->reference.row_unit == nullptr) return;
    const int64_t unit = n.op->reference.row_unit(g_, n);
    for (const RowGroup& g : groups_) {
      if (g.rows % unit == 0) continue;
      const std::string wanted = "a multiple of " + std::to_string(unit) + " rows";
      throw base::FindingsError{base::make_findings(
          ErrorKind::mismatch, {.code = "E-GROUPS",
                                .op = n.op->name,
                                .field = "in",
                                .wanted = wanted,
                                .got = std::to_string(g.rows),
                                .message = "group " + std::to_string(g.group) + ": wanted " +
                                           wanted + ", got " + std::to_string(g.rows)})};
    }
  }

  void prepare_node(int32_t number) {
    const ir::Node& n = node(number);
    const Kind kind = n.op->reference.kind;
    if (kind == Kind::reduce) {
      const ir::Value& v = value(n.first_result);
      Reduction r{n.first_result, 1, {}};
      for (int d = 1; d < v.shape.rank; ++d) r.width *= m_.extent(v.shape[d]);
      r.partial.assign(panels_.size() * static_cast<size_t>(r.width), n.op->reference.identity);
      reductions_.emplace(number, std::move(r));
      return;
    }
    const bool whole = kind == Kind::quantize &&
                       static_cast<Format>(g_.field(n, "to").integer) == Format::fp8_tensor;
    for (Sink& s : sinks_.of(number)) {
      prepare(s, groups_);
      if (whole) prepare_whole(n, s);
    }
    if (kind == Kind::combine || kind == Kind::d_combine || kind == Kind::d_combine_weights) {
      combined_.emplace(number, CombineRows(m_, n));
    }
    if (kind == Kind::quantize) specs_.emplace(number, block_spec(m_, n));
  }

  // The maximum over all rows, and the scale, which no panel owns.
  void prepare_whole(const ir::Node& n, Sink& s) {
    const int64_t columns = m_.extent(value(n.in).shape[1]);
    const float* x = m_.kept(n.in);
    for (const PanelRange& p : panels_) {
      const float amax =
          numerics::panel_amax({x + p.first * columns, columns, p.rows, columns, 0, 0});
      const bool larger = amax > s.whole_amax || amax != amax;
      if (larger && s.whole_amax == s.whole_amax) s.whole_amax = amax;
    }
    quantize_whole(block_spec(m_, n), s.whole_amax, {}, {}, static_cast<float*>(s.to.scale));
  }

  void panel(int64_t index, Scratch& scratch) {
    const PanelRange& range = panels_[static_cast<size_t>(index)];
    for (int32_t number : region_.nodes) {
      const ir::Node& n = node(number);
      ir::Panel p = make_panel(n, range, scratch);
      switch (n.op->reference.kind) {
        case Kind::product:
          panel_product(m_, n, *range.group, range.first, range.rows, p.out[0].data,
                        scratch.product);
          break;
        case Kind::load:
          load(n, range, p.out[0].data);
          break;
        case Kind::map:
          n.op->reference.map(p);
          break;
        case Kind::reduce: {
          Reduction& r = reductions_.at(number);
          n.op->reference.reduce(p, r.partial.data() + index * r.width);
          break;
        }
        case Kind::quantize:
          quantize(number, range, p.in, scratch);
          break;
        case Kind::combine:
        case Kind::d_combine:
        case Kind::d_combine_weights:
          combined_.at(number).rows(range.first, range.rows, p.out[0].data);
          break;
        case Kind::wgrad:  // never in panels
        case Kind::none:
          break;
      }
      write(number, range, p);
    }
  }

  ir::Panel make_panel(const ir::Node& n, const PanelRange& range, Scratch& scratch) {
    ir::Panel p;
    p.graph = &g_;
    p.node = &n;
    p.first_row = range.first;
    p.rows = range.rows;
    p.group = range.group->group;
    p.row_in_group = range.first - range.group->begin;
    if (n.in != kNone) {
      p.in = value_rows(n.in, range, scratch);
      p.columns = m_.extent(value(n.in).shape[1]);
      for (size_t f = 0; f < n.op->fields.size(); ++f) {
        p.operand[f] = operand(n, f, range, scratch);
      }
    }
    const Kind kind = n.op->reference.kind;
    if (kind == Kind::reduce || kind == Kind::quantize) return p;
    for (size_t port = 0; port < n.op->results.size(); ++port) {
      const ir::Value& v = value(result(n, port));
      if (v.uses == 0 && n.op->results.size() > 1) continue;
      const int64_t width = v.shape.rank > 1 ? m_.extent(v.shape[1]) : 1;
      std::vector<float>& buffer = scratch.panels[buffers_.of(result(n, port))];
      buffer.resize(static_cast<size_t>(range.rows * width));
      p.out[port] = {buffer.data(), width};
    }
    return p;
  }

  // Rows of a computed matrix or row vector: of this region in scratch, of an earlier one in the
  // workspace.
  ir::PanelData value_rows(int32_t v, const PanelRange& range, Scratch& scratch) {
    const int64_t width = value(v).shape.rank > 1 ? m_.extent(value(v).shape[1]) : 1;
    if (schedule_.region_of[static_cast<size_t>(value(v).node)] ==
        schedule_.region_of[static_cast<size_t>(region_.nodes[0])]) {
      return {scratch.panels[buffers_.of(v)].data(), width};
    }
    return {m_.kept(v) + range.first * width, width};
  }

  ir::PanelData stored_rows(int32_t v, const PanelRange& range, std::vector<float>& buffer) {
    const StoredRef ref = m_.matrix(v);
    buffer.resize(static_cast<size_t>(range.rows * ref.columns));
    for (int64_t r = 0; r < range.rows; ++r) {
      ref.read_codes(range.first + r, 0, ref.columns, buffer.data() + r * ref.columns);
    }
    return {buffer.data(), ref.columns};
  }

  ir::PanelData operand(const ir::Node& n, size_t f, const PanelRange& range, Scratch& scratch) {
    const ir::FieldValue& field = g_.fields[static_cast<size_t>(n.first_field) + f];
    std::vector<float>& buffer = scratch.operands[f];
    if (field.kind == ir::FieldValue::Kind::number) {
      buffer.assign(1, static_cast<float>(field.number));
      return {buffer.data(), 0};
    }
    if (field.kind != ir::FieldValue::Kind::value) return {};
    const ir::Value& v = value(field.value);
    const bool computed_row = v.role == Role::row_vec && v.node != kNone;
    if (v.role == Role::value || computed_row) return value_rows(field.value, range, scratch);
    if (v.role == Role::tensor) return stored_rows(field.value, range, buffer);
    const int64_t count = v.shape.rank > 1 ? m_.extent(v.shape[1]) : 1;
    const int64_t rows = m_.extent(v.shape[0]);
    int64_t first = 0;
    int64_t length = count;
    if (v.role == Role::row_vec) {
      first = range.first;
      length = range.rows;
    } else if (v.role == Role::group_mat || v.role == Role::group_vec) {
      first = range.group->group % rows * count;
    } else if (v.role == Role::col_vec) {
      length = rows;
    }
    buffer.resize(static_cast<size_t>(length));
    if (v.node != kNone) {
      const float* data = m_.kept(field.value) + first;
      std::copy(data, data + length, buffer.data());
    } else {
      const TensorView& view = m_.input(field.value, ir::TensorPart::Kind::data);
      numerics::decode_row(view.dtype, view.data, first, length, buffer.data());
    }
    return {buffer.data(), 1};
  }

  void load(const ir::Node& n, const PanelRange& range, float* out) {
    const int32_t x = g_.operand(n, "x");
    StoredRef ref = m_.matrix(x);
    std::vector<int64_t> bases;
    if (ref.scaled != nullptr && ref.scaled->layout == ScaleLayout::per_group) {
      bases = per_group_bases(groups_, ref.columns, info(ref.scaled->format).block);
      ref.scale_base = &bases;
    }
    std::vector<double> row(static_cast<size_t>(ref.columns));
    for (int64_t r = 0; r < range.rows; ++r) {
      ref.read(range.first + r, 0, ref.columns, range.group, row.data());
      for (int64_t i = 0; i < ref.columns; ++i) {
        out[r * ref.columns + i] = static_cast<float>(row[static_cast<size_t>(i)]);
      }
    }
  }

  void quantize(int32_t number, const PanelRange& range, const ir::PanelData& x, Scratch& scratch) {
    for (const Sink& s : sinks_.of(number)) {
      quantize_panel(s, specs_.at(number), *range.group, range.first, range.rows, x.data, x.stride,
                     scratch.codes);
    }
  }

  void write(int32_t number, const PanelRange& range, const ir::Panel& p) {
    for (const Sink& s : sinks_.of(number)) {
      const int32_t port = s.value - node(number).first_result;
      if (s.to.scaled != nullptr) continue;
      const ir::PanelData& out = p.out[static_cast<size_t>(port)];
      if (out.data == nullptr) continue;
      for (int64_t r = 0; r < range.rows; ++r) {
        const int64_t row = s.row(range.first + r);
        if (row >= 0) s.to.write(row, 0, s.to.columns, out.data + r * out.stride);
      }
    }
  }

  // Folds partial results in panel order, then writes them wherever they go.
  void fold(int32_t number, const Reduction& r) {
    const ir::Node& n = node(number);
    const ir::Value& v = value(r.value);
    const bool per_group = v.shape.rank > 1 || v.shape[0].bound != 1 || groups_.size() == 1;
    const int64_t groups = per_group ? m_.extent(v.shape[0]) : 1;
    std::vector<double> total(static_cast<size_t>(groups * r.width), n.op->reference.identity);
    for (size_t p = 0; p < panels_.size(); ++p) {
      const int64_t group = groups > 1 ? panels_[p].group->group : 0;
      for (int64_t i = 0; i < r.width; ++i) {
        double& t = total[static_cast<size_t>(group * r.width + i)];
        t = n.op->reference.fold(
            t, r.partial[p * static_cast<size_t>(r.width) + static_cast<size_t>(i)]);
      }
    }
    std::vector<float> rounded(total.size());
    std::transform(total.begin(), total.end(), rounded.begin(),
                   [](double x) { return static_cast<float>(x); });
    if (schedule_.kept[static_cast<size_t>(r.value)]) {
      std::copy(rounded.begin(), rounded.end(), m_.kept(r.value));
    }
    for (const Sink& s : sinks_.of(number)) {
      for (int64_t row = 0; row < s.to.rows; ++row) {
        s.to.write(row, 0, s.to.columns, rounded.data() + row * r.width);
      }
    }
  }

  const Memory& m_;
  const ir::Graph& g_;
  const Region& region_;
  const Schedule& schedule_;
  int64_t rows_;
  std::vector<RowGroup> groups_;
  std::vector<PanelRange> panels_;
  PanelBuffers buffers_;
  RegionSinks sinks_;
  std::unordered_map<int32_t, Reduction> reductions_;
  std::unordered_map<int32_t, numerics::BlockSpec> specs_;
  std::unordered_map<int32_t, CombineRows> combined_;
};

// A root whose result no epilogue continues, and which is not made of panels of its rows.
bool is_wgrad(const Memory& memory, const Region& region) {
  const auto first = static_cast<size_t>(region.nodes[0]);
  return memory.graph().nodes[first].op->reference.kind == Kind::wgrad;
}

}  // namespace

int64_t panel_count(const Memory& memory, const Region& region) {
  if (is_wgrad(memory, region)) {
    return wgrad_tiles(memory, memory.graph().nodes[static_cast<size_t>(region.nodes[0])]);
  }
  const auto groups = memory.groups(region.groups, memory.extent(region.rows));
  return static_cast<int64_t>(make_panels(groups).size());
}

bool run_region(const Memory& memory, const Region& region, const Schedule& schedule, int threads,
                const std::function<bool(int64_t)>& progress) {
  if (is_wgrad(memory, region)) return run_wgrad(memory, region.nodes[0], threads, progress);
  return RegionRun(memory, region, schedule).run(threads, progress);
}

}  // namespace cohort::engine::reference
