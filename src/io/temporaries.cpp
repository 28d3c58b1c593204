#include "io/temporaries.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstring>

namespace cohort::io {

namespace {

enum State : int { kFree, kTaken, kNamed };

struct Slot {
  std::atomic<int> state{kFree};
  char path[PATH_MAX] = {};
};
// A handler may touch nothing that locks.
static_assert(std::atomic<int>::is_always_lock_free);

constexpr int kSlots = 16;
std::array<Slot, kSlots> slots;

}  // namespace

Temporary::Temporary(const std::string& path) {
  if (path.size() >= sizeof(Slot::path)) return;
  for (int i = 0; i < kSlots; ++i) {
    Slot& slot = slots[static_cast<size_t>(i)];
    int is_free = kFree;
    if (!slot.state.compare_exchange_strong(is_free, kTaken)) continue;
    std::memcpy(slot.path, path.c_str(), path.size() + 1);
    slot.state.store(kNamed);
    slot_ = i;
    return;
  }
}

Temporary::~Temporary() {
  if (slot_ >= 0) slots[static_cast<size_t>(slot_)].state.store(kFree);
}

void remove_temporaries() noexcept {
  const int error = errno;
  for (const Slot& slot : slots) {
    if (slot.state.load() == kNamed) ::unlink(slot.path);
  }
  errno = error;
}

}  // namespace cohort::io
