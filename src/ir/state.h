// What the handles of a builder share.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <cohort/graph.h>

#include "ir/recording.h"

namespace cohort::detail {

/// Counted by the builder and each handle, so a handle that outlives its builder is a finding
/// where it is used and never a dangling pointer.
class State {
 public:
  explicit State(std::string_view graph_name);
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State();

  /// The number of a new dead handle: below -1.
  int32_t dead(std::string reason, Where where);
  /// Why a handle is dead.
  [[nodiscard]] ir::DeadHandle death(int32_t id) const;
  /// Whether what is called now changes the graph. Once memory ran out the recording may be half
  /// changed: nothing reads or fills it any more.
  [[nodiscard]] bool records() const { return !finished && !out_of_memory; }
  /// Where a living value was made.
  [[nodiscard]] Where made(int32_t id);

  std::atomic<int64_t> references{1};
  std::string name;
  uint32_t serial = 0;
  ir::Recording recording;
  std::vector<ir::DeadHandle> dead_handles;
  bool finished = false;
  Where finished_at{nullptr, 0};
  const ir::Graph* frozen = nullptr;  ///< Shared after a good finish(): handles name its places.
  bool out_of_memory = false;
};

}  // namespace cohort::detail
