#include "engine/reference/places.h"

namespace cohort::engine::reference {

Places::Places(const ir::Graph& graph)
    : inputs_(graph.inputs.size(), Parts{ir::kNone, ir::kNone, ir::kNone, ir::kNone}),
      outputs_(graph.outputs.size(), Parts{ir::kNone, ir::kNone, ir::kNone, ir::kNone}),
      first_(graph.values.size() + 1, 0),
      written_(graph.outputs.size()) {
  for (size_t i = 0; i < graph.tensors.size(); ++i) {
    const ir::TensorPart& p = graph.tensors[i];
    Parts& parts = (p.is_output ? outputs_ : inputs_)[static_cast<size_t>(p.index)];
    parts[static_cast<size_t>(p.kind)] = static_cast<int32_t>(i);
  }
  // Counted, summed up, then filled from the last: a value's outputs keep their order.
  for (const ir::Output& o : graph.outputs) ++first_[static_cast<size_t>(o.value)];
  size_t sum = 0;
  for (size_t& n : first_) n = sum += n;
  for (size_t o = graph.outputs.size(); o-- > 0;) {
    written_[--first_[static_cast<size_t>(graph.outputs[o].value)]] = static_cast<int32_t>(o);
  }
}

}  // namespace cohort::engine::reference
