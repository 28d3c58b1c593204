// What tests of tensor memory share.
#pragma once

#include "race/stream.h"

namespace cohort::race_test {

// Columns [first, first + count) of the lanes of a quarter, or of all lanes.
inline Box columns(Kind kind, uint32_t first, uint32_t count, int quarter = -1) {
  const uint64_t row = cohort::emu::kTensorRow;
  const uint64_t begin = quarter < 0 ? 0 : 32 * row * static_cast<uint64_t>(quarter);
  return {Space::tensor,
          Proxy::async,
          kind,
          0,
          begin + first * uint64_t{4},
          count * uint64_t{4},
          quarter < 0 ? 128U : 32U,
          row};
}

// Each column has been written and everybody knows.
inline void fill(Stream& r) {
  r.warp(0).touch(columns(Kind::allocate, 0, 512));
  Op st = r.warp(0).begin(Agent::tensor_store);
  st.touch(columns(Kind::write, 0, 512));
  r.warp(0).drain(st).fence(Fence::tensor_before);
  r.barrier({r.warp(0), r.warp(1), r.warp(2), r.warp(3)});
  for (uint32_t w = 0; w < 4; ++w) r.warp(w).fence(Fence::tensor_after);
}

inline Op mma(Stream& r, uint32_t warp, uint32_t shape = 1) {
  Op op = r.warp(warp).lane(0).mma(shape);
  op.touch(columns(Kind::write, 0, 64));
  return op;
}

inline Op load(Stream& r, uint32_t warp, uint32_t first = 0, uint32_t count = 64) {
  Op op = r.warp(warp).load();
  op.touch(columns(Kind::read, first, count, static_cast<int>(warp)));
  return op;
}

}  // namespace cohort::race_test
