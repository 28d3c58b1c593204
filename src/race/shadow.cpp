#include "race/shadow.h"

#include <algorithm>
#include <cstring>

namespace cohort::race {

uintptr_t& Shadow::entry_of(uint64_t offset) {
  const uint64_t folder = offset / kFolderBytes;
  if (folder >= top_.size()) top_.resize(folder + 1);
  if (!top_[folder]) top_[folder] = std::make_unique<Folder>();
  return top_[folder]->page[offset / kPageBytes % kPagesOfFolder];
}

Page Shadow::make_page(uint64_t offset) {
  uintptr_t& entry = entry_of(offset);
  const uint32_t cells = cells_of(4);
  auto* memory = new Cell[cells]();
  if (initialised_) std::fill_n(memory, cells, Cell{kBeforeRun, 0});
  cell_bytes_ += cells * sizeof(Cell);
  entry = reinterpret_cast<uintptr_t>(memory);
  return view(entry);
}

Page Shadow::byte_page(uint64_t offset) {
  const Page words = page(offset);
  if (words.step == 1) return words;
  const uint32_t cells = cells_of(1);
  auto* memory = new Cell[cells]();
  for (uint32_t i = 0; i < cells; ++i) {
    memory[i] = words.cells[i / 4];
    // Each byte needs a set of its own.
    if (is_set(memory[i].reader) && i % 4 != 0) memory[i].reader = sets_.copy(memory[i].reader);
  }
  cell_bytes_ += (cells - cells_of(4)) * sizeof(Cell);
  delete[] words.cells;
  uintptr_t& entry = entry_of(offset);
  entry = reinterpret_cast<uintptr_t>(memory) | 1;
  return view(entry);
}

void Shadow::free_readers(const Page& page) {
  for (uint32_t i = 0; i < cells_of(page.step); ++i) {
    Epoch& reader = page.cells[i].reader;
    if (is_set(reader)) sets_.release(reader);
    reader = 0;
  }
}

void Shadow::rest() {
  for (const std::unique_ptr<Folder>& folder : top_) {
    if (!folder) continue;
    for (const uintptr_t entry : folder->page) {
      if (entry == 0) continue;
      const Page p = view(entry);
      free_readers(p);
      for (uint32_t i = 0; i < cells_of(p.step); ++i) {
        Epoch& w = p.cells[i].writer;
        if (w != 0 && w != kBeforeRun) w = kEarlierGrid | (w & (kNoData | kMaxSite));
      }
    }
  }
}

void Shadow::clear() {
  for (std::unique_ptr<Folder>& folder : top_) {
    if (!folder) continue;
    for (const uintptr_t entry : folder->page) {
      if (entry == 0) continue;
      const Page p = view(entry);
      free_readers(p);
      delete[] p.cells;
    }
    folder.reset();
  }
  cell_bytes_ = 0;
}

uint64_t Shadow::bytes() const {
  const auto folders = std::count_if(top_.begin(), top_.end(), [](const auto& f) { return !!f; });
  return cell_bytes_ + static_cast<uint64_t>(folders) * sizeof(Folder) +
         top_.size() * sizeof(top_[0]);
}

}  // namespace cohort::race
