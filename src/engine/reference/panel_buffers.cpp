#include "engine/reference/panel_buffers.h"

#include "engine/reference/schedule.h"

namespace cohort::engine::reference {

PanelBuffers::PanelBuffers(const ir::Graph& graph, const std::vector<int32_t>& nodes) {
  const auto node = [&](int32_t n) -> const ir::Node& {
    return graph.nodes[static_cast<size_t>(n)];
  };
  // By result: the last op of the region that reads it, at first its own.
  std::unordered_map<int32_t, int32_t> last;
  for (int32_t n : nodes) {
    for (size_t p = 0; p < node(n).op->results.size(); ++p) {
      last[node(n).first_result + static_cast<int32_t>(p)] = n;
    }
    each_operand(graph, node(n), [&](int32_t value) {
      const auto found = last.find(value);
      if (found != last.end()) found->second = n;
    });
  }
  std::unordered_map<int32_t, std::vector<int32_t>> ends;  // by op: results that end with it
  for (const auto& [value, n] : last) ends[n].push_back(value);
  std::vector<size_t> free;
  for (int32_t n : nodes) {
    for (size_t p = 0; p < node(n).op->results.size(); ++p) {
      if (free.empty()) free.push_back(count_++);
      buffer_[node(n).first_result + static_cast<int32_t>(p)] = free.back();
      free.pop_back();
    }
    for (int32_t value : ends[n]) free.push_back(buffer_.at(value));
  }
}

}  // namespace cohort::engine::reference
