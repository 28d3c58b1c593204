// Names and sizes of the types and spaces that declarations have.
#pragma once

#include <cstdint>
#include <string_view>

#include "ptx/module.h"

namespace cohort::ptx {

/// Bytes of one value: 1 for a predicate, 8 for an opaque reference.
[[nodiscard]] uint32_t bytes_of(Type type);
/// With its dot: ".b32", ".shared".
[[nodiscard]] std::string_view name_of(Type type);
[[nodiscard]] std::string_view name_of(Space space);
/// False when there is none of that name.
[[nodiscard]] bool find_type(std::string_view name, Type& type);
[[nodiscard]] bool find_space(std::string_view name, Space& space);

}  // namespace cohort::ptx
