// Names and sizes of the types that declarations have.
#include "ptx/type.h"

#include <iterator>

namespace cohort::ptx {

namespace {

struct TypeFacts {
  std::string_view name;
  uint32_t bytes;
};

// In the order of Type.
constexpr TypeFacts kTypes[] = {
    {".b8", 1},     {".b16", 2},        {".b32", 4},     {".b64", 8}, {".b128", 16}, {".u8", 1},
    {".u16", 2},    {".u32", 4},        {".u64", 8},     {".s8", 1},  {".s16", 2},   {".s32", 4},
    {".s64", 8},    {".f16", 2},        {".f16x2", 4},   {".f32", 4}, {".f64", 8},   {".pred", 1},
    {".texref", 8}, {".samplerref", 8}, {".surfref", 8},
};
static_assert(std::size(kTypes) == static_cast<size_t>(Type::surfref) + 1);

// In the order of Space.
constexpr std::string_view kSpaces[] = {".reg", ".param", ".local", ".shared", ".global", ".const"};
static_assert(std::size(kSpaces) == static_cast<size_t>(Space::constant) + 1);

}  // namespace

uint32_t bytes_of(Type type) { return kTypes[static_cast<size_t>(type)].bytes; }
std::string_view name_of(Type type) { return kTypes[static_cast<size_t>(type)].name; }
std::string_view name_of(Space space) { return kSpaces[static_cast<size_t>(space)]; }

bool find_type(std::string_view name, Type& type) {
  for (size_t i = 0; i < std::size(kTypes); ++i) {
    if (kTypes[i].name != name) continue;
    type = static_cast<Type>(i);
    return true;
  }
  return false;
}

bool find_space(std::string_view name, Space& space) {
  for (size_t i = 0; i < std::size(kSpaces); ++i) {
    if (kSpaces[i] != name) continue;
    space = static_cast<Space>(i);
    return true;
  }
  return false;
}

}  // namespace cohort::ptx
