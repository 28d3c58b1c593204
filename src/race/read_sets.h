// Sets of readers: of a cell that several agents, or some lanes of a warp, have read.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "race/epoch.h"

namespace cohort::race {

/// Reads of one agent at one tick by these lanes.
struct Reader {
  Epoch epoch;  ///< Its lane means nothing.
  uint32_t lanes;
};
using ReadSet = std::vector<Reader>;

/// Gives sets out and takes them back, so that their memory is used again.
class ReadSets {
 public:
  /// An empty set, as it stands in a cell. Throws when there are too many.
  [[nodiscard]] Epoch make();
  [[nodiscard]] Epoch copy(Epoch set);
  void release(Epoch set) {
    sets_[set_of(set)].clear();
    free_.push_back(set_of(set));
  }
  [[nodiscard]] ReadSet& at(Epoch set) { return sets_[set_of(set)]; }
  [[nodiscard]] uint64_t bytes() const;

 private:
  std::deque<ReadSet> sets_;
  std::vector<uint32_t> free_;
};

}  // namespace cohort::race
