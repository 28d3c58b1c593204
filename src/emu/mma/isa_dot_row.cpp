// Compiled for x86-64, x86-64-v3 and x86-64-v4. Loops over `n` are for the vectoriser.
//
// Products of two f32 are exact here. One multiplication brings them to units of the last place
// that is kept, and the conversion to int cuts toward zero. 16 of them fit into 32 bits, since a
// product is less than 4 * 2^largest; their sum with C fits into a double.
#include <cstring>

#include "emu/mma/dot_row.h"

namespace cohort::emu::COHORT_ISA {

namespace {

constexpr int kN = kDotBlock;
constexpr int kChunk = 16;
constexpr int32_t kNone = -100000;

struct Block {
  alignas(64) int8_t largest[kN];
  alignas(64) int32_t exponent[kN];
  alignas(64) float unit[kN];
  alignas(64) double sum[kN];
};

inline float power(int32_t exponent) {
  const uint32_t bits = exponent < -126  ? 0U
                        : exponent > 127 ? 0x7F000000U
                                         : static_cast<uint32_t>(exponent + 127) << 23;
  float x = 0;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

// A local array: bytes may alias everything else, and then nothing is vectorised.
void find_largest(const DotRow& row, Block& __restrict block) {
  alignas(64) int8_t largest[kN];
  const int length = row.length;
  const int8_t* exponent_a = row.exponent_a;
  for (int n = 0; n < kN; ++n) largest[n] = -128;
  for (int k = 0; k < length; ++k) {
    const int8_t a = exponent_a[k];
    if (a == kDotZero) continue;
    const int8_t* b = row.exponent_b + int64_t{k} * kN;
    for (int n = 0; n < kN; ++n) {
      const auto x = static_cast<int8_t>(a + b[n]);
      largest[n] = x > largest[n] ? x : largest[n];
    }
  }
  std::memcpy(block.largest, largest, sizeof largest);
}

// The common exponent, the factor to its units, and C in those units.
void align(const DotRow& row, Block& __restrict block) {
  const uint32_t* __restrict old_c = row.c;
  const int32_t* __restrict shift_b = row.shift_b;
  const int32_t shift_a = row.shift_a;
  const int32_t scale_c = row.scale_c;
  const int32_t kept_bits = row.kept_bits;
  for (int n = 0; n < kN; ++n) {
    const uint32_t c = old_c[n];
    const auto field = static_cast<int32_t>((c >> 23) & 0xFF);
    const uint32_t fraction = c & 0x7FFFFF;
    const uint32_t significand = field != 0 ? fraction | 0x800000 : fraction;
    const int32_t own = (field != 0 ? field - 127 : -126) - scale_c;
    const int32_t shift = shift_a + shift_b[n];
    const int32_t product = block.largest[n] < -2 * kDotExponent ? kNone : block.largest[n] + shift;
    const int32_t old = significand != 0 ? own : kNone;
    const int32_t largest = product > old ? product : old;
    block.exponent[n] = largest;
    block.unit[n] = power(kept_bits - (largest - shift));
    const int32_t cut = largest - own + 25 - kept_bits;
    const auto places = static_cast<int32_t>((significand << 2) >> (cut > 31  ? 31
                                                                    : cut < 0 ? 0
                                                                              : cut));
    block.sum[n] = static_cast<double>((c >> 31) != 0 ? -places : places);
  }
}

template <int kLength>
void add_products(const DotRow& row, Block& __restrict block) {
  constexpr int kStep = kLength < kChunk ? kLength : kChunk;
  for (int first = 0; first < kLength; first += kStep) {
    alignas(64) int32_t sum[kN] = {};
    for (int k = first; k < first + kStep; ++k) {
      const float a = row.a[k];
      const float* b = row.b + int64_t{k} * kN;
      for (int n = 0; n < kN; ++n) sum[n] += static_cast<int32_t>(a * b[n] * block.unit[n]);
    }
    for (int n = 0; n < kN; ++n) block.sum[n] += static_cast<double>(sum[n]);
  }
}

// Cuts the sum to the bits of the result. Far from the ends of f32 every result is normal.
bool finish(const DotRow& row, const Block& __restrict block, uint32_t* __restrict d,
            uint8_t* __restrict rare) {
  const uint64_t mask = ~((uint64_t{1} << (52 - row.result_bits)) - 1);
  for (int n = 0; n < kN; ++n) {
    uint64_t bits = 0;
    std::memcpy(&bits, &block.sum[n], sizeof bits);
    bits &= mask;
    double sum = 0;
    std::memcpy(&sum, &bits, sizeof sum);
    int64_t exponent = block.exponent[n] - row.kept_bits;
    exponent = exponent < -1000 ? -1000 : exponent > 1000 ? 1000 : exponent;
    const uint64_t factor_bits = static_cast<uint64_t>(exponent + 1023) << 52;
    double factor = 0;
    std::memcpy(&factor, &factor_bits, sizeof factor);
    const auto result = static_cast<float>(sum * factor);
    std::memcpy(d + n, &result, sizeof result);
  }
  int any = 0;
  for (int n = 0; n < kN; ++n) {
    const int32_t e = block.exponent[n];
    const int is_rare =
        static_cast<int>(e > 110) | (static_cast<int>(e < -90) & static_cast<int>(e != kNone));
    rare[n] = static_cast<uint8_t>(is_rare);
    any |= is_rare;
  }
  return any != 0;
}

bool dot_row(const DotRow& row, uint32_t* d, uint8_t* rare) {
  Block block;
  find_largest(row, block);
  align(row, block);
  switch (row.length) {
    case 8:
      add_products<8>(row, block);
      break;
    case 16:
      add_products<16>(row, block);
      break;
    default:
      add_products<32>(row, block);
      break;
  }
  return finish(row, block, d, rare);
}

}  // namespace

extern const DotRowFunction kDotRow;
const DotRowFunction kDotRow = dot_row;

}  // namespace cohort::emu::COHORT_ISA
