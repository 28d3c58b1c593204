#include "launch/contents.h"

#include <cmath>
#include <cstring>
#include <limits>

#include <cohort/numerics.h>

namespace cohort {

namespace {

struct TypeFacts {
  std::string_view name;
  int64_t bytes;
};
constexpr TypeFacts kTypes[kElementTypes] = {
    {"u8", 1},  {"s8", 1},  {"u16", 2},  {"s16", 2}, {"u32", 4}, {"s32", 4},  {"u64", 8},
    {"s64", 8}, {"f16", 2}, {"bf16", 2}, {"f32", 4}, {"f64", 8}, {"e4m3", 1}, {"e5m2", 1},
};
const TypeFacts& facts(ElementType type) {
  const auto i = static_cast<int32_t>(type);
  return kTypes[i < kElementTypes ? i : 0];
}

}  // namespace

std::string_view name(ElementType type) noexcept { return facts(type).name; }
int64_t element_bytes(ElementType type) noexcept { return facts(type).bytes; }

}  // namespace cohort

namespace cohort::launch {

namespace {

template <class T>
void put(uint8_t* to, double value) {
  T x{};
  if constexpr (std::numeric_limits<T>::is_integer) {
    // The largest number of 64 bits is not one of f64: what it rounds to is just past the range.
    constexpr double kEnd = static_cast<double>(std::numeric_limits<T>::max());
    const double whole = std::floor(value);
    if (whole >= kEnd) {
      x = std::numeric_limits<T>::max();
    } else if (whole <= static_cast<double>(std::numeric_limits<T>::min())) {
      x = std::numeric_limits<T>::min();
    } else if (!std::isnan(whole)) {
      x = static_cast<T>(whole);
    }
  } else {
    x = static_cast<T>(value);
  }
  std::memcpy(to, &x, sizeof x);
}

template <class T>
double get(const uint8_t* from) {
  T x{};
  std::memcpy(&x, from, sizeof x);
  return static_cast<double>(x);
}

void put_code(DType type, uint8_t* to, double value) {
  const auto x = static_cast<float>(value);
  (void)encode(type, &x, 1, reinterpret_cast<std::byte*>(to));  // one element of a known type
}
double get_code(DType type, const uint8_t* from) {
  float x = 0;
  (void)decode(type, reinterpret_cast<const std::byte*>(from), 1, &x);
  return static_cast<double>(x);
}

void put_element(ElementType type, uint8_t* to, double value) {
  switch (type) {
    case ElementType::u8:
      return put<uint8_t>(to, value);
    case ElementType::s8:
      return put<int8_t>(to, value);
    case ElementType::u16:
      return put<uint16_t>(to, value);
    case ElementType::s16:
      return put<int16_t>(to, value);
    case ElementType::u32:
      return put<uint32_t>(to, value);
    case ElementType::s32:
      return put<int32_t>(to, value);
    case ElementType::u64:
      return put<uint64_t>(to, value);
    case ElementType::s64:
      return put<int64_t>(to, value);
    case ElementType::f16:
      return put_code(DType::f16, to, value);
    case ElementType::bf16:
      return put_code(DType::bf16, to, value);
    case ElementType::f32:
      return put<float>(to, value);
    case ElementType::f64:
      return put<double>(to, value);
    case ElementType::e4m3:
      return put_code(DType::e4m3, to, value);
    case ElementType::e5m2:
      return put_code(DType::e5m2, to, value);
  }
}

// Of [0, 1), the same for the same seed and index: splitmix64, by Sebastiano Vigna (public domain).
double uniform(uint64_t seed, uint64_t index) {
  uint64_t z = (seed * 0xD1342543DE82EF95U) + (index + 1) * 0x9E3779B97F4A7C15U;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
  return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

}  // namespace

std::vector<uint8_t> make_elements(const Values& v, int64_t elements) {
  const auto size = static_cast<size_t>(element_bytes(v.type));
  const auto count = static_cast<size_t>(elements);
  std::vector<uint8_t> bytes(count * size);
  if (v.contents == Contents::ramp && v.first == 0 && v.step == 0) return bytes;
  for (size_t i = 0; i < count; ++i) {
    const double x = v.contents == Contents::random ? v.low + uniform(v.seed, i) * (v.high - v.low)
                                                    : v.first + static_cast<double>(i) * v.step;
    put_element(v.type, bytes.data() + i * size, x);
  }
  return bytes;
}

double element(ElementType type, const uint8_t* bytes) {
  switch (type) {
    case ElementType::u8:
      return get<uint8_t>(bytes);
    case ElementType::s8:
      return get<int8_t>(bytes);
    case ElementType::u16:
      return get<uint16_t>(bytes);
    case ElementType::s16:
      return get<int16_t>(bytes);
    case ElementType::u32:
      return get<uint32_t>(bytes);
    case ElementType::s32:
      return get<int32_t>(bytes);
    case ElementType::u64:
      return get<uint64_t>(bytes);
    case ElementType::s64:
      return get<int64_t>(bytes);
    case ElementType::f16:
      return get_code(DType::f16, bytes);
    case ElementType::bf16:
      return get_code(DType::bf16, bytes);
    case ElementType::f32:
      return get<float>(bytes);
    case ElementType::f64:
      return get<double>(bytes);
    case ElementType::e4m3:
      return get_code(DType::e4m3, bytes);
    case ElementType::e5m2:
      return get_code(DType::e5m2, bytes);
  }
  return 0;
}

Difference differences(ElementType type, const std::vector<uint8_t>& wanted,
                       const std::vector<uint8_t>& got, double absolute, double relative) {
  const auto size = static_cast<size_t>(element_bytes(type));
  Difference d;
  for (size_t at = 0; at + size <= wanted.size() && at + size <= got.size(); at += size) {
    if (std::memcmp(wanted.data() + at, got.data() + at, size) == 0) continue;
    const double w = element(type, wanted.data() + at);
    const double g = element(type, got.data() + at);
    const bool is_integer = type <= ElementType::s64;
    if (std::isnan(w) && std::isnan(g)) continue;
    // Integers beyond 2^53 may look alike and are not.
    const bool must_be_equal = absolute == 0 && relative == 0;
    if (!(is_integer && must_be_equal) && std::abs(g - w) <= absolute + relative * std::abs(w)) {
      continue;
    }
    if (d.wrong++ == 0) d.first = static_cast<int64_t>(at / size);
  }
  return d;
}

}  // namespace cohort::launch
