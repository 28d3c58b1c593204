// Compiled for x86-64, x86-64-v3 and x86-64-v4; loops are written for the vectoriser. A row is done
// in strips that stay in the first cache: gate and up apart, then the formulas, then packed again.
#include "numerics/glu.h"
#include "numerics/smooth.h"

namespace cohort::numerics::COHORT_ISA {

namespace {

constexpr int64_t kGluStrip = 256;  // a multiple of every band

// Gate and up of one strip.
struct Pair {
  const float* gate;
  const float* up;
};

template <int64_t kBand>
void unpack_bands(const float* x, int64_t n, float* gate, float* up) {
  for (int64_t j = 0; j < n; j += kBand) {
    __builtin_memcpy(gate + j, x + 2 * j, kBand * sizeof(float));
    __builtin_memcpy(up + j, x + 2 * j + kBand, kBand * sizeof(float));
  }
}

template <int64_t kBand>
void pack_bands(const float* gate, const float* up, int64_t n, float* d) {
  for (int64_t j = 0; j < n; j += kBand) {
    __builtin_memcpy(d + 2 * j, gate + j, kBand * sizeof(float));
    __builtin_memcpy(d + 2 * j + kBand, up + j, kBand * sizeof(float));
  }
}

// Features i .. i + n of each kind; copied to the buffers unless they stand together.
inline Pair unpack(Packing packing, const float* x, int64_t count, int64_t i, int64_t n,
                   float* gate, float* up) {
  switch (packing) {
    case Packing::split:
      return {x + i, x + count + i};
    case Packing::interleaved:
      unpack_bands<1>(x + 2 * i, n, gate, up);
      break;
    case Packing::bands8:
      unpack_bands<8>(x + 2 * i, n, gate, up);
      break;
    case Packing::bands32:
      unpack_bands<32>(x + 2 * i, n, gate, up);
      break;
  }
  return {gate, up};
}

// The inverse, from buffers.
inline void pack(Packing packing, const float* gate, const float* up, int64_t count, int64_t i,
                 int64_t n, float* d) {
  switch (packing) {
    case Packing::split:
      __builtin_memcpy(d + i, gate, static_cast<size_t>(n) * sizeof(float));
      __builtin_memcpy(d + count + i, up, static_cast<size_t>(n) * sizeof(float));
      break;
    case Packing::interleaved:
      pack_bands<1>(gate, up, n, d + 2 * i);
      break;
    case Packing::bands8:
      pack_bands<8>(gate, up, n, d + 2 * i);
      break;
    case Packing::bands32:
      pack_bands<32>(gate, up, n, d + 2 * i);
      break;
  }
}

// NaN passes each of them.
inline float at_most(float x, float limit) { return x > limit ? limit : x; }
inline float at_least(float x, float limit) { return x < limit ? limit : x; }

inline float to_bf16(float x) {
  const uint32_t b = float_bits(x);
  const uint32_t rounded = (b + 0x7FFF + ((b >> 16) & 1)) & 0xFFFF0000;
  return x != x ? x : bits_float(rounded);
}

// Gate and up as the formulas take them, and the functions of them.
struct Strip {
  alignas(64) float y[kGluStrip];
  alignas(64) float s[kGluStrip];        // sigmoid of alpha * gate
  alignas(64) float tanh_g[kGluStrip];   // situ only
  alignas(64) float tanh_u[kGluStrip];   // situ only
  alignas(64) float by_gate[kGluStrip];  // derivatives
  alignas(64) float by_up[kGluStrip];
};

struct Gated {
  float alpha, beta, limit;
  float gate(float g) const { return at_most(g, limit); }
  float up(float u) const { return at_least(at_most(u, limit), -limit); }

  void functions(const Pair& p, int64_t n, Strip& t) const {
    for (int64_t j = 0; j < n; ++j) t.s[j] = sigmoid(alpha * gate(p.gate[j]));
  }
  float value(const Pair& p, const Strip& t, int64_t j) const {
    return t.s[j] * gate(p.gate[j]) * (up(p.up[j]) + beta);
  }
  float term(const Pair& p, const Strip& t, int64_t j) const {
    return t.y[j] * (up(p.up[j]) + beta) * gate(p.gate[j]) * t.s[j];
  }
  // The masks look at the saved values; equality and NaN pass.
  float by_gate(const Pair& p, const Strip& t, int64_t j, float prob) const {
    const float slope = 1.0f + alpha * gate(p.gate[j]) * (1.0f - t.s[j]);
    const float d = t.y[j] * prob * (up(p.up[j]) + beta) * t.s[j] * slope;
    return p.gate[j] > limit ? 0.0f : d;
  }
  float by_up(const Pair& p, const Strip& t, int64_t j, float prob) const {
    const float d = t.y[j] * prob * (gate(p.gate[j]) * t.s[j]);
    return up(p.up[j]) != p.up[j] && p.up[j] == p.up[j] ? 0.0f : d;
  }
};

struct Situ {
  float gate_bound, up_bound;

