// wgmma and mma.sync by themselves. Operands stand in shared memory without swizzle, in the
// canonical layout of PTX ISA 9.7.15.5: chunks of 8 rows x 16 bytes.
#include <cuda_runtime.h>

#include <cstdio>

#include "device/tensor_core.h"

namespace cohort::device {
namespace {

constexpr int kThreads = 128;
constexpr int kChunk = 128;

// Accumulators in registers: four floats, or two pairs of halves.
#define WGMMA_F32(shape, tail)                                                                  \
  asm volatile("wgmma.mma_async.sync.aligned." shape " {%0,%1,%2,%3}, %4, %5, 1, 1, 1" tail ";" \
               : "+f"(f[0]), "+f"(f[1]), "+f"(f[2]), "+f"(f[3])                                 \
               : "l"(a), "l"(b))
#define WGMMA_F16(shape, tail)                                                            \
  asm volatile("wgmma.mma_async.sync.aligned." shape " {%0,%1}, %2, %3, 1, 1, 1" tail ";" \
               : "+r"(h[0]), "+r"(h[1])                                                   \
               : "l"(a), "l"(b))
#define MMA_F32(shape)                                                                            \
  asm volatile("mma.sync.aligned." shape " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};" \
               : "+f"(f[0]), "+f"(f[1]), "+f"(f[2]), "+f"(f[3])                                   \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))
#define MMA_F16(shape)                                                                \
  asm volatile("mma.sync.aligned." shape " {%0,%1}, {%2,%3,%4,%5}, {%6,%7}, {%0,%1};" \
               : "+r"(h[0]), "+r"(h[1])                                               \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))

template <MmaType T>
__device__ void wgmma(float (&f)[4], uint32_t (&h)[2], uint64_t a, uint64_t b) {
  if constexpr (T == MmaType::bf16) WGMMA_F32("m64n8k16.f32.bf16.bf16", ", 0, 0");
  if constexpr (T == MmaType::f16) WGMMA_F32("m64n8k16.f32.f16.f16", ", 0, 0");
  if constexpr (T == MmaType::f16_f16) WGMMA_F16("m64n8k16.f16.f16.f16", ", 0, 0");
  if constexpr (T == MmaType::tf32) WGMMA_F32("m64n8k8.f32.tf32.tf32", "");
  if constexpr (T == MmaType::e4m3) WGMMA_F32("m64n8k32.f32.e4m3.e4m3", "");
  if constexpr (T == MmaType::e5m2) WGMMA_F32("m64n8k32.f32.e5m2.e5m2", "");
  if constexpr (T == MmaType::e4m3_e5m2) WGMMA_F32("m64n8k32.f32.e4m3.e5m2", "");
  if constexpr (T == MmaType::e5m2_e4m3) WGMMA_F32("m64n8k32.f32.e5m2.e4m3", "");
  if constexpr (T == MmaType::e4m3_f16) WGMMA_F16("m64n8k32.f16.e4m3.e4m3", "");
  if constexpr (T == MmaType::e5m2_f16) WGMMA_F16("m64n8k32.f16.e5m2.e5m2", "");
}

template <MmaType T>
__device__ void mma(float (&f)[4], uint32_t (&h)[2], const uint32_t (&a)[4],
                    const uint32_t (&b)[2]) {
  if constexpr (T == MmaType::bf16) MMA_F32("m16n8k16.row.col.f32.bf16.bf16.f32");
  if constexpr (T == MmaType::f16) MMA_F32("m16n8k16.row.col.f32.f16.f16.f32");
  if constexpr (T == MmaType::f16_f16) MMA_F16("m16n8k16.row.col.f16.f16.f16.f16");
  if constexpr (T == MmaType::tf32) MMA_F32("m16n8k8.row.col.f32.tf32.tf32.f32");
  if constexpr (T == MmaType::e4m3) MMA_F32("m16n8k32.row.col.f32.e4m3.e4m3.f32");
  if constexpr (T == MmaType::e5m2) MMA_F32("m16n8k32.row.col.f32.e5m2.e5m2.f32");
  if constexpr (T == MmaType::e4m3_e5m2) MMA_F32("m16n8k32.row.col.f32.e4m3.e5m2.f32");
  if constexpr (T == MmaType::e5m2_e4m3) MMA_F32("m16n8k32.row.col.f32.e5m2.e4m3.f32");
  if constexpr (T == MmaType::e4m3_f16) MMA_F16("m16n8k32.row.col.f16.e4m3.e4m3.f16");
  if constexpr (T == MmaType::e5m2_f16) MMA_F16("m16n8k32.row.col.f16.e5m2.e5m2.f16");
}

