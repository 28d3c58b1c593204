// Tensors of frameworks as views: an adapter for DLPack (github.com/dmlc/dlpack, v1.1), by shape
// alone, so that the caller's own dlpack.h of any version serves.
#pragma once

#include <cstdint>

#include <cohort/status.h>
#include <cohort/tensor.h>

namespace cohort {

/// What from_dlpack could not take.
enum class DlpackStatus : uint8_t {
  ok,      ///< The view is complete.
  dtype,   ///< An element type that the library does not have, or more than one lane.
  device,  ///< Memory that is neither of the CPU, pinned, nor of CUDA.
  rank,    ///< More than kMaxRank extents.
};

namespace detail {

/// The DType of a DLPack type code and its bits; false when there is none.
constexpr bool dlpack_dtype(uint8_t code, uint8_t bits, DType& type) {
  struct Pair {
    uint8_t code;
    uint8_t bits;
    DType type;
  };
  constexpr Pair kPairs[] = {{0, 32, DType::i32},  {0, 64, DType::i64},  {2, 32, DType::f32},
                             {2, 16, DType::f16},  {4, 16, DType::bf16}, {10, 8, DType::e4m3},
                             {12, 8, DType::e5m2}, {14, 8, DType::e8m0}, {15, 6, DType::e2m3},
                             {16, 6, DType::e3m2}, {17, 4, DType::e2m1}};
  for (const Pair& p : kPairs) {
    if (p.code != code || p.bits != bits) continue;
    type = p.type;
    return true;
  }
  return false;
}

}  // namespace detail

/// A view of a DLTensor; the memory stays the tensor's. Shapes and strides are in elements, null
/// strides mean packed row-major, as DLPack says. `view` is set only when the result is ok.
template <class DLTensor>
constexpr DlpackStatus from_dlpack(const DLTensor& tensor, TensorView& view) {
  TensorView v;
  if (tensor.dtype.lanes != 1 ||
      !detail::dlpack_dtype(tensor.dtype.code, tensor.dtype.bits, v.dtype)) {
    return DlpackStatus::dtype;
  }
  const auto device = static_cast<int>(tensor.device.device_type);
  // kDLCPU 1 and kDLCUDAHost 3 are host memory; kDLCUDA 2 and kDLCUDAManaged 13 are the device's.
  const bool host = device == 1 || device == 3;
  if (!host && device != 2 && device != 13) return DlpackStatus::device;
  if (tensor.ndim < 0 || tensor.ndim > kMaxRank) return DlpackStatus::rank;
  v.device.type = host ? MemoryDevice::Type::cpu : MemoryDevice::Type::cuda;
  v.device.ordinal = host ? 0 : static_cast<int32_t>(tensor.device.device_id);
  v.data = static_cast<char*>(tensor.data) + tensor.byte_offset;
  v.rank = static_cast<int32_t>(tensor.ndim);
  for (int i = 0; i < v.rank; ++i) v.shape[i] = tensor.shape[i];
  v.pack();
  for (int i = 0; i < v.rank && tensor.strides != nullptr; ++i) v.strides[i] = tensor.strides[i];
  view = v;
  return DlpackStatus::ok;
}

}  // namespace cohort
