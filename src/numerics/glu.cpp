#include "numerics/glu.h"

#include "base/isa_level.h"

namespace cohort::numerics {

const GluKernels& glu_kernels() {
  static const GluKernels& best = *[] {
    switch (base::isa_level()) {
      case base::IsaLevel::v4:
        return &v4::kGluKernels;
      case base::IsaLevel::v3:
        return &v3::kGluKernels;
      default:
        return &v1::kGluKernels;
    }
  }();
  return best;
}

}  // namespace cohort::numerics