__host__ __device__ constexpr bool is_half(MmaType t) {
  return t == MmaType::f16_f16 || t == MmaType::e4m3_f16 || t == MmaType::e5m2_f16;
}

// No swizzle: chunks along k are 128 bytes apart, groups of 8 rows 256.
__device__ uint64_t descriptor(const void* shared) {
  const auto address = static_cast<uint32_t>(__cvta_generic_to_shared(shared));
  return uint64_t{(address >> 4) & 0x3FFF} | uint64_t{kChunk >> 4} << 16 |
         uint64_t{2 * kChunk >> 4} << 32;
}

// The four elements of D that a thread holds: rows r and r + 8, columns c and c + 1.
struct Place {
  int r = (threadIdx.x / 32) * 16 + (threadIdx.x % 32) / 4;
  int c = (threadIdx.x % 4) * 2;
  __device__ int at(int i) const { return (r + (i / 2) * 8) * kColumns + c + i % 2; }
};

template <MmaType T>
__device__ void load(float (&f)[4], uint32_t (&h)[2], const uint32_t* c) {
  const Place p;
  for (int i = 0; i < 4; ++i) f[i] = __uint_as_float(c[p.at(i)]);
  for (int i = 0; i < 2; ++i) h[i] = (c[p.at(2 * i)] & 0xFFFF) | c[p.at(2 * i + 1)] << 16;
}

template <MmaType T>
__device__ void store(const float (&f)[4], const uint32_t (&h)[2], uint32_t* d) {
  const Place p;
  for (int i = 0; i < 4; ++i) {
    d[p.at(i)] = is_half(T) ? (h[i / 2] >> (i % 2 * 16)) & 0xFFFF : __float_as_uint(f[i]);
  }
}

template <MmaType T>
__global__ void run(const uint8_t* a, const uint8_t* b, const uint32_t* c, uint32_t* d_wgmma,
                    uint32_t* d_mma) {
  __shared__ alignas(1024) uint8_t sa[kRows * kRowBytes];
  __shared__ alignas(1024) uint8_t sb[kColumns * kRowBytes];
  a += blockIdx.x * kRows * kRowBytes;
  b += blockIdx.x * kColumns * kRowBytes;
  c += blockIdx.x * kRows * kColumns;
  const auto place = [](int i) {
    const int row = i / kRowBytes;
    const int k = i % kRowBytes;
    return ((row / 8) * 2 + k / 16) * kChunk + (row % 8) * 16 + k % 16;
  };
  for (int i = threadIdx.x; i < kRows * kRowBytes; i += kThreads) sa[place(i)] = a[i];
  for (int i = threadIdx.x; i < kColumns * kRowBytes; i += kThreads) sb[place(i)] = b[i];
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();

  float f[4];
  uint32_t h[2];
  load<T>(f, h, c);
  asm volatile("wgmma.fence.sync.aligned;"
               : "+f"(f[0]), "+f"(f[1]), "+f"(f[2]), "+f"(f[3]), "+r"(h[0]), "+r"(h[1])::"memory");
  wgmma<T>(f, h, descriptor(sa), descriptor(sb));
  asm volatile("wgmma.commit_group.sync.aligned;\n\twgmma.wait_group.sync.aligned 0;"
               : "+f"(f[0]), "+f"(f[1]), "+f"(f[2]), "+f"(f[3]), "+r"(h[0]), "+r"(h[1])::"memory");
  store<T>(f, h, d_wgmma + blockIdx.x * kRows * kColumns);

  // A lane's part of a row is word t and word t + 4, whatever the element.
  const auto* words_a = reinterpret_cast<const uint32_t*>(a);
  const auto* words_b = reinterpret_cast<const uint32_t*>(b);
  constexpr int kWords = kRowBytes / 4;
  const int g = threadIdx.x % 32 / 4;
  const int t = threadIdx.x % 4;
  const int row = threadIdx.x / 32 * 16 + g;
  const uint32_t fa[4] = {words_a[row * kWords + t], words_a[(row + 8) * kWords + t],
                          words_a[row * kWords + 4 + t], words_a[(row + 8) * kWords + 4 + t]};
  const uint32_t fb[2] = {words_b[g * kWords + t], words_b[g * kWords + 4 + t]};
  load<T>(f, h, c);
  mma<T>(f, h, fa, fb);
  store<T>(f, h, d_mma + blockIdx.x * kRows * kColumns);
}

