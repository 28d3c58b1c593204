// Public packing of gate and up.
#include <cstring>

#include <cohort/numerics.h>

#include "base/checked.h"
#include "base/diagnostics.h"
#include "numerics/api_checks.h"
#include "numerics/codec.h"

namespace cohort {

namespace {

using numerics::refuse;

// Features of one kind that stand together.
int64_t band(Packing packing, int64_t features) {
  switch (packing) {
    case Packing::split:
      return features / 2;
    case Packing::interleaved:
      return 1;
    case Packing::bands8:
      return 8;
    case Packing::bands32:
      return 32;
  }
  refuse("E-ATTRIBUTE", "packing", "a packing", "an unknown value");
}

// Where feature i of a kind (0 gate, 1 up) stands.
int64_t place(int64_t band, int64_t kind, int64_t i) {
  return (i / band * 2 + kind) * band + i % band;
}

void check(Packing packing, const GluMatrix& m) {
  const int64_t unit = packing == Packing::split ? 2 : 2 * band(packing, m.features);
  if (m.features < 0 || m.features % unit != 0) {
    refuse("E-SHAPE", "features",
           "a multiple of " + std::to_string(unit) + " for " + std::string(name(packing)),
           std::to_string(m.features));
  }
}

void check(const GluMatrix& m) {
  if (bits(m.dtype) == 0) refuse("E-DTYPE", "dtype", "an element type", "an unknown value");
  if (m.outer < 0) refuse("E-SHAPE", "outer", "at least 0", std::to_string(m.outer));
  if (m.inner < 0) refuse("E-SHAPE", "inner", "at least 0", std::to_string(m.inner));
  const auto rows = base::checked_mul(m.outer, m.features);
  const auto elements = rows ? base::checked_mul(*rows, m.inner) : std::nullopt;
  if (!elements || !base::checked_mul(*elements, bits(m.dtype))) {
    refuse("E-OVERFLOW", "outer * features * inner", "less than 2^63 bits", "more");
  }
}

// Moves `count` elements; e2m1 and fp6 rows may begin inside a byte.
void move_elements(DType type, const std::byte* source, int64_t from, std::byte* target, int64_t to,
                   int64_t count) {
  const int64_t width = bits(type);
  if (count * width % 8 == 0) {
    std::memcpy(target + to * width / 8, source + from * width / 8,
                static_cast<size_t>(count * width / 8));
    return;
  }
  for (int64_t i = 0; i < count; ++i) {
    const auto* codes = reinterpret_cast<const uint8_t*>(source);
    numerics::put_code(type, reinterpret_cast<uint8_t*>(target), to + i,
                       numerics::get_code(type, codes, from + i));
  }
}

}  // namespace

Status repack_glu(Packing from, Packing to, const GluMatrix& m, const std::byte* source,
                  std::byte* target) noexcept {
  return base::guarded("packing a GLU weight", [&]() -> Status {
    check(from, m);
    check(to, m);
    check(m);
    if (m.inner == 0 || m.features == 0) return {};
    const int64_t from_band = band(from, m.features);
    const int64_t to_band = band(to, m.features);
    for (int64_t o = 0; o < m.outer; ++o) {
      for (int64_t i = 0; i < m.features; ++i) {
        const int64_t f = place(from_band, i % 2, i / 2);
        const int64_t t = place(to_band, i % 2, i / 2);
        move_elements(m.dtype, source, (o * m.features + f) * m.inner, target,
                      (o * m.features + t) * m.inner, m.inner);
      }
    }
    return {};
  });
}

}  // namespace cohort
