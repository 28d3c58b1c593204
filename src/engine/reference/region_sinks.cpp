#include "engine/reference/region_sinks.h"

namespace cohort::engine::reference {

RegionSinks::RegionSinks(const Memory& memory, const Region& region, const Schedule& schedule,
                         const std::vector<RowGroup>& groups, int64_t rows) {
  const ir::Graph& g = memory.graph();
  for (int32_t number : region.nodes) {
    const ir::Node& node = g.nodes[static_cast<size_t>(number)];
    const bool reduced = node.op->reference.kind == ir::Reference::Kind::reduce;
    const size_t begin = sinks_.size();
    for (size_t port = 0; port < node.op->results.size(); ++port) {
      const int32_t value = node.first_result + static_cast<int32_t>(port);
      if (schedule.kept[static_cast<size_t>(value)] && !reduced) {
        sinks_.push_back({value, memory.matrix(value), Tail::zero, false, 0, {}});
      }
      for (const int32_t o : memory.outputs_of(value)) {
        add_output(memory, value, static_cast<size_t>(o), groups, rows);
      }
    }
    range_.emplace(number, std::pair{begin, sinks_.size()});
  }
}

void RegionSinks::add_output(const Memory& memory, int32_t value, size_t output,
                             const std::vector<RowGroup>& groups, int64_t rows) {
  const ir::Output& o = memory.graph().outputs[output];
  sinks_.push_back({value, memory.output(output), o.tail, true, 0, {}});
  if (o.scatter == ir::kNone) return;
  sinks_.back().scattered = scattered_rows(memory, o, groups, rows);
}

std::span<Sink> RegionSinks::of(int32_t node) {
  const auto [begin, end] = range_.at(node);
  return std::span(sinks_).subspan(begin, end - begin);
}

}  // namespace cohort::engine::reference
