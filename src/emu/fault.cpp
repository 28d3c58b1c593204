#include "emu/fault.h"

#include <algorithm>

namespace cohort::emu {

std::string_view code_of(FaultCode code) {
  switch (code) {
#define COHORT_FAULT(name, code, title) \
  case FaultCode::name:                 \
    return code;
#include "emu/fault.def"
#undef COHORT_FAULT
  }
  return {};
}

std::string_view title_of(FaultCode code) {
  switch (code) {
#define COHORT_FAULT(name, code, title) \
  case FaultCode::name:                 \
    return title;
#include "emu/fault.def"
#undef COHORT_FAULT
  }
  return {};
}

namespace {

bool same(const Fault& a, const Fault& b) {
  return a.code == b.code && a.now.pc == b.now.pc && a.has_earlier == b.has_earlier &&
         a.earlier.pc == b.earlier.pc && a.has_place == b.has_place && a.space == b.space &&
         a.note == b.note;
}

}  // namespace

void FaultList::fault(const Fault& fault) {
  const auto old =
      std::find_if(faults_.begin(), faults_.end(), [&](const Fault& f) { return same(f, fault); });
  if (old == faults_.end()) {
    faults_.push_back(fault);
  } else {
    old->count += fault.count;
  }
}

}  // namespace cohort::emu
