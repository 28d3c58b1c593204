// The list of all families, in the order of the documentation.
#include <iterator>

#include "emu/insn/families.h"

namespace cohort::emu::COHORT_ISA {

extern const Family kInteger;
extern const Family kMove;
extern const Family kCompare;
extern const Family kMemory;
extern const Family kFloat;
extern const Family kBits;

namespace {

const Family* const kList[] = {
    &kControl, &kMove, &kInteger, &kBits, &kFloat, &kCompare, &kMemory, &kBarrier,
};

}  // namespace

const Families kFamilies = {kList, static_cast<int>(std::size(kList))};

}  // namespace cohort::emu::COHORT_ISA
