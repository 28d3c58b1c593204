#include "numerics/codec.h"

#include <array>
#include <cstring>

namespace cohort::numerics {

namespace {

using Table = std::array<float, 256>;

Table make_table(DType type) {
  Table t{};
  const Spec* s = find_spec(type);
  const int count = 1 << bits(type);
  for (int i = 0; i < 256; ++i) {
    const auto code = static_cast<uint32_t>(i & (count - 1));
    t[static_cast<size_t>(i)] =
        type == DType::e8m0 ? decode_e8m0(static_cast<uint8_t>(i)) : decode(*s, code);
  }
  return t;
}

// One table a type that has at most 8 bits, made when the library is loaded.
const std::array<Table, 11> kTables = [] {
  std::array<Table, 11> all{};
  for (int i = 0; i < 11; ++i) {
    const auto type = static_cast<DType>(i);
    if (bits(type) <= 8) all[static_cast<size_t>(i)] = make_table(type);
  }
  return all;
}();

// The value of a 6-bit element: elements stand one after the other, lowest bits first.
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

template <class T, class F>
void convert(const void* data, int64_t first, int64_t count, float* out, F&& f) {
  const T* p = static_cast<const T*>(data) + first;
  for (int64_t i = 0; i < count; ++i) out[i] = f(p[i]);
}

}  // namespace

void decode_row(DType type, const void* data, int64_t first, int64_t count, float* out) {
  if (count <= 0) return;
  const Table& table = kTables[static_cast<size_t>(type)];
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
      convert<uint16_t>(data, first, count, out, [](uint16_t c) { return decode(kF16, c); });
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

void encode_row(DType type, const float* x, int64_t first, int64_t count, void* data) {
  if (count <= 0) return;
  const Spec* s = find_spec(type);
  auto* bytes = static_cast<uint8_t*>(data);
  auto* words = static_cast<uint16_t*>(data);
  switch (type) {
    case DType::f32:
      std::memcpy(static_cast<float*>(data) + first, x, static_cast<size_t>(count) * sizeof(float));
      break;
    case DType::bf16:
      for (int64_t i = 0; i < count; ++i) words[first + i] = encode_bf16(x[i]);
      break;
    case DType::f16:
      for (int64_t i = 0; i < count; ++i) {
        words[first + i] =
            static_cast<uint16_t>(encode(kF16, x[i], Round::nearest_even, Overflow::ieee));
      }
      break;
    case DType::e2m1:
      for (int64_t i = 0; i < count; ++i) {
        const int64_t e = first + i;
        const auto shift = static_cast<unsigned>(e % 2 * 4);
        const uint32_t code = encode(kE2m1, x[i]) << shift;
        bytes[e / 2] = static_cast<uint8_t>((bytes[e / 2] & (0xF0u >> shift)) | code);
      }
      break;
    case DType::e3m2:
    case DType::e2m3:
      for (int64_t i = 0; i < count; ++i) put_six_bits(bytes, first + i, encode(*s, x[i]));
      break;
    default:
      for (int64_t i = 0; i < count; ++i) bytes[first + i] = static_cast<uint8_t>(encode(*s, x[i]));
  }
}

}  // namespace cohort::numerics
