// Names that files give to parts of a graph's tensors, as the command reads and writes them.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "ir/graph.h"

namespace cohort::validate {

class PartNames {
 public:
  /// Views the names of the graph, which must be frozen and live as long.
  explicit PartNames(const ir::Graph& graph);
  /// Which part of another tensor files give that name; empty: none.
  [[nodiscard]] std::string_view meaning(std::string_view name) const;

 private:
  using Matrices = std::unordered_map<std::string_view, int64_t>;  // number, by name of the array
  static bool is_matrix_of(const Matrices& arrays, std::string_view name);

  Matrices weights_;
  Matrices scales_;
  Matrices gradients_;
  std::unordered_set<std::string_view> outputs_;  ///< That are no array of pointers.
};

}  // namespace cohort::validate
