// Families whose handlers gain nothing from vector instructions: compiled once.
#pragma once

#include "emu/insn/record.h"

namespace cohort::emu {

extern const Family kControl;
extern const Family kAtomic;
extern const Family kBarrier;
extern const Family kMbarrier;
extern const Family kCollective;
extern const Family kMatrix;
extern const Family kMmaSync;
extern const Family kTensorMemory;
extern const Family kTensorPipe;
extern const Family kWarpgroup;

}  // namespace cohort::emu
