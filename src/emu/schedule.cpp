#include "emu/schedule.h"

#include <utility>

namespace cohort::emu {

Schedule::Schedule(ScheduleSpec spec)
    : spec_(std::move(spec)), state_(spec_.seed * 0x9E3779B97F4A7C15u + 0xD1B54A32D192ED03u) {}

// splitmix64, by Sebastiano Vigna (public domain).
uint64_t Schedule::random() {
  uint64_t z = state_ += 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

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
