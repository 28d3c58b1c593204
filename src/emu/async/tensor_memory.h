// Tensor memory of a CTA and who holds its columns. PTX ISA 9.2, 9.7.16.1 and 9.7.16.7.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include "emu/mma/tensor_layout.h"

namespace cohort::emu {

class Machine;

inline constexpr uint32_t kTensorLanes = 128;
inline constexpr uint32_t kTensorColumns = 512;
/// With the columns that only tcgen05.alloc.exclusive of sm_107 gives.
inline constexpr uint32_t kAllTensorColumns = 576;
inline constexpr uint32_t kLeastColumns = 32;

/// An address of tensor memory.
constexpr TensorCell tensor_cell(uint32_t address) { return {address >> 16, address & 0xFFFF}; }

/// Columns [first, first + count) of all lanes.
struct TensorColumns {
  uint32_t first = 0;
  uint32_t count = 0;
};

/// What stands on one SM: a CTA has an SM to itself.
struct TensorUnit {
  std::vector<uint32_t> cells;  ///< [lane][column]; empty until the first allocation.
  std::vector<TensorColumns> allocations;
  uint32_t last_count = 0;    ///< Of the last allocation: the next may not be larger.
  bool relinquished = false;  ///< relinquish_alloc_permit
  uint8_t cta_group = 0;      ///< That its instructions have; 0: none yet.
  /// A warp that waits for columns; with cta_group::2 its peer has to ask, too.
  struct Request {
    uint32_t count = 0;
    uint32_t columns = kTensorColumns;  ///< Of how many.
    uint32_t warp = 0;
    bool granted = false;
    uint32_t first = 0;
  };
  std::deque<Request> requests;
  /// Operations of the tensor pipe in the order of their issue. cta_group::2: of the even CTA.
  std::deque<std::function<void(Machine&)>> pipe;
  bool has_task = false;
  uint32_t open = 0;  ///< Products and copies that the CTA began and that have not happened.
  /// Lanes of each warp of the CTA that have begun an operation.
  std::vector<uint32_t> issuers;

  [[nodiscard]] uint32_t& cell(uint32_t lane, uint32_t column) {
    return cells[size_t{lane} * kAllTensorColumns + column];
  }
  /// Whether all of these columns belong to allocations.
  [[nodiscard]] bool holds(uint32_t first, uint32_t count) const;
  /// The first column where so many of the first `columns` are free in both units (`other` may be
  /// this one), or kAllTensorColumns.
  [[nodiscard]] uint32_t room_for(const TensorUnit& other, uint32_t count, uint32_t columns) const;
  void allocate(uint32_t first, uint32_t count);
  /// False: there is no such allocation.
  [[nodiscard]] bool free(uint32_t first, uint32_t count);
};

}  // namespace cohort::emu
