// Which x86-64 micro-architecture level code may be chosen for.
#pragma once

#include <cstdint>

namespace cohort::base {

/// Levels of the x86-64 psABI for which code is compiled.
enum class IsaLevel : uint8_t { v1, v3, v4 };

/// The best level of this processor, or a lower one that COHORT_ISA (v1, v3, v4) asks for.
[[nodiscard]] IsaLevel isa_level();

}  // namespace cohort::base
