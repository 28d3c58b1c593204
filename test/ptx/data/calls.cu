// Functions, parameters by value, local memory, tables of functions and strings, a switch.
extern "C" __device__ int vprintf(const char* format, void* arguments);

struct Block {
  int words[40];
  float scale;
};

__constant__ float table[5] = {1.0f, 2.5f, -3.0e10f};
__device__ int counter = 7;
__device__ const char* greeting = "hello\n";

__device__ __noinline__ int triple(int x) { return x * 3 + counter; }
__device__ __noinline__ int flip(int x) { return x ^ 5; }
__device__ int (*functions[2])(int) = {triple, flip};

template <class T, int N>
__device__ __noinline__ Block descend(Block b, int n) {
  if (n <= 0) return b;
  b.words[n & 31] += N * n;
  return descend<T, N>(b, n - 1);
}

extern "C" __global__ void __launch_bounds__(128, 2)
    calls(const Block b, float* out, int n, unsigned char small, double d) {
  extern __shared__ float dynamic[];
  __shared__ double fixed[33];
  const Block t = descend<int, 3>(b, n);
  int local[20];
  for (int i = 0; i < 20; ++i) local[i] = i * n;
  dynamic[threadIdx.x] = t.scale;
  fixed[threadIdx.x & 31] = d + small;
  __syncthreads();
  out[threadIdx.x] = dynamic[(threadIdx.x + 1) & 127] + local[n % 20] + functions[n & 1](n) +
                     table[n % 5] + static_cast<float>(fixed[(n + 1) & 31]);
  switch (n) {
    case 0: out[0] = 1; break;
    case 1: out[1] = triple(2); break;
    case 2: out[7] = 3; break;
    case 3: out[6] = n; break;
    case 4: out[12] = n + 1; break;
    case 5: out[22] = n * 3; break;
    case 6: out[23] = n * n; break;
    case 7: {
      int arguments[1] = {n};
      vprintf(greeting, arguments);
      break;
    }
    default: break;
  }
}