  void functions(const Pair& p, int64_t n, Strip& t) const {
    for (int64_t j = 0; j < n; ++j) t.s[j] = sigmoid(p.gate[j]);
    for (int64_t j = 0; j < n; ++j) t.tanh_g[j] = tanh(p.gate[j] / gate_bound);
    for (int64_t j = 0; j < n; ++j) t.tanh_u[j] = tanh(p.up[j] / up_bound);
  }
  float left(const Strip& t, int64_t j) const { return gate_bound * t.tanh_g[j] * t.s[j]; }
  float right(const Strip& t, int64_t j) const { return up_bound * t.tanh_u[j]; }
  float value(const Pair&, const Strip& t, int64_t j) const { return left(t, j) * right(t, j); }
  float term(const Pair&, const Strip& t, int64_t j) const {
    return t.y[j] * right(t, j) * left(t, j);
  }
  // 1 - t^2 as a product: near 1 the square of t has lost what the difference needs.
  float by_gate(const Pair&, const Strip& t, int64_t j, float prob) const {
    const float square = (1.0f - t.tanh_g[j]) * (1.0f + t.tanh_g[j]);
    const float slope = square + gate_bound * t.tanh_g[j] * (1.0f - t.s[j]);
    return t.y[j] * prob * right(t, j) * t.s[j] * slope;
  }
  float by_up(const Pair&, const Strip& t, int64_t j, float prob) const {
    return t.y[j] * prob * left(t, j) * ((1.0f - t.tanh_u[j]) * (1.0f + t.tanh_u[j]));
  }
};

template <class Act>
void forward_row(const Act& act, Packing packing, const float* x, int64_t count, float* y) {
  alignas(64) float gate[kGluStrip];
  alignas(64) float up[kGluStrip];
  Strip t;
  for (int64_t i = 0; i < count; i += kGluStrip) {
    const int64_t n = count - i < kGluStrip ? count - i : kGluStrip;
    const Pair p = unpack(packing, x, count, i, n, gate, up);
    act.functions(p, n, t);
    float* out = y + i;
    for (int64_t j = 0; j < n; ++j) out[j] = act.value(p, t, j);
  }
}

template <class Act>
void backward_row(const Act& act, Packing packing, const GluGradRow& row) {
  alignas(64) float gate[kGluStrip];
  alignas(64) float up[kGluStrip];
  Strip t;
  double sum = 0;
  for (int64_t i = 0; i < row.count; i += kGluStrip) {
    const int64_t n = row.count - i < kGluStrip ? row.count - i : kGluStrip;
    const Pair p = unpack(packing, row.c, row.count, i, n, gate, up);
    act.functions(p, n, t);
    for (int64_t j = 0; j < n; ++j) t.y[j] = row.acc[i + j];
    if (row.round_acc) {
      for (int64_t j = 0; j < n; ++j) t.y[j] = to_bf16(t.y[j]);
    }
    if (row.d != nullptr) {
      for (int64_t j = 0; j < n; ++j) t.by_gate[j] = act.by_gate(p, t, j, row.prob);
      for (int64_t j = 0; j < n; ++j) t.by_up[j] = act.by_up(p, t, j, row.prob);
      pack(packing, t.by_gate, t.by_up, row.count, i, n, row.d);
    }
    if (row.act != nullptr) {
      float* out = row.act + i;
      for (int64_t j = 0; j < n; ++j) out[j] = act.value(p, t, j) * row.prob;
    }
    if (row.sum != nullptr) {
      for (int64_t j = 0; j < n; ++j) t.by_up[j] = act.term(p, t, j);
      for (int64_t j = 0; j < n; ++j) sum += static_cast<double>(t.by_up[j]);
    }
  }
  if (row.sum != nullptr) *row.sum = sum;
}

void forward(const GluSpec& k, const float* x, int64_t count, float* y) {
  if (k.act == GluAct::situ) {
    forward_row(Situ{k.gate_bound, k.up_bound}, k.packing, x, count, y);
  } else {
    forward_row(Gated{k.alpha, k.beta, k.limit}, k.packing, x, count, y);
  }
}

void backward(const GluSpec& k, const GluGradRow& row) {
  if (k.act == GluAct::situ) {
    backward_row(Situ{k.gate_bound, k.up_bound}, k.packing, row);
  } else {
    backward_row(Gated{k.alpha, k.beta, k.limit}, k.packing, row);
  }
}

}  // namespace

extern const GluKernels kGluKernels;
const GluKernels kGluKernels{forward, backward};

}  // namespace cohort::numerics::COHORT_ISA
