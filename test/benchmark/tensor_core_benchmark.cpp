// Sums of a tensor core as the emulator makes them, decoding of the operands included. Items are
// multiplications. One instruction with M = 128 and N = 256.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <random>
#include <vector>

#include "emu/mma/fast_dot.h"

namespace {

using namespace cohort::emu;

constexpr int kM = 128;
constexpr int kN = 256;

void sums(benchmark::State& state, Element element, int length, bool scales) {
  std::mt19937 random(1);
  const auto k = static_cast<size_t>(length);
  std::vector<uint32_t> codes((kM + kN) * k);
  for (uint32_t& x : codes) {
    do {
      x = static_cast<uint32_t>(random());
      if (element == Element::bf16) x = (x & 0x807F) | (110 + (x >> 16) % 20) << 7;
      if (element == Element::e4m3) x &= 0xFF;
    } while (decode(element, x).kind != Exact::Kind::number);
  }
  std::vector<uint32_t> d(size_t{kM} * kN);
  DotLines a(DotLines::Side::a, element, length, kM);
  DotLines b(DotLines::Side::b, element, length, kN);
  const auto scale = [&](int line) { return BlockScale{false, scales ? line % 14 - 7 : 0}; };
  for (auto _ : state) {
    for (int m = 0; m < kM; ++m) {
      a.set(m, {codes.data() + static_cast<size_t>(m) * k, k}, scale(m));
    }
    for (int n = 0; n < kN; ++n) {
      b.set(n, {codes.data() + static_cast<size_t>(kM + n) * k, k}, scale(n));
    }
    fast_dot(a, b, kDotF32, d.data(), kN);
    benchmark::DoNotOptimize(d.data());
  }
  state.SetItemsProcessed(state.iterations() * kM * kN * length);
}

void mxfp8(benchmark::State& state) { sums(state, Element::e4m3, 32, true); }
void bf16(benchmark::State& state) { sums(state, Element::bf16, 16, false); }
BENCHMARK(mxfp8);
BENCHMARK(bf16);

}  // namespace
