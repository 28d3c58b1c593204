#include "emu/async/tensor_map.h"

#include <algorithm>
#include <cstring>
#include <iterator>

namespace cohort::emu {

namespace {

// In the order of MapType. `code` and `variant` are what the bytes hold.
struct TypeRecord {
  uint8_t bytes;
  uint8_t code;
  uint8_t variant;
  bool is_float;
};
constexpr TypeRecord kTypes[] = {
    {1, 0, 0, false}, {2, 1, 0, false}, {4, 2, 0, false}, {4, 3, 0, false}, {8, 4, 0, false},
    {8, 5, 0, false}, {2, 6, 0, true},  {4, 7, 0, true},  {8, 9, 0, true},  {2, 10, 0, true},
    {4, 8, 0, true},  {4, 7, 1, true},  {4, 8, 1, true},
};

const TypeRecord& record(MapType type) { return kTypes[static_cast<int>(type)]; }

// A field of the second 8 bytes, which hold everything that is no extent.
struct Field {
  int bit;
  int bits;
};
constexpr Field kRank{4, 3};
constexpr Field kType{7, 4};
constexpr Field kInterleave{11, 2};
constexpr Field kSwizzle{13, 2};
constexpr Field kFill{15, 1};
constexpr Field kVariant{16, 1};
constexpr Field kPromotion{17, 2};

void put(uint32_t& word, Field f, uint32_t value) { word |= value << f.bit; }
uint32_t get(uint32_t word, Field f) { return (word >> f.bit) & ((1U << f.bits) - 1); }

template <class T>
void store(TensorMapBytes& bytes, size_t at, T value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}
template <class T>
T load(const TensorMapBytes& bytes, size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

constexpr size_t kFlags = 8;
constexpr size_t kStrides = 12;     // bits 4 to 35 of each, then
constexpr size_t kStrideTops = 28;  // bits 36 to 39 of each
constexpr size_t kDims = 32;
constexpr size_t kElementStrides = 52;
constexpr size_t kBox = 55;
constexpr size_t kBoxBytes = 64;
constexpr size_t kSwizzleMark = 72;

}  // namespace

uint32_t bytes_of(MapType type) { return record(type).bytes; }

uint64_t box_bytes(const TensorMap& map) {
  uint64_t bytes = bytes_of(map.type);
  for (uint32_t i = 0; i < map.rank; ++i) {
    bytes *= map.box[i] / std::max(map.element_strides[i], 1U);
  }
  return bytes;  // at most 8 * 256^5
}

namespace {

std::optional<MapFault> check_dimension(const TensorMap& map, int i) {
  const auto d = static_cast<size_t>(i);
  if (map.dims[d] < 1 || map.dims[d] > uint64_t{1} << 32) {
    return MapFault{"dims", i, "1 to 2^32", map.dims[d]};
  }
  if (map.box[d] < 1 || map.box[d] > 256) return MapFault{"box", i, "1 to 256", map.box[d]};
  if (map.element_strides[d] < 1 || map.element_strides[d] > 8) {
    return MapFault{"element_strides", i, "1 to 8", map.element_strides[d]};
  }
  if (i == 0) return {};
  const uint64_t stride = map.strides[d - 1];
  const uint64_t unit = map.interleave == MapInterleave::bytes32 ? 32 : 16;
  if (stride % unit != 0) {
    return MapFault{"strides", i, "a multiple of " + std::to_string(unit) + " bytes", stride};
  }
  if (stride >= uint64_t{1} << 40) return MapFault{"strides", i, "less than 2^40 bytes", stride};
  return {};
}

}  // namespace

std::optional<MapFault> check(const TensorMap& map) {
  if (map.rank < 1 || map.rank > 5) return MapFault{"rank", -1, "1 to 5", map.rank};
  if (map.interleave != MapInterleave::none && map.rank < 3) {
    return MapFault{"rank", -1, "3 to 5, as it is interleaved", map.rank};
  }
  const uint64_t unit = map.interleave == MapInterleave::bytes32 ? 32 : 16;
  if (map.address % unit != 0) {
    return MapFault{"address", -1, "a multiple of " + std::to_string(unit), map.address};
  }
  for (uint32_t i = 0; i < map.rank; ++i) {
    if (auto fault = check_dimension(map, static_cast<int>(i))) return fault;
  }
  const uint64_t inner = uint64_t{map.box[0]} * bytes_of(map.type);
  if (inner % 16 != 0) return MapFault{"box", 0, "a multiple of 16 bytes", inner};
  const uint64_t span = uint64_t{16} << static_cast<int>(map.swizzle);
  if (map.interleave == MapInterleave::none && map.swizzle != MapSwizzle::none && inner > span) {
    return MapFault{"box", 0, "at most " + std::to_string(span) + " bytes, as it is swizzled",
                    inner};
  }
  if (map.fill == MapFill::nan && !record(map.type).is_float) {
    return MapFault{"fill", -1, "zero, as the type has no NaN", 1};
  }
  const uint64_t bytes = box_bytes(map);
  if (bytes > kMostBoxBytes) {
    return MapFault{"box", -1, "at most " + std::to_string(kMostBoxBytes) + " bytes", bytes};
  }
  return {};
}

TensorMapBytes encode(const TensorMap& map) {
  TensorMapBytes out{};
  uint32_t flags = 0;
  put(flags, kRank, map.rank - 1);
  put(flags, kType, record(map.type).code);
  put(flags, kVariant, record(map.type).variant);
  put(flags, kInterleave, static_cast<uint32_t>(map.interleave));
  put(flags, kSwizzle, static_cast<uint32_t>(map.swizzle));
  put(flags, kFill, static_cast<uint32_t>(map.fill));
  put(flags, kPromotion, static_cast<uint32_t>(map.promotion));
  store(out, 0, map.address);
  store(out, kFlags, flags);
  uint32_t element_strides = 0;
  uint32_t tops = 0;
  for (size_t i = 0; i < map.rank; ++i) {
    if (i > 0) {
      store(out, kStrides + 4 * (i - 1), static_cast<uint32_t>(map.strides[i - 1] >> 4));
      tops |= static_cast<uint32_t>(map.strides[i - 1] >> 36) << (4 * (i - 1));
    }
    store(out, kDims + 4 * i, static_cast<uint32_t>(map.dims[i] - 1));
    store(out, kBox + i, static_cast<uint8_t>(map.box[i] - 1));
    element_strides |= (map.element_strides[i] - 1) << (3 * i);
  }
  store(out, kStrideTops, tops);
  store(out, kElementStrides, static_cast<uint16_t>(element_strides));
  // Behind the 64 bytes that copies read: notes of the driver.
  store(out, kBoxBytes, static_cast<uint32_t>(box_bytes(map)));
  const int swizzle = static_cast<int>(map.swizzle);
  store(out, kSwizzleMark, swizzle == 0 ? uint32_t{0x10} : uint32_t{0x80} << swizzle);
  return out;
}

std::optional<TensorMap> decode(const TensorMapBytes& bytes) {
  const auto flags = load<uint32_t>(bytes, kFlags);
  TensorMap map;
  map.rank = get(flags, kRank) + 1;
  const auto* type = std::find_if(std::begin(kTypes), std::end(kTypes), [&](const TypeRecord& r) {
    return r.code == get(flags, kType) && r.variant == get(flags, kVariant);
  });
  if (map.rank > 5 || type == std::end(kTypes) || get(flags, kInterleave) > 2) return {};
  map.type = static_cast<MapType>(type - std::begin(kTypes));
  map.interleave = static_cast<MapInterleave>(get(flags, kInterleave));
  map.swizzle = static_cast<MapSwizzle>(get(flags, kSwizzle));
  map.fill = static_cast<MapFill>(get(flags, kFill));
  map.promotion = static_cast<MapPromotion>(get(flags, kPromotion));
  map.address = load<uint64_t>(bytes, 0);
  const uint32_t element_strides = load<uint16_t>(bytes, kElementStrides);
  const auto tops = load<uint32_t>(bytes, kStrideTops);
  for (size_t i = 0; i < map.rank; ++i) {
    if (i > 0) {
      map.strides[i - 1] = uint64_t{load<uint32_t>(bytes, kStrides + 4 * (i - 1))} << 4 |
                           uint64_t{(tops >> (4 * (i - 1))) & 0xF} << 36;
    }
    map.dims[i] = uint64_t{load<uint32_t>(bytes, kDims + 4 * i)} + 1;
    map.box[i] = uint32_t{load<uint8_t>(bytes, kBox + i)} + 1;
    map.element_strides[i] = ((element_strides >> (3 * i)) & 7) + 1;
  }
  return map;
}

}  // namespace cohort::emu
