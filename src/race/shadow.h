// Shadow memory of one block: who wrote and who read each cell last.
//
// A cell is a word, or a byte on pages where somebody used less than a word. Pages come into being
// when they are touched.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "race/epoch.h"
#include "race/read_sets.h"

namespace cohort::race {

inline constexpr uint64_t kPageBytes = 1024;

/// Who wrote a word (or a byte) last, and who has read it since.
struct Cell {
  Epoch writer = 0;
  Epoch reader = 0;
};

/// The cells of a page.
struct Page {
  Cell* cells = nullptr;
  uint32_t step = 4;  ///< Bytes of a cell: 4 or 1.
};

/// Shadow of one window of shared memory, tensor memory of a CTA, or buffer.
class Shadow {
 public:
  /// `initialised`: cells begin as written before the run. `bytes` only sizes a table.
  Shadow(uint64_t bytes, bool initialised, ReadSets& sets)
      : initialised_(initialised), top_((bytes + kFolderBytes - 1) / kFolderBytes), sets_(sets) {}
  ~Shadow() { clear(); }
  Shadow(const Shadow&) = delete;
  Shadow& operator=(const Shadow&) = delete;

  /// The page that holds the byte.
  [[nodiscard]] Page page(uint64_t offset) {
    const uint64_t folder = offset / kFolderBytes;
    if (folder < top_.size() && top_[folder] != nullptr) [[likely]] {
      const uintptr_t entry = top_[folder]->page[offset / kPageBytes % kPagesOfFolder];
      if (entry != 0) [[likely]]
        return view(entry);
    }
    return make_page(offset);
  }
  /// The same page, with bytes as cells.
  [[nodiscard]] Page byte_page(uint64_t offset);

  /// Everything so far was before the next grid: who wrote matters no more, what was written does.
  void rest();
  void clear();
  /// Bytes that the shadow takes now.
  [[nodiscard]] uint64_t bytes() const;

 private:
  static constexpr uint64_t kPagesOfFolder = 1024;
  static constexpr uint64_t kFolderBytes = kPageBytes * kPagesOfFolder;
  /// Entries are pointers to cells; the last bit says that they are bytes.
  struct Folder {
    uintptr_t page[kPagesOfFolder] = {};
  };
  static uint32_t cells_of(uint32_t step) { return static_cast<uint32_t>(kPageBytes) / step; }
  static Page view(uintptr_t entry) {
    Page p;
    p.step = (entry & 1) != 0 ? 1 : 4;
    p.cells = reinterpret_cast<Cell*>(entry & ~uintptr_t{1});  // NOLINT(performance-no-int-to-ptr)
    return p;
  }
  uintptr_t& entry_of(uint64_t offset);
  Page make_page(uint64_t offset);
  void free_readers(const Page& page);

  bool initialised_;
  std::vector<std::unique_ptr<Folder>> top_;
  ReadSets& sets_;
  uint64_t cell_bytes_ = 0;
};

/// Written before the run: ordered before everything.
inline constexpr Epoch kBeforeRun = make_epoch(0, 0, 0, 1);
/// Written by an earlier grid; only the tensor map's proxy cares. The site is added.
inline constexpr Epoch kEarlierGrid = make_epoch(0, 0, 1, 0);
constexpr bool is_earlier_grid(Epoch e) { return agent_of(e) == 0 && lane_of(e) == 1; }

}  // namespace cohort::race