template <class X>
struct Buffer {
  X* data = nullptr;
  explicit Buffer(size_t count) { cudaMalloc(&data, count * sizeof(X)); }
  ~Buffer() { cudaFree(data); }
};

template <MmaType T>
cudaError_t launch(int blocks, const uint8_t* a, const uint8_t* b, const uint32_t* c,
                   uint32_t* d_wgmma, uint32_t* d_mma) {
  const size_t words = size_t(blocks) * kRows * kColumns;
  const size_t a_bytes = size_t(blocks) * kRows * kRowBytes;
  const size_t b_bytes = size_t(blocks) * kColumns * kRowBytes;
  const Buffer<uint8_t> ga(a_bytes), gb(b_bytes);
  const Buffer<uint32_t> gc(words), gw(words), gm(words);
  cudaMemcpy(ga.data, a, a_bytes, cudaMemcpyHostToDevice);
  cudaMemcpy(gb.data, b, b_bytes, cudaMemcpyHostToDevice);
  cudaMemcpy(gc.data, c, words * 4, cudaMemcpyHostToDevice);
  run<T><<<blocks, kThreads>>>(ga.data, gb.data, gc.data, gw.data, gm.data);
  cudaMemcpy(d_wgmma, gw.data, words * 4, cudaMemcpyDeviceToHost);
  cudaMemcpy(d_mma, gm.data, words * 4, cudaMemcpyDeviceToHost);
  return cudaGetLastError();
}

}  // namespace

const char* run_mma(MmaType type, int blocks, const uint8_t* a, const uint8_t* b, const uint32_t* c,
                    uint32_t* wgmma, uint32_t* mma) {
  cudaError_t e = cudaErrorInvalidValue;
  switch (type) {
#define CASE(t)                                          \
  case MmaType::t:                                       \
    e = launch<MmaType::t>(blocks, a, b, c, wgmma, mma); \
    break;
    CASE(bf16)
    CASE(f16)
    CASE(f16_f16)
    CASE(tf32)
    CASE(e4m3)
    CASE(e5m2)
    CASE(e4m3_e5m2)
    CASE(e5m2_e4m3)
    CASE(e4m3_f16)
    CASE(e5m2_f16)
#undef CASE
  }
  return e == cudaSuccess ? nullptr : cudaGetErrorString(e);
}

bool has_hopper(char* name, int size) {
  cudaDeviceProp properties{};
  int driver = 0;
  if (cudaGetDeviceProperties(&properties, 0) != cudaSuccess) return false;
  cudaDriverGetVersion(&driver);
  std::snprintf(name, static_cast<size_t>(size), "%s, CUDA driver %d", properties.name, driver);
  return properties.major == 9 && properties.minor == 0;
}

}  // namespace cohort::device
