#include "emu/async/tensor_memory.h"

#include <algorithm>

#include "emu/machine.h"

namespace cohort::emu {

bool TensorUnit::holds(uint32_t first, uint32_t count) const {
  for (uint32_t c = first; c < first + count;) {
    const auto at =
        std::find_if(allocations.begin(), allocations.end(),
                     [&](const TensorColumns& a) { return c >= a.first && c < a.first + a.count; });
    if (at == allocations.end()) return false;
    c = at->first + at->count;
  }
  return true;
}

uint32_t TensorUnit::room_for(const TensorUnit& other, uint32_t count, uint32_t columns) const {
  const auto is_free = [&](const TensorUnit& unit, uint32_t first) {
    return std::none_of(unit.allocations.begin(), unit.allocations.end(),
                        [&](const TensorColumns& a) {
                          return first < a.first + a.count && a.first < first + count;
                        });
  };
  for (uint32_t first = 0; first + count <= columns; first += kLeastColumns) {
    if (is_free(*this, first) && is_free(other, first)) return first;
  }
  return kAllTensorColumns;
}

void TensorUnit::allocate(uint32_t first, uint32_t count) {
  if (cells.empty()) cells.assign(size_t{kTensorLanes} * kAllTensorColumns, kPoisonWord);
  allocations.push_back({first, count});
}

bool TensorUnit::free(uint32_t first, uint32_t count) {
  const auto at = std::find_if(allocations.begin(), allocations.end(), [&](const TensorColumns& a) {
    return a.first == first && a.count == count;
  });
  if (at == allocations.end()) return false;
  allocations.erase(at);
  return true;
}

}  // namespace cohort::emu
