// What a launch has to be before it can run.
#pragma once

#include "base/diagnostics.h"
#include "emu/run.h"

namespace cohort::emu {

/// One finding for each field that does not fit.
void check_launches(const RunInput& input, base::Diagnostics& found);

}  // namespace cohort::emu
