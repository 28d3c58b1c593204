// Special registers.
#pragma once

#include <string_view>

#include "emu/kernel.h"

namespace cohort::emu {

struct SpecialFacts {
  std::string_view name;
  bool wide;
  Handler read;  ///< Null: the value never changes; set_specials() writes it.
};

/// Null when it is not modelled.
[[nodiscard]] const SpecialFacts* find_special(std::string_view name);
/// Writes those that never change.
void set_specials(Warp& warp);

}  // namespace cohort::emu
