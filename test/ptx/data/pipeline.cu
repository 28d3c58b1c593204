// A stage of a pipeline in raw PTX: bulk tensor copies into shared memory, an mbarrier, a
// tensor-core product with block scales, results out of tensor memory, packed and stored.
typedef unsigned int u32;
typedef unsigned long long u64;

struct alignas(64) TensorMap {
  u64 words[16];
};

__device__ __forceinline__ bool elected() {
  u32 leads;
  asm volatile(
      "{ .reg .pred p; .reg .b32 lane;\n\t"
      "elect.sync lane|p, -1;\n\t"
      "selp.b32 %0, 1, 0, p; }"
      : "=r"(leads));
  return leads != 0;
}

__device__ __forceinline__ void wait(u32 barrier, u32 parity) {
  asm volatile(
      "{\n\t.reg .pred done;\n"
      "again:\n\t"
      "mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 done, [%0], %1, 0x989680;\n\t"
      "@done bra finished;\n\tbra again;\n"
      "finished:\n\t}"
      :: "r"(barrier), "r"(parity) : "memory");
}

__device__ __forceinline__ void copy_2d(u32 to, const TensorMap* map, int x, int y, u32 barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
      "[%0],[%1,{%2,%3}],[%4];"
      :: "r"(to), "l"(map), "r"(x), "r"(y), "r"(barrier) : "memory");
}

extern "C" __global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(128)
    pipeline(const __grid_constant__ TensorMap map_a, const __grid_constant__ TensorMap map_b,
             u32* out, u64 a_descriptor, u64 b_descriptor, u32 instruction, u32 steps) {
  extern __shared__ __align__(1024) unsigned char shared[];
  __shared__ u64 barriers[2];
  __shared__ u32 tensor_memory;
  const u32 base = static_cast<u32>(__cvta_generic_to_shared(shared));
  const u32 full = static_cast<u32>(__cvta_generic_to_shared(&barriers[0]));
  const u32 done = full + 8;
  const u32 warp = threadIdx.x / 32;
  if (warp == 0) {
    asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], 128;"
                 :: "r"(static_cast<u32>(__cvta_generic_to_shared(&tensor_memory))) : "memory");
    if (elected()) {
      asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(full) : "memory");
      asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(done) : "memory");
      asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
  }
  __syncthreads();
  const u32 taddr = tensor_memory;
  if (warp == 0 && elected()) {
    for (u32 k = 0; k < steps; ++k) {
      asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                   :: "r"(full), "r"(32768u) : "memory");
      copy_2d(base, &map_a, k * 64, blockIdx.x * 128, full);
      copy_2d(base + 16384, &map_b, k * 64, 0, full);
      wait(full, k & 1);
      asm volatile(
          "{ .reg .pred p; setp.ne.b32 p, %4, 0;\n\t"
          "tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale.block32 "
          "[%0], %1, %2, %3, [%5], [%6], p; }"
          :: "r"(taddr), "l"(a_descriptor), "l"(b_descriptor), "r"(instruction), "r"(k),
             "r"(taddr + 64), "r"(taddr + 68) : "memory");
    }
    asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];"
                 :: "r"(done) : "memory");
  }
  wait(done, 0);
  asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
  u32 r[8];
  asm volatile(
      "tcgen05.ld.sync.aligned.32x32b.x8.b32 {%0,%1,%2,%3,%4,%5,%6,%7}, [%8];"
      : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]), "=r"(r[4]), "=r"(r[5]), "=r"(r[6]),
        "=r"(r[7])
      : "r"(taddr + (warp << 21)));
  asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory");
  u32 packed[2];
  for (int i = 0; i < 2; ++i) {
    asm("{ .reg .b16 low, high;\n\t"
        "cvt.rn.satfinite.e4m3x2.f32 low, %2, %1;\n\t"
        "cvt.rn.satfinite.e4m3x2.f32 high, %4, %3;\n\t"
        "mov.b32 %0, {low, high}; }"
        : "=r"(packed[i])
        : "f"(__uint_as_float(r[4 * i])), "f"(__uint_as_float(r[4 * i + 1])),
          "f"(__uint_as_float(r[4 * i + 2])), "f"(__uint_as_float(r[4 * i + 3])));
  }
  asm volatile("st.global.v2.b32 [%0], {%1, %2};"
               :: "l"(out + 2 * threadIdx.x), "r"(packed[0]), "r"(packed[1]) : "memory");
  __syncthreads();
  if (warp == 0) {
    asm volatile("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;");
    asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, 128;" :: "r"(taddr));
  }
  asm volatile("barrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory");
}
