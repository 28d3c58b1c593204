// The public face of a frozen graph.
#include <utility>

#include <cohort/graph.h>

#include "ir/graph.h"
#include "ir/op_record.h"
#include "ir/parts.h"
#include "ir/stored.h"

namespace cohort {

Graph::Graph(const ir::Graph* graph) noexcept : graph_(graph) {}
Graph::Graph(const Graph& other) noexcept : graph_(other.graph_) { graph_->retain(); }
Graph& Graph::operator=(const Graph& other) noexcept {
  Graph copy(other);
  std::swap(graph_, copy.graph_);
  return *this;
}
Graph::~Graph() { graph_->release(); }

std::string_view Graph::name() const noexcept { return graph_->name; }
int64_t Graph::node_count() const noexcept { return static_cast<int64_t>(graph_->nodes.size()); }
int32_t Graph::result_count(int64_t node) const noexcept {
  if (node < 0 || node >= node_count()) return 0;
  return static_cast<int32_t>(graph_->nodes[static_cast<size_t>(node)].op->results.size());
}
ResultInfo Graph::result(int64_t node, int32_t port) const noexcept {
  const ir::Node& n = graph_->nodes[static_cast<size_t>(node)];
  const ir::Value& v =
      graph_->values[static_cast<size_t>(n.first_result) + static_cast<size_t>(port)];
  ResultInfo info{
      n.op->name, n.op->results[static_cast<size_t>(port)].name, v.role, v.dtype, v.shape.rank, {},
      {}};
  for (int i = 0; i < v.shape.rank; ++i) {
    info.bound[i] = v.shape[i].bound;
    if (v.shape[i].symbol == ir::kNone) continue;
    info.symbol[i] = graph_->symbols[static_cast<size_t>(v.shape[i].symbol)].name;
  }
  return info;
}
int32_t Graph::tensor_count() const noexcept {
  return static_cast<int32_t>(graph_->tensors.size());
}
std::string_view Graph::tensor_name(int32_t i) const noexcept {
  if (i < 0 || i >= tensor_count()) return {};
  return graph_->tensors[static_cast<size_t>(i)].name;
}
int32_t Graph::tensor_index(std::string_view name) const noexcept {
  for (int32_t i = 0; i < tensor_count(); ++i) {
    if (tensor_name(i) == name) return i;
  }
  return -1;
}
std::string_view Graph::tensor_symbol(int32_t i, int32_t d) const noexcept {
  if (i < 0 || i >= tensor_count() || d < 0) return {};
  const ir::TensorPart& part = graph_->tensors[static_cast<size_t>(i)];
  const ir::Value& v = ir::part_value(*graph_, part);
  // Scales follow from a layout; pointers are counted by experts, which have no name.
  if (part.kind == ir::TensorPart::Kind::scale || v.role == Role::weight_pointers) return {};
  const ir::Extents stored =
      part.is_output ? ir::stored_shape(*graph_, graph_->outputs[static_cast<size_t>(part.index)])
                     : ir::stored_shape(v);
  if (d >= stored.rank || stored[d].symbol == ir::kNone) return {};
  return graph_->symbols[static_cast<size_t>(stored[d].symbol)].name;
}
int64_t Graph::tensor_extra(int32_t i, int32_t d) const noexcept {
  if (i < 0 || i >= tensor_count() || d != 0) return 0;
  return ir::extra_entries(ir::part_value(*graph_, graph_->tensors[static_cast<size_t>(i)]));
}
Key Graph::key() const noexcept {
  try {
    return graph_->key();
  } catch (...) {
    return {0, 0};
  }
}
std::string_view Graph::json() const noexcept {
  try {
    return graph_->json();
  } catch (...) {
    return {};
  }
}

}  // namespace cohort
