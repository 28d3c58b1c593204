// What a caller hands to a plan: memory with a shape, and a stream.
#pragma once

#include <cstdint>
#include <initializer_list>

#include <cohort/types.h>

namespace cohort {

/// Where memory lives.
struct MemoryDevice {
  /// Kinds of memory.
  enum class Type : uint8_t {
    cpu,   ///< Host memory.
    cuda,  ///< Memory of a CUDA device.
  };
  Type type = Type::cpu;  ///< Kind of memory.
  int32_t ordinal = 0;    ///< CUDA device ordinal; 0 on the CPU.
};

/// A view of caller-owned memory. Shapes are in elements, strides in elements, outermost first.
struct TensorView {
  void* data = nullptr;            ///< First element; may be null when an extent is 0.
  DType dtype = DType::f32;        ///< Element type; e2m1 views count elements, not bytes.
  int32_t rank = 0;                ///< 0 .. kMaxRank.
  int64_t shape[kMaxRank] = {};    ///< Extents.
  int64_t strides[kMaxRank] = {};  ///< Strides; packed() fills them.
  MemoryDevice device{};           ///< Where `data` lives.

  /// A packed row-major view. More than kMaxRank extents leave a rank that nothing takes.
  static constexpr TensorView packed(void* data, DType dtype,
                                     std::initializer_list<int64_t> shape) {
    TensorView v;
    v.data = data;
    v.dtype = dtype;
    for (int64_t extent : shape) {
      if (v.rank < kMaxRank) v.shape[v.rank] = extent;
      ++v.rank;
    }
    v.pack();
    return v;
  }
  /// Sets `strides` to the packed row-major ones of `shape`; a stride that would pass 2^63 - 1 is
  /// that.
  constexpr void pack() {
    int64_t step = 1;
    for (int i = (rank < kMaxRank ? rank : kMaxRank) - 1; i >= 0; --i) {
      strides[i] = step;
      const int64_t extent = shape[i] > 0 ? shape[i] : 1;
      step = extent > INT64_MAX / step ? INT64_MAX : step * extent;
    }
  }
};

/// A queue of work: a wrapped CUstream, or the default (which the CPU engine ignores).
class Stream {
 public:
  constexpr Stream() = default;
  constexpr explicit Stream(void* handle) : handle_(handle) {}      ///< Wraps a CUstream.
  [[nodiscard]] constexpr void* handle() const { return handle_; }  ///< The wrapped CUstream.

 private:
  void* handle_ = nullptr;
};

}  // namespace cohort
