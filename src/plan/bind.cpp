#include "plan/bind.h"

#include <algorithm>
#include <memory>
#include <string>
#include <unordered_map>

#include "ir/op_record.h"
#include "ir/recording.h"
#include "ir/stored.h"
#include "plan/overlap.h"

namespace cohort::plan {

namespace {

std::string shape_text(int rank, const int64_t* v) {
  std::string s = "[";
  for (int i = 0; i < rank; ++i) s += (i > 0 ? ", " : "") + std::to_string(v[i]);
  return s + "]";
}

void add(base::Diagnostics& d, std::string_view code, const std::string& tensor,
         std::string_view field, int dimension, std::string wanted, std::string got,
         std::string hint = {}) {
  std::string message(field);
  if (dimension >= 0) message += " " + std::to_string(dimension);
  message += ": wanted " + wanted + ", got " + got;
  d.add({.code = code,
         .op = tensor,
         .field = std::string(field),
         .dimension = dimension,
         .wanted = std::move(wanted),
         .got = std::move(got),
         .message = std::move(message),
         .hint = std::move(hint)});
}

}  // namespace

void check_pairs(const ir::Graph& graph, const std::vector<int64_t>& sizes, base::Diagnostics& d) {
  for (const ir::Value& v : graph.values) {
    if (v.dtype != DType::e2m1 || !v.scaled || v.absent) continue;
    const ir::Extents stored = ir::stored_shape(v);
    const ir::Extent& last = stored[stored.rank - 1];
    if (last.symbol == ir::kNone) continue;
    const int64_t size = sizes[static_cast<size_t>(last.symbol)];
    if (size % 2 == 0) continue;
    const std::string& name = graph.symbols[static_cast<size_t>(last.symbol)].name;
    add(d, "E-SHAPE", name, "size", -1, "an even number", std::to_string(size),
        ir::value_text(graph, v) + " is packed in pairs along it");
  }
}

std::vector<int64_t> symbol_sizes(const ir::Graph& graph, Sizes sizes) {
  base::Diagnostics d;
  std::vector<int64_t> values(graph.symbols.size(), -1);
  std::unordered_map<std::string_view, size_t> index;
  for (size_t i = 0; i < graph.symbols.size(); ++i) index.emplace(graph.symbols[i].name, i);
  for (const Size& s : sizes) {
    const auto it = index.find(s.name);
    const size_t i = it == index.end() ? values.size() : it->second;
    if (i == values.size()) {
      add(d, "E-SIZE", std::string(s.name), "size", -1, "a dynamic extent of the graph",
          "'" + std::string(s.name) + "'");
    } else if (values[i] >= 0) {
      add(d, "E-SIZE", std::string(s.name), "size", -1, "one value", "two");
    } else if (s.value < 0 || s.value > graph.symbols[i].bound) {
      add(d, "E-SIZE", std::string(s.name), "size", -1,
          "0 .. " + std::to_string(graph.symbols[i].bound), std::to_string(s.value));
      values[i] = 0;
    } else {
      values[i] = s.value;
    }
  }
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] >= 0) continue;
    add(d, "E-SIZE", graph.symbols[i].name, "size", -1, "a value", "none");
  }
  if (d.empty()) check_pairs(graph, values, d);
  if (!d.empty()) throw base::FindingsError{d.take(ErrorKind::mismatch)};
  return values;
}

