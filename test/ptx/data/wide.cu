// 128-bit moves, vectors of 256 bits, pairs of a register and a predicate, a reduction.
typedef unsigned int u32;
typedef unsigned long long u64;

extern "C" __global__ void wide(u32* out, const u32* in, u64 low, u64 high) {
  asm volatile(
      "{ .reg .b128 both; .reg .v4 .b32 four; .reg .pred p, q;\n\t"
      "mov.b128 both, {%0, %1};\n\t"
      "mov.b128 {%0, _}, both;\n\t"
      "mov.b32 four.x, 0x10;\n\t"
      "setp.ne.b32 p|q, four.x, 0U;\n\t"
      "@!q st.global.b32 [%2+-4], four.x;\n\t"
      "}"
      : "+l"(low), "+l"(high) : "l"(out + 1));
  u32 r[8];
  asm volatile("ld.global.v8.b32 {%0,%1,%2,%3,%4,%5,%6,%7}, [%8];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]), "=r"(r[4]), "=r"(r[5]),
                 "=r"(r[6]), "=r"(r[7])
               : "l"(in));
  float sum = 0;
  for (int i = 0; i < 8; ++i) sum += __uint_as_float(r[i]) * 0.5f;
  for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(0xffffffff, sum, d);
  asm volatile("red.global.add.noftz.bf16x2 [%0], %1;" :: "l"(out), "r"(__float_as_uint(sum)));
  atomicAdd(out + 2, static_cast<u32>(low));
}
