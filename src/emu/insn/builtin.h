// Functions that the machine has built in: vprintf, __assertfail.
#pragma once

#include <string_view>

#include "emu/kernel.h"

namespace cohort::emu {

/// Insn::list: places of results (Insn::count of them), then of arguments, in local memory. Null
/// when there is no such function.
[[nodiscard]] Handler find_builtin(std::string_view name);

}  // namespace cohort::emu