void check_view(const ExecutionData& x, const Binding& binding, int32_t index,
                base::Diagnostics& d) {
  const auto i = static_cast<size_t>(index);
  const TensorInfo& want = binding.infos[i];
  const TensorView& v = binding.views[i];
  const std::string& name = x.graph->tensors[i].name;
  const MemoryDevice::Type device = x.plan->executable->memory();
  if (v.dtype != want.dtype) {
    add(d, "E-DTYPE", name, "dtype", -1, std::string(cohort::name(want.dtype)),
        std::string(cohort::name(v.dtype)));
  }
  const bool same_shape = v.rank == want.rank && std::equal(v.shape, v.shape + v.rank, want.shape);
  if (!same_shape) {
    int dimension = -1;
    for (int k = 0; v.rank == want.rank && k < v.rank && dimension < 0; ++k) {
      if (v.shape[k] != want.shape[k]) dimension = k;
    }
    add(d, "E-SHAPE", name, "shape", dimension, shape_text(want.rank, want.shape),
        shape_text(std::clamp(v.rank, 0, kMaxRank), v.shape));
    return;
  }
  // Strides of a tensor without elements mean nothing; callers hand over what they have.
  for (int k = 0; want.bytes > 0 && k < v.rank; ++k) {
    if (want.shape[k] <= 1 || v.strides[k] == want.strides[k]) continue;
    add(d, "E-STRIDE", name, "strides", k, std::to_string(want.strides[k]),
        std::to_string(v.strides[k]), "declare other strides where the tensor is declared");
    break;
  }
  if (want.bytes > 0 && v.data == nullptr) {
    add(d, "E-POINTER", name, "data", -1, std::to_string(want.bytes) + " bytes", "null");
  } else if (reinterpret_cast<uintptr_t>(v.data) % static_cast<uintptr_t>(want.alignment) != 0) {
    const uintptr_t off =
        reinterpret_cast<uintptr_t>(v.data) % static_cast<uintptr_t>(want.alignment);
    add(d, "E-ALIGNMENT", name, "data", -1,
        "a multiple of " + std::to_string(want.alignment) + " bytes",
        std::to_string(off) + " bytes past one");
  }
  if (v.device.type != device) {
    add(d, "E-DEVICE", name, "device", -1, device == MemoryDevice::Type::cpu ? "cpu" : "cuda",
        v.device.type == MemoryDevice::Type::cpu ? "cpu" : "cuda");
  }
}

void check_devices(const ExecutionData& x, const Binding& binding, base::Diagnostics& d) {
  const std::vector<TensorView>& views = binding.views;
  for (size_t i = 1; i < views.size(); ++i) {
    if (views[i].device.ordinal == views[0].device.ordinal) continue;
    add(d, "E-DEVICE", x.graph->tensors[i].name, "device", -1,
        "the device of '" + x.graph->tensors[0].name + "', " +
            std::to_string(views[0].device.ordinal),
        std::to_string(views[i].device.ordinal));
  }
}

void want_planned_graph(const PlanData& plan, const ir::Graph& graph) {
  if (&graph == &*plan.graph) return;
  if (graph.key() == plan.graph->key() && graph.canonical_text() == plan.graph->canonical_text()) {
    return;
  }
  base::Diagnostics d;
  add(d, "E-PLAN", graph.name, "graph", -1, "a graph equal, up to names, to the planned one",
      "another graph");
  throw base::FindingsError{d.take(ErrorKind::mismatch)};
}

ExecutionData* bind(const PlanData& plan, const ir::Graph& graph, Sizes sizes,
                    NamedTensors tensors) {
  want_planned_graph(plan, graph);
  base::Diagnostics d;
  auto x = std::make_unique<ExecutionData>(&plan, &graph);
  Binding& bound = x->bound;
  bound.sizes = symbol_sizes(graph, sizes);
  bound.views.resize(graph.tensors.size());
  std::unordered_map<std::string_view, size_t> index;
  for (size_t i = 0; i < graph.tensors.size(); ++i) {
    index.emplace(graph.tensors[i].name, i);
    bound.infos.push_back(ir::tensor_info(graph, static_cast<int32_t>(i), bound.sizes));
  }
  std::vector<bool> given(graph.tensors.size(), false);
  for (const NamedTensor& t : tensors) {
    const auto it = index.find(t.name);
    if (it == index.end()) {
      add(d, "E-TENSOR", std::string(t.name), "name", -1, "a tensor of the graph",
          "'" + std::string(t.name) + "'");
    } else if (given[it->second]) {
      add(d, "E-TENSOR", std::string(t.name), "name", -1, "one view", "two");
    } else {
      given[it->second] = true;
      bound.views[it->second] = t.view;
      check_view(*x, bound, static_cast<int32_t>(it->second), d);
    }
  }
  for (size_t i = 0; i < given.size(); ++i) {
    if (!given[i]) {
      add(d, "E-TENSOR", graph.tensors[i].name, "data", -1, "a view", "none");
    }
  }
  if (d.empty()) check_devices(*x, bound, d);
  if (d.empty()) check_overlaps(graph, bound, x->overlaps, d);
  if (!d.empty()) throw base::FindingsError{d.take(ErrorKind::mismatch)};
  bound.workspace_bytes = plan.executable->workspace_bytes(bound.sizes);
  x->next = bound;
  x->prepare_first();
  return x.release();
}

}  // namespace cohort::plan
