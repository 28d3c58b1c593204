// The list of all families, in the order of the documentation.
#include <iterator>

#include "emu/insn/families.h"

namespace cohort::emu::COHORT_ISA {

extern const Family kBits;
extern const Family kCompare;
extern const Family kConvert;
extern const Family kDot;
extern const Family kDouble;
extern const Family kFields;
extern const Family kFloat;
extern const Family kHalf;
extern const Family kInteger;
extern const Family kMemory;
extern const Family kMove;
extern const Family kPack;

namespace {

const Family* const kList[] = {
    &kControl, &kMove,         &kInteger,    &kDot,       &kBits,       &kFields,
    &kFloat,   &kDouble,       &kHalf,       &kCompare,   &kConvert,    &kPack,
    &kMemory,  &kAtomic,       &kBarrier,    &kMbarrier,  &kCollective, &kMatrix,
    &kMmaSync, &kTensorMemory, &kTensorPipe, &kWarpgroup,
};

}  // namespace

const Families kFamilies = {kList, static_cast<int>(std::size(kList))};

}  // namespace cohort::emu::COHORT_ISA
