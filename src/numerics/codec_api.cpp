// Public codecs of arrays.
#include <cstring>

#include <cohort/numerics.h>

#include "base/checked.h"
#include "base/diagnostics.h"
#include "numerics/api_checks.h"
#include "numerics/codec.h"
#include "numerics/philox.h"

namespace cohort {

namespace {

using numerics::refuse;

bool has_codes(DType type) { return type == DType::e8m0 || numerics::find_spec(type) != nullptr; }

int64_t bytes_of(DType type, int64_t count) {
  if (bits(type) == 0) refuse("E-DTYPE", "type", "an element type", "an unknown value");
  if (count < 0) refuse("E-SHAPE", "count", "at least 0", std::to_string(count));
  const auto all = base::checked_mul(count, bits(type));
  if (!all) refuse("E-OVERFLOW", "count", "less than 2^63 bits", std::to_string(count));
  return base::ceil_div(*all, 8);
}

void check_size(DType type, size_t count, size_t bytes) {
  const int64_t wanted = bytes_of(type, static_cast<int64_t>(count));
  if (static_cast<int64_t>(bytes) == wanted) return;
  refuse("E-SIZE", "codes", std::to_string(wanted) + " bytes", std::to_string(bytes));
}

uint32_t code_of(const EncodeSpec& spec, const numerics::Spec* format, float x, uint64_t index) {
  using numerics::Overflow;
  using numerics::Round;
  const Round round = static_cast<Round>(spec.rounding);
  if (format == nullptr) return numerics::encode_e8m0(x, round);
  uint32_t random = 0;
  if (round == Round::random) {
    random = numerics::philox4x32_10(spec.seed, spec.offset + index / 4)[index % 4];
  }
  return numerics::encode(*format, x, round, spec.saturate ? Overflow::saturate : Overflow::ieee,
                          random);
}

static_assert(static_cast<int>(CodeRounding::toward_zero) ==
                  static_cast<int>(numerics::Round::zero) &&
              static_cast<int>(CodeRounding::up) == static_cast<int>(numerics::Round::up) &&
              static_cast<int>(CodeRounding::stochastic) ==
                  static_cast<int>(numerics::Round::random));

}  // namespace

Result<int64_t> code_bytes(DType type, int64_t count) noexcept {
  return base::guarded("sizing codes", [&]() -> Result<int64_t> { return bytes_of(type, count); });
}

Status encode(const EncodeSpec& spec, std::span<const float> values,
              std::span<std::byte> codes) noexcept {
  return base::guarded("encoding", [&]() -> Status {
    if (!has_codes(spec.type)) {
      refuse("E-DTYPE", "type", "f16, bf16, fp8, fp6, fp4 or e8m0", std::string(name(spec.type)));
    }
    if (spec.type == DType::e8m0 && spec.rounding == CodeRounding::stochastic) {
      refuse("E-ATTRIBUTE", "rounding", "nearest_even, toward_zero or up for e8m0", "stochastic");
    }
    check_size(spec.type, values.size(), codes.size());
    const numerics::Spec* format = numerics::find_spec(spec.type);
    auto* bytes = reinterpret_cast<uint8_t*>(codes.data());
    if (bits(spec.type) < 8) std::memset(bytes, 0, codes.size());
    for (size_t i = 0; i < values.size(); ++i) {
      const uint32_t code = code_of(spec, format, values[i], i);
      if (bits(spec.type) == 16) {
        const auto half = static_cast<uint16_t>(code);
        std::memcpy(bytes + 2 * i, &half, 2);
      } else {
        numerics::put_code(spec.type, bytes, static_cast<int64_t>(i), code);
      }
    }
    return {};
  });
}

Status decode(DType type, std::span<const std::byte> codes, std::span<float> values) noexcept {
  return base::guarded("decoding", [&]() -> Status {
    if (!has_codes(type)) {
      refuse("E-DTYPE", "type", "f16, bf16, fp8, fp6, fp4 or e8m0", std::string(name(type)));
    }
    check_size(type, values.size(), codes.size());
    const auto* bytes = reinterpret_cast<const uint8_t*>(codes.data());
    if (bits(type) < 16) {
      numerics::decode_row(type, bytes, 0, static_cast<int64_t>(values.size()), values.data());
      return {};
    }
    const bool bf16 = type == DType::bf16;
    for (size_t i = 0; i < values.size(); ++i) {
      uint16_t code = 0;
      std::memcpy(&code, bytes + 2 * i, 2);
      values[i] = bf16 ? numerics::decode_bf16(code) : numerics::decode_f16(code);
    }
    return {};
  });
}

Status encode(DType type, const float* values, int64_t count, std::byte* codes) noexcept {
  return base::guarded("encoding", [&]() -> Status {
    if (type != DType::f32 && numerics::find_spec(type) == nullptr) {
      refuse("E-DTYPE", "type", "a floating-point type with a sign", std::string(name(type)));
    }
    (void)bytes_of(type, count);
    numerics::encode_row(type, values, 0, count, codes);
    return {};
  });
}

Status decode(DType type, const std::byte* codes, int64_t count, float* values) noexcept {
  return base::guarded("decoding", [&]() -> Status {
    (void)bytes_of(type, count);
    numerics::decode_row(type, codes, 0, count, values);
    return {};
  });
}

}  // namespace cohort
