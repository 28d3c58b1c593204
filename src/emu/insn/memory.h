// What makers of memory instructions share.
#pragma once

#include <cstdint>

#include "emu/insn/record.h"

namespace cohort::emu {

struct AccessForm {
  uint32_t bytes;  ///< Of one element.
  uint32_t width;  ///< Of the registers that hold elements: 4, 8 or 16.
};

/// Fills in address, window, scope, order, count and list. `address` and `value` are operands.
AccessForm access_form(Build& build, int address, int value);
/// Window, scope and order alone.
void take_space(Build& build);
void take_order(Build& build);

}  // namespace cohort::emu
