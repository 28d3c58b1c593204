// The test of one access against the shadow, cell by cell, and for runs of cells at once.
#pragma once

#include <cstdint>

#include "race/registry.h"
#include "race/shadow.h"

namespace cohort::race {

/// An access as the shadow sees it.
struct Reach {
  Epoch me = 0;                         ///< Lane 0, until a lane is put in.
  const Clock* after_writes = nullptr;  ///< Writers that are ordered before it.
  const Clock* after_reads = nullptr;   ///< Readers that are ordered before it.
  const Clock* also_after = nullptr;    ///< Or ordered by this one.
  AgentId issuer = 0;  ///< Of an operation of several lanes: each lane's part comes
  Tick issued = 0;     ///< after what that lane of the issuer did up to here.
  bool writes = false;
  bool wants_data = false;      ///< Reads what must have been written.
  bool passes_on = true;        ///< Knowing of it is knowing of what was ordered before it.
  bool is_strong_read = false;  ///< Stands for few earlier reads; see stands_for().
  bool to_map = false;          ///< Reads through the tensor map's proxy.
};

/// Hears of what the cells find.
class CellListener {
 public:
  virtual ~CellListener() = default;
  /// Two accesses that no clock orders. Whether that is a fault is the listener's to say.
  virtual void conflict(const Reach& reach, Epoch me, Epoch earlier, uint32_t lanes,
                        uint64_t offset, uint32_t bytes) = 0;
  virtual void no_data(Epoch me, Epoch writer, uint64_t offset, uint32_t bytes) = 0;
};

/// What a loop over cells needs.
class Cells {
 public:
  Cells(const Registry& registry, ReadSets& sets, CellListener& listener)
      : registry_(registry), sets_(sets), listener_(listener) {}

  /// One access of `bytes` by one lane (`me` has it).
  void one(Shadow& shadow, const Reach& reach, Epoch me, uint64_t offset, uint32_t bytes);
  /// One word by each of the lanes.
  void words(Shadow& shadow, const Reach& reach, const uint64_t* offset, uint32_t lanes);
  /// A run of an operation.
  void run(Shadow& shadow, const Reach& reach, uint64_t offset, uint64_t bytes);
  /// 32 lanes, lane l at offset + bytes * l; bytes is a power of two up to 32.
  void row(Shadow& shadow, const Reach& reach, uint64_t offset, uint32_t bytes);

  /// Tests that went cell by cell, for the benchmark.
  [[nodiscard]] uint64_t slow_cells() const { return slow_; }

 private:
  [[nodiscard]] bool ordered(Epoch e, const Clock& clock, Epoch me) const {
    return tick_of(e) <= clock.at(agent_of(e)) || ((e ^ me) & (kAgentMask | kLaneMask)) == 0;
  }
  [[nodiscard]] bool ordered_slowly(Epoch e, uint32_t lanes, const Clock& clock, const Reach& reach,
                                    Epoch me) const;
  template <uint32_t kCount, uint32_t kPerLane>
  bool block(Cell* cells, const Reach& reach, Epoch me) const;
  void cell(Cell& cell, const Reach& reach, Epoch me, uint64_t offset, uint32_t bytes);
  void slow_cell(Cell& cell, const Reach& reach, Epoch me, uint64_t offset, uint32_t bytes);
  void check_readers(Epoch reader, const Reach& reach, Epoch me, uint64_t offset, uint32_t bytes);
  [[nodiscard]] bool stands_for(const Reach& reach, Epoch me, Epoch reader) const;
  void add_reader(Epoch& reader, const Reach& reach, Epoch me);
  void add_to_set(ReadSet& set, const Reach& reach, Epoch me);
  template <uint32_t kPerLane>
  void row_of(Cell* cells, uint32_t count, uint32_t step, const Reach& reach, uint64_t offset,
              uint32_t lane);
  void cells(Cell* cells, uint64_t count, uint32_t step, const Reach& reach, Epoch me,
             uint64_t offset);

  const Registry& registry_;
  ReadSets& sets_;
  CellListener& listener_;
  uint64_t slow_ = 0;
};

}  // namespace cohort::race
