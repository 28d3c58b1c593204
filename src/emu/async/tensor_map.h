// Tensor maps: the 128 bytes that tell a bulk tensor copy where a tensor lies and how its box is
// laid out. The driver's rules and its encoding, as an H200 showed them:
// docs/emulator/tensor_map.md.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

namespace cohort::emu {

/// CUtensorMapDataType, in its numbers (cuda.h).
enum class MapType : uint8_t {
  u8,
  u16,
  u32,
  s32,
  u64,
  s64,
  f16,
  f32,
  f64,
  bf16,
  f32_ftz,
  tf32,
  tf32_ftz,
};
enum class MapInterleave : uint8_t { none, bytes16, bytes32 };
enum class MapSwizzle : uint8_t { none, bytes32, bytes64, bytes128 };
enum class MapPromotion : uint8_t { none, bytes64, bytes128, bytes256 };
enum class MapFill : uint8_t { zero, nan };

/// What cuTensorMapEncodeTiled is given. Dimension 0 is the innermost.
struct TensorMap {
  MapType type = MapType::u8;
  uint32_t rank = 1;
  uint64_t address = 0;
  std::array<uint64_t, 5> dims{};             ///< Elements: 1 to 2^32.
  std::array<uint64_t, 4> strides{};          ///< Bytes, of dimensions 1 and up.
  std::array<uint32_t, 5> box{};              ///< Elements: 1 to 256.
  std::array<uint32_t, 5> element_strides{};  ///< 1 to 8.
  MapInterleave interleave = MapInterleave::none;
  MapSwizzle swizzle = MapSwizzle::none;
  MapPromotion promotion = MapPromotion::none;
  MapFill fill = MapFill::zero;
  bool operator==(const TensorMap&) const = default;
};

using TensorMapBytes = std::array<uint8_t, 128>;

/// Why the driver refuses a map.
struct MapFault {
  const char* field = "";
  int dimension = -1;
  std::string wanted;
  uint64_t got = 0;
};

/// The most bytes that a box may bring: the shared memory of an SM of Hopper and Blackwell.
inline constexpr uint64_t kMostBoxBytes = uint64_t{228} * 1024;

[[nodiscard]] uint32_t bytes_of(MapType type);
/// Bytes that a box brings, elements that element strides pass over left out. Saturates.
[[nodiscard]] uint64_t box_bytes(const TensorMap& map);
/// The first rule that a map breaks, or nothing.
[[nodiscard]] std::optional<MapFault> check(const TensorMap& map);
/// The bytes of a map that `check` accepts.
[[nodiscard]] TensorMapBytes encode(const TensorMap& map);
/// The map of 64 bytes, of which nothing is known to be right. Nothing when a type or a mode in
/// them is none that is known.
[[nodiscard]] std::optional<TensorMap> decode(const TensorMapBytes& bytes);

}  // namespace cohort::emu
