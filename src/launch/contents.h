// Elements of buffers: how they begin and how they compare.
#pragma once

#include <cstdint>
#include <vector>

#include <cohort/emulate.h>

namespace cohort::launch {

/// What elements hold. Contents::nothing and bytes are not for here.
struct Values {
  ElementType type = ElementType::u8;
  Contents contents = Contents::ramp;
  double first = 0;
  double step = 0;
  uint64_t seed = 1;
  double low = -1;
  double high = 1;
};

/// The bytes of `elements` elements. Numbers that a type does not have become the nearest one.
[[nodiscard]] std::vector<uint8_t> make_elements(const Values& values, int64_t elements);

/// An element as a number; integers beyond 2^53 are rounded.
[[nodiscard]] double element(ElementType type, const uint8_t* bytes);

/// Elements that differ by more than absolute + relative * |wanted|. `first`: index of the first
/// one, or -1. Equal bytes never differ, and a NaN does not from another.
struct Difference {
  int64_t wrong = 0;
  int64_t first = -1;
};
[[nodiscard]] Difference differences(ElementType type, const std::vector<uint8_t>& wanted,
                                     const std::vector<uint8_t>& got, double absolute,
                                     double relative);

}  // namespace cohort::launch
