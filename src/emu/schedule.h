// Who goes next. Every choice of a run is made here, so that a run can be repeated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cohort::emu {

enum class ScheduleKind : uint8_t {
  random,    ///< any warp, any number of instructions
  in_order,  ///< the first warp that can, for as long as it can; work beside at once
  late,      ///< random, and asynchronous work happens only when nothing else can
  early,     ///< random, and asynchronous work happens at once
  starve,    ///< random, and one warp goes only when no other can
};

struct ScheduleSpec {
  ScheduleKind kind = ScheduleKind::random;
  uint64_t seed = 1;
  uint32_t starved = 0;  ///< which warp, modulo their number
  bool replay = false;   ///< takes `choices` instead of making any
  std::vector<uint32_t> choices;
};

/// Makes choices and keeps them. Same spec, same choices, on any machine.
class Schedule {
 public:
  explicit Schedule(ScheduleSpec spec);

  /// A number below `count`, which is at least 1. Of one there is no choice.
  uint32_t below(uint32_t count);
  /// How many instructions a turn may have.
  uint32_t turn();
  [[nodiscard]] const ScheduleSpec& spec() const { return spec_; }
  /// All choices so far; a replay of them, with the same kind, is the same run.
  [[nodiscard]] const std::vector<uint32_t>& choices() const { return choices_; }

 private:
  uint64_t random();

  ScheduleSpec spec_;
  uint64_t state_;
  size_t replayed_ = 0;
  std::vector<uint32_t> choices_;
};

}  // namespace cohort::emu
