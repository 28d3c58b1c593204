// Names and sizes of operand types.
#include <iterator>

#include "emu/insn/record.h"

namespace cohort::emu {

namespace {

struct TypeFacts {
  std::string_view name;
  uint32_t bytes;
};

// In the order of Ty.
constexpr TypeFacts kTypes[] = {
    {"", 0},        {"b8", 1},     {"b16", 2},    {"b32", 4},    {"b64", 8},    {"b128", 16},
    {"u8", 1},      {"u16", 2},    {"u32", 4},    {"u64", 8},    {"s8", 1},     {"s16", 2},
    {"s32", 4},     {"s64", 8},    {"f16", 2},    {"f16x2", 4},  {"bf16", 2},   {"bf16x2", 4},
    {"f32", 4},     {"f32x2", 8},  {"f64", 8},    {"pred", 1},   {"u16x2", 4},  {"s16x2", 4},
    {"tf32", 4},    {"e4m3x2", 2}, {"e5m2x2", 2}, {"e2m3x2", 2}, {"e3m2x2", 2}, {"e2m1x2", 1},
    {"ue8m0x2", 2}, {"e4m3x4", 4}, {"e5m2x4", 4}, {"e2m3x4", 4}, {"e3m2x4", 4}, {"e2m1x4", 2},
};
static_assert(std::size(kTypes) == static_cast<size_t>(Ty::e2m1x4) + 1);

}  // namespace

Ty type_of(std::string_view modifier) {
  for (size_t i = 1; i < std::size(kTypes); ++i) {
    if (kTypes[i].name == modifier) return static_cast<Ty>(i);
  }
  return Ty::none;
}

uint32_t bytes_of(Ty type) { return kTypes[static_cast<size_t>(type)].bytes; }

}  // namespace cohort::emu
