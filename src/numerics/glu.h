// Gated activations and their gradients, row by row, in f32. docs/ops/glu.md and docs/ops/d_glu.md
// hold the formulas; each step is rounded once and nothing is contracted, so that every ISA level
// gives the same bits.
#pragma once

#include <cstdint>

#include <cohort/types.h>

namespace cohort::numerics {

/// Everything that decides a gated activation.
struct GluSpec {
  GluAct act = GluAct::swiglu;
  Packing packing = Packing::split;
  float alpha = 1;       ///< swiglu, geglu: slope inside the sigmoid.
  float beta = 0;        ///< swiglu, geglu: added to up.
  float limit = 0;       ///< swiglu, geglu: gate <= limit, |up| <= limit; may be infinite.
  float gate_bound = 4;  ///< situ: b1.
  float up_bound = 25;   ///< situ: b2.
};

/// One row of a backward. `count` features of the activated width; c and d hold 2 * count in the
/// packing. Results that are not wanted are null.
struct GluGradRow {
  const float* c = nullptr;    ///< Gate and up, saved before any clamp.
  const float* acc = nullptr;  ///< y.
  bool round_acc = false;      ///< y is rounded to bf16 first.
  float prob = 1;
  int64_t count = 0;
  float* d = nullptr;
  float* act = nullptr;
  double* sum = nullptr;  ///< Of the terms of dprob, in ascending order.
};

/// The kernels of one ISA level.
struct GluKernels {
  /// `count` results of a row of 2 * count.
  void (*forward)(const GluSpec& spec, const float* x, int64_t count, float* y);
  void (*backward)(const GluSpec& spec, const GluGradRow& row);
};

namespace v1 {
extern const GluKernels kGluKernels;
}
namespace v3 {
extern const GluKernels kGluKernels;
}
namespace v4 {
extern const GluKernels kGluKernels;
}

/// The kernels of the best level that this processor has.
[[nodiscard]] const GluKernels& glu_kernels();

/// Features of one kind that stand together in a packing of `features` gate and up features.
[[nodiscard]] constexpr int64_t glu_band(Packing packing, int64_t features) {
  return packing == Packing::split         ? features / 2
         : packing == Packing::interleaved ? 1
         : packing == Packing::bands8      ? 8
                                           : 32;
}

}  // namespace cohort::numerics
