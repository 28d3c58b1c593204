// The only file that names concrete engines.
#include <array>

#include "engine/engine.h"
#include "engine/reference/reference_engine.h"

namespace cohort::engine {

std::span<const Engine* const> all_engines() {
  static const std::array<const Engine*, 1> engines{&reference_engine()};
  return engines;
}

}  // namespace cohort::engine
