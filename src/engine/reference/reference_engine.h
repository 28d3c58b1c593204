// The engine that defines the numbers: every op on the CPU, in f64 or exactly specified arithmetic.
#pragma once

#include "engine/engine.h"

namespace cohort::engine {

[[nodiscard]] const Engine& reference_engine();

}  // namespace cohort::engine
