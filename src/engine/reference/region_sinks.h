// Where the results of a region go: outputs, and values that later regions read.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/reference/schedule.h"
#include "engine/reference/sink.h"

namespace cohort::engine::reference {

class RegionSinks {
 public:
  RegionSinks(const Memory& memory, const Region& region, const Schedule& schedule,
              const std::vector<RowGroup>& groups, int64_t rows);

  /// Those of all ops, in their order.
  [[nodiscard]] std::span<const Sink> all() const { return sinks_; }
  /// Those of the results of an op of the region.
  [[nodiscard]] std::span<Sink> of(int32_t node);

 private:
  void add_output(const Memory& memory, int32_t value, size_t output,
                  const std::vector<RowGroup>& groups, int64_t rows);

  std::vector<Sink> sinks_;
  std::unordered_map<int32_t, std::pair<size_t, size_t>> range_;  // by node
};

}  // namespace cohort::engine::reference
