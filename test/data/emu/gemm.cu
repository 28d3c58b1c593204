// D = A * B^T, bf16 into f32, by tcgen05 in raw PTX: a warp that fills stages of shared memory, a
// thread that multiplies, four warps that read the accumulators. Tiles of 128 x 64 x 64, as many
// CTAs as one likes. A [m][k], B [n][k], D [m][n], all multiples of the tile.
typedef unsigned int u32;
typedef unsigned long long u64;

constexpr u32 kRows = 128;
constexpr u32 kColumns = 64;
constexpr u32 kLength = 64;   // Elements of a line of 128 bytes.
constexpr u32 kStages = 2;
constexpr u32 kAccumulators = 2;
constexpr u32 kLine = 128;
constexpr u32 kBytesA = kRows * kLine;
constexpr u32 kBytesB = kColumns * kLine;

struct alignas(1024) Shared {
  unsigned char a[kStages][kBytesA];
  unsigned char b[kStages][kBytesB];
  u64 full[kStages];
  u64 empty[kStages];
  u64 ready[kAccumulators];  // An accumulator is complete,
  u64 free[kAccumulators];   // or may be written again.
  u32 columns;
};

__device__ __forceinline__ u32 at(const void* p) {
  return static_cast<u32>(__cvta_generic_to_shared(p));
}
__device__ __forceinline__ void init(u64* bar, u32 count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(at(bar)), "r"(count) : "memory");
}
__device__ __forceinline__ void arrive(u64* bar) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(at(bar)) : "memory");
}
__device__ __forceinline__ void wait(u64* bar, u32 parity) {
  asm volatile(
      "{\n\t.reg .pred done;\nagain:\n\t"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n\t@!done bra again;\n\t}" ::"r"(
          at(bar)),
      "r"(parity)
      : "memory");
}
__device__ __forceinline__ void before() {
  asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");
}
__device__ __forceinline__ void after() {
  asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
}
__device__ __forceinline__ void commit(u64* bar) {
  asm volatile(
      "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(at(bar))
      : "memory");
}
// K-major, swizzled by 128 bytes, 8 lines of 128 bytes after each other.
__device__ __forceinline__ u64 descriptor(const void* p) {
  return (at(p) & 0x3FFFF) >> 4 | u64{1} << 16 | u64{1024 >> 4} << 32 | u64{1} << 46 | u64{2} << 61;
}


// A warp copies lines of 128 bytes to where the swizzle wants them.
__device__ __forceinline__ void copy(unsigned char* to, const uint4* from, u32 lines, u32 pitch,
                                     u32 lane) {
  for (u32 i = lane; i < lines * 8; i += 32) {
    const u32 line = i / 8;
    const u32 chunk = i % 8;
    *reinterpret_cast<uint4*>(to + line * kLine + ((chunk ^ line % 8) * 16)) =
        from[u64{line} * pitch + chunk];
  }
}

extern "C" __global__ void __launch_bounds__(192, 1)
    gemm(const uint4* a, const uint4* b, float* d, u32 m, u32 n, u32 k) {
  __shared__ Shared s;
  const u32 warp = threadIdx.x / 32;
  const u32 lane = threadIdx.x % 32;
  const u32 rows = m / kRows;
  const u32 tiles = rows * (n / kColumns);
  const u32 steps = k / kLength;
  const u32 pitch = k / 8;  // uint4 of a row
  if (warp == 0 && lane == 0) {
    for (u32 i = 0; i < kStages; ++i) {
      init(&s.full[i], 32);
      init(&s.empty[i], 1);
    }
    for (u32 i = 0; i < kAccumulators; ++i) {
      init(&s.ready[i], 1);
      init(&s.free[i], 128);
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  if (warp == 1) {
    asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], 128;" ::"r"(
                     at(&s.columns))
                 : "memory");
    asm volatile("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;");
  }
  before();
  __syncthreads();
  after();
  const u32 columns = *const_cast<volatile u32*>(&s.columns);
  if (warp == 0) {
    u32 step = 0;
    for (u32 tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
      const uint4* of_a = a + u64{tile % rows * kRows} * pitch;
      const uint4* of_b = b + u64{tile / rows * kColumns} * pitch;
      for (u32 i = 0; i < steps; ++i, ++step) {
        const u32 stage = step % kStages;
        wait(&s.empty[stage], (step / kStages & 1) ^ 1);
        copy(s.a[stage], of_a + i * 8, kRows, pitch, lane);
        copy(s.b[stage], of_b + i * 8, kColumns, pitch, lane);
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        arrive(&s.full[stage]);
      }
    }
  } else if (warp == 1) {
    if (lane == 0) {
      const u32 form = 1u << 4 | 1u << 7 | 1u << 10 | kColumns / 8 << 17 | kRows / 16 << 24;
      u32 step = 0;
      u32 done = 0;
      for (u32 tile = blockIdx.x; tile < tiles; tile += gridDim.x, ++done) {
        const u32 which = done % kAccumulators;
        wait(&s.free[which], (done / kAccumulators & 1) ^ 1);
        after();
        for (u32 i = 0; i < steps; ++i, ++step) {
          const u32 stage = step % kStages;
          wait(&s.full[stage], step / kStages & 1);
          after();
          const u64 of_a = descriptor(s.a[stage]);
          const u64 of_b = descriptor(s.b[stage]);
#pragma unroll
          for (u32 j = 0; j < kLength / 16; ++j) {
            asm volatile(
                "{\n\t.reg .pred adds;\n\tsetp.ne.b32 adds, %4, 0;\n\t"
                "tcgen05.mma.cta_group::1.kind::f16 [%0], %1, %2, %3, adds;\n\t}" ::"r"(
                    columns + which * kColumns),
                "l"(of_a + 2 * j), "l"(of_b + 2 * j), "r"(form), "r"(i + j)
                : "memory");
          }
          commit(&s.empty[stage]);
        }
        commit(&s.ready[which]);
      }
    }
  } else {
    u32 done = 0;
    for (u32 tile = blockIdx.x; tile < tiles; tile += gridDim.x, ++done) {
      const u32 which = done % kAccumulators;
      const u32 quarter = warp % 4 * 32;
      wait(&s.ready[which], done / kAccumulators & 1);
      after();
      float* out = d + u64{tile % rows * kRows + quarter + lane} * n + tile / rows * kColumns;
#pragma unroll
      for (u32 c = 0; c < kColumns; c += 8) {
        u32 r[8];
        asm volatile(
            "tcgen05.ld.sync.aligned.32x32b.x8.b32 {%0,%1,%2,%3,%4,%5,%6,%7}, [%8];"
            : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]), "=r"(r[4]), "=r"(r[5]), "=r"(r[6]),
              "=r"(r[7])
            : "r"(columns + which * kColumns + c + (quarter << 16))
            : "memory");
        asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory");
        // Behind the last load, and before the results go anywhere.
        if (c + 8 == kColumns) {
          before();
          arrive(&s.free[which]);
        }
        for (u32 e = 0; e < 8; ++e) out[c + e] = __uint_as_float(r[e]);
      }
    }
  }
  before();
  __syncthreads();
  after();
  if (warp == 1) {
    asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, 128;" ::"r"(columns));
  }
}
