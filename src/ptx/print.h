// A module as canonical PTX text.
#pragma once

#include <string>

#include "ptx/module.h"

namespace cohort::ptx {

/// One statement a line, constants computed, names and order as they were read. What reading drops
/// (comments, debug sections, .loc after the last instruction) is not there. Reading the text gives
/// an equal module, but for places.
[[nodiscard]] std::string print(const Module& module);

}  // namespace cohort::ptx
