// f16 and bf16 in lanes. Included by isa_*.cpp only.
#pragma once

#include "numerics/codec.h"

namespace cohort::emu::COHORT_ISA {

inline float half_value(uint16_t x) { return numerics::decode_f16(x); }

}  // namespace cohort::emu::COHORT_ISA
