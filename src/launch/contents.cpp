#include "launch/contents.h"

#include <cmath>
#include <cstring>
#include <limits>

#include <cohort/numerics.h>

#include "base/splitmix64.h"

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

// An element as it stands in memory, of type T.
template <class T>
struct Plain {
  static void put(uint8_t* to, double value) {
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
  static double get(const uint8_t* from) {
    T x{};
    std::memcpy(&x, from, sizeof x);
    return static_cast<double>(x);
  }
};

// An element that is a code.
template <DType kType>
struct Code {
  static void put(uint8_t* to, double value) {
    const auto x = static_cast<float>(value);
    (void)encode(kType, &x, 1, reinterpret_cast<std::byte*>(to));  // one element of a known type
  }
  static double get(const uint8_t* from) {
    float x = 0;
    (void)decode(kType, reinterpret_cast<const std::byte*>(from), 1, &x);
    return static_cast<double>(x);
  }
};

// f of what puts and gets elements of a type.
template <class F>
auto with(ElementType type, const F& f) {
  switch (type) {
    case ElementType::u8:
      break;
    case ElementType::s8:
      return f(Plain<int8_t>{});
    case ElementType::u16:
      return f(Plain<uint16_t>{});
    case ElementType::s16:
      return f(Plain<int16_t>{});
    case ElementType::u32:
      return f(Plain<uint32_t>{});
    case ElementType::s32:
      return f(Plain<int32_t>{});
    case ElementType::u64:
      return f(Plain<uint64_t>{});
    case ElementType::s64:
      return f(Plain<int64_t>{});
    case ElementType::f16:
      return f(Code<DType::f16>{});
    case ElementType::bf16:
      return f(Code<DType::bf16>{});
    case ElementType::f32:
      return f(Plain<float>{});
    case ElementType::f64:
      return f(Plain<double>{});
    case ElementType::e4m3:
      return f(Code<DType::e4m3>{});
    case ElementType::e5m2:
      return f(Code<DType::e5m2>{});
  }
  return f(Plain<uint8_t>{});
}

// Of [0, 1), the same for the same seed and index.
double uniform(uint64_t seed, uint64_t index) {
  const uint64_t state = seed * 0xD1342543DE82EF95U + (index + 1) * base::kSplitmixStep;
  return static_cast<double>(base::splitmix64(state) >> 11) * 0x1p-53;
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
    with(v.type, [&](auto as) { as.put(bytes.data() + i * size, x); });
  }
  return bytes;
}

double element(ElementType type, const uint8_t* bytes) {
  return with(type, [&](auto as) { return as.get(bytes); });
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
    // Of what is infinite, every number would be a small part away.
    const bool is_near = std::isfinite(w) && std::abs(g - w) <= absolute + relative * std::abs(w);
    if (!(is_integer && must_be_equal) && is_near) continue;
    if (d.wrong++ == 0) d.first = static_cast<int64_t>(at / size);
  }
  return d;
}

}  // namespace cohort::launch
