// The names that begin with % and are declared by the language.
#pragma once

#include <string_view>

namespace cohort::ptx {

/// True for "%tid", "%envreg31", ...; without a selector like ".x".
[[nodiscard]] bool is_special_register(std::string_view name);

}  // namespace cohort::ptx
