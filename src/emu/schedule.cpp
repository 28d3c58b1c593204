#include "emu/schedule.h"

#include <utility>

#include "base/splitmix64.h"

namespace cohort::emu {

Schedule::Schedule(ScheduleSpec spec)
    : spec_(std::move(spec)), state_(spec_.seed * base::kSplitmixStep + 0xD1B54A32D192ED03u) {}

uint64_t Schedule::random() { return base::splitmix64(state_ += base::kSplitmixStep); }

uint32_t Schedule::below(uint32_t count) {
  if (count <= 1) return 0;
  uint32_t choice = 0;
  if (spec_.replay) {
    if (replayed_ < spec_.choices.size()) choice = spec_.choices[replayed_++];
    if (choice >= count) choice %= count;
  } else if (spec_.kind != ScheduleKind::in_order) {
    choice = static_cast<uint32_t>((random() >> 32) * count >> 32);
  }
  choices_.push_back(choice);
  return choice;
}

uint32_t Schedule::turn() {
  // Short turns find orders that long ones never do; long ones keep a run fast.
  if (spec_.kind == ScheduleKind::in_order) return 1u << 16;
  return 1u << (1 + below(12));
}

}  // namespace cohort::emu
