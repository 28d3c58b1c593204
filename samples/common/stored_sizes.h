// The named extents of a graph as a file of its tensors has them.
#pragma once

#include <cohort/cohort.h>
#include <cohort/safetensors.h>

#include <cstdint>
#include <string_view>
#include <vector>

namespace sample {

/// The value of each named extent, as the first stored tensor that has it says. The graph knows
/// which extent of a tensor is which: elements may stand transposed, groups may have one entry
/// more, and two elements of e2m1 stand in a byte of the file.
inline std::vector<cohort::Size> sizes_of(const cohort::Graph& graph, const cohort::Plan& plan,
                                          const cohort::TensorFile& file) {
  std::vector<cohort::Size> sizes;
  for (int32_t i = 0; i < graph.tensor_count(); ++i) {
    const int32_t stored = file.find(graph.tensor_name(i));
    if (stored < 0) continue;
    const cohort::Result<cohort::TensorView> view = file.view(stored, plan.tensor(i).dtype);
    if (!view) continue;
    for (int32_t d = 0; d < view->rank; ++d) {
      const std::string_view symbol = graph.tensor_symbol(i, d);
      if (symbol.empty()) continue;
      bool known = false;
      for (const cohort::Size& s : sizes) known = known || s.name == symbol;
      if (!known) sizes.push_back({symbol, view->shape[d] - graph.tensor_extra(i, d)});
    }
  }
  return sizes;
}

}  // namespace sample
