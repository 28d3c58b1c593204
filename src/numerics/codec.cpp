#include "numerics/codec.h"

#include <array>
#include <cmath>
#include <cstring>

namespace cohort::numerics {

namespace {

using Table = std::array<float, 256>;

constexpr Table make_table(const Spec& s) {
  const uint32_t mask = (uint32_t{2} << (s.exponent_bits + s.mantissa_bits)) - 1;
  Table t{};
  for (uint32_t i = 0; i < 256; ++i) t[i] = decode(s, i & mask);
  return t;
}

constexpr Table make_e8m0_table() {
  Table t{};
  for (uint32_t i = 0; i < 256; ++i) t[i] = decode_e8m0(static_cast<uint8_t>(i));
  return t;
}

constexpr Table kE4m3Table = make_table(kE4m3);
constexpr Table kE5m2Table = make_table(kE5m2);
constexpr Table kE3m2Table = make_table(kE3m2);
constexpr Table kE2m3Table = make_table(kE2m3);
constexpr Table kE2m1Table = make_table(kE2m1);
constexpr Table kE8m0Table = make_e8m0_table();

const Table& table_of(DType type) {
  switch (type) {
    case DType::e4m3:
      return kE4m3Table;
    case DType::e5m2:
      return kE5m2Table;
    case DType::e3m2:
      return kE3m2Table;
    case DType::e2m3:
      return kE2m3Table;
    case DType::e2m1:
      return kE2m1Table;
    default:
      return kE8m0Table;
  }
}

// Elements stand one after the other, lowest bits first.
uint32_t six_bits(const uint8_t* p, int64_t i) {
  const int64_t bit = i * 6;
  const uint32_t low = p[bit / 8];
  const uint32_t high = bit % 8 > 2 ? p[bit / 8 + 1] : 0;
  return ((low | high << 8) >> (bit % 8)) & 0x3F;
}

void put_six_bits(uint8_t* p, int64_t i, uint32_t code) {
  const int64_t bit = i * 6;
  const auto shift = static_cast<unsigned>(bit % 8);
  p[bit / 8] = static_cast<uint8_t>((p[bit / 8] & ~(0x3Fu << shift)) | code << shift);
  if (shift <= 2) return;
  uint8_t& next = p[bit / 8 + 1];
  next = static_cast<uint8_t>((next & ~(0x3Fu >> (8 - shift))) | code >> (8 - shift));
}

// Integers that a float of that size cannot pass; the conversion itself would be undefined.
template <class T>
T to_integer(float x) {
  constexpr float kEnd = sizeof(T) == 4 ? 0x1p31f : 0x1p63f;
  if (x != x) return 0;
  if (x >= kEnd) return std::numeric_limits<T>::max();
  if (x < -kEnd) return std::numeric_limits<T>::min();
  return static_cast<T>(std::nearbyint(x));
}

template <class T, class F>
void convert(const void* data, int64_t first, int64_t count, float* out, F&& f) {
  const T* p = static_cast<const T*>(data) + first;
  for (int64_t i = 0; i < count; ++i) out[i] = f(p[i]);
}

}  // namespace

void decode_row(DType type, const void* data, int64_t first, int64_t count, float* out) {
  if (count <= 0) return;
  const Table& table = table_of(type);
  const auto* bytes = static_cast<const uint8_t*>(data);
  switch (type) {
    case DType::f32:
      std::memcpy(out, static_cast<const float*>(data) + first,
                  static_cast<size_t>(count) * sizeof(float));
      break;
    case DType::bf16:
      convert<uint16_t>(data, first, count, out, decode_bf16);
      break;
    case DType::f16:
      convert<uint16_t>(data, first, count, out, decode_f16);
      break;
    case DType::i32:
      convert<int32_t>(data, first, count, out, [](int32_t c) { return static_cast<float>(c); });
      break;
    case DType::i64:
      convert<int64_t>(data, first, count, out, [](int64_t c) { return static_cast<float>(c); });
      break;
    case DType::e2m1:
      for (int64_t i = 0; i < count; ++i) {
        const int64_t e = first + i;
        out[i] = table[(bytes[e / 2] >> (e % 2 * 4)) & 0xF];
      }
      break;
    case DType::e3m2:
    case DType::e2m3:
      for (int64_t i = 0; i < count; ++i) out[i] = table[six_bits(bytes, first + i)];
      break;
    default:
      convert<uint8_t>(data, first, count, out, [&](uint8_t c) { return table[c]; });
  }
}

uint32_t get_code(DType type, const uint8_t* data, int64_t i) {
  switch (bits(type)) {
    case 4:
      return (data[i / 2] >> (i % 2 * 4)) & 0xFu;
    case 6:
      return six_bits(data, i);
    default:
      return data[i];
  }
}

void put_code(DType type, uint8_t* data, int64_t i, uint32_t code) {
  switch (bits(type)) {
    case 4: {
      const auto shift = static_cast<unsigned>(i % 2 * 4);
      data[i / 2] = static_cast<uint8_t>((data[i / 2] & (0xF0u >> shift)) | (code & 0xF) << shift);
      break;
    }
    case 6:
      put_six_bits(data, i, code & 0x3F);
      break;
    default:
      data[i] = static_cast<uint8_t>(code);
  }
}

void encode_row(DType type, const float* x, int64_t first, int64_t count, void* data) {
  if (count <= 0) return;
  const Spec* s = find_spec(type);
  auto* words = static_cast<uint16_t*>(data) + first;
  switch (type) {
    case DType::f32:
      std::memcpy(static_cast<float*>(data) + first, x, static_cast<size_t>(count) * sizeof(float));
      break;
    case DType::bf16:
      for (int64_t i = 0; i < count; ++i) words[i] = encode_bf16(x[i]);
      break;
    case DType::f16:
      for (int64_t i = 0; i < count; ++i) {
        words[i] = static_cast<uint16_t>(encode(kF16, x[i], Round::nearest_even, Overflow::ieee));
      }
      break;
    case DType::i32:
      for (int64_t i = 0; i < count; ++i) {
        static_cast<int32_t*>(data)[first + i] = to_integer<int32_t>(x[i]);
      }
      break;
    case DType::i64:
      for (int64_t i = 0; i < count; ++i) {
        static_cast<int64_t*>(data)[first + i] = to_integer<int64_t>(x[i]);
      }
      break;
    default:
      for (int64_t i = 0; i < count; ++i) {
        const uint32_t code = s == nullptr ? encode_e8m0(x[i]) : encode(*s, x[i]);
        put_code(type, static_cast<uint8_t*>(data), first + i, code);
      }
  }
}

}  // namespace cohort::numerics
