// Numbers into the tensors of a graph and out of them.
#pragma once

#include <cohort/cohort.h>
#include <cohort/numerics.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "host_memory.h"

namespace sample {

/// Normal numbers of mean 0, rounded to bf16: as bf16 at `to`, and as the f64 that those stand for.
inline std::vector<double> draw(int64_t count, double deviation, std::mt19937& random,
                                std::byte* to) {
  std::normal_distribution<float> normal(0, static_cast<float>(deviation));
  std::vector<float> values(static_cast<size_t>(count));
  for (float& v : values) v = normal(random);
  must(cohort::encode(cohort::DType::bf16, values.data(), count, to));
  must(cohort::decode(cohort::DType::bf16, to, count, values.data()));
  return {values.begin(), values.end()};
}

/// `count` elements of a plain tensor.
inline std::vector<float> read(const HostMemory& memory, std::string_view name, cohort::DType dtype,
                               size_t count) {
  std::vector<float> values(count);
  must(cohort::decode(dtype, memory.data<std::byte>(name), static_cast<int64_t>(count),
                      values.data()));
  return values;
}

/// The bytes of `from`, which has the type and extents of the tensor; ends the program otherwise.
template <class T>
void copy(const HostMemory& memory, std::string_view name, const std::vector<T>& from) {
  if (static_cast<int64_t>(from.size() * sizeof(T)) != memory.bytes(name)) {
    std::printf("'%s' has another size\n", std::string(name).c_str());
    std::exit(1);
  }
  std::memcpy(memory.data(name), from.data(), from.size() * sizeof(T));
}

}  // namespace sample
