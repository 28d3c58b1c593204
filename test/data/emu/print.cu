#include <cassert>
#include <cstdio>

extern "C" __global__ void print(int n) {
  assert(n > 0);
  printf("thread %d of %u: %.2f %s %d%%\n", threadIdx.x, blockDim.x, threadIdx.x + n * 0.5, "text",
         100);
}
