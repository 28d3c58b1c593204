// What a warp waits for, in words.
#include <string>

#include "emu/run.h"

namespace cohort::emu {

namespace {

std::string describe_lacking(const Wait& wait) {
  const Lacking l = unpack_lacking(wait.detail);
  if (!l.is_object) return ", which is none any more";
  return ", whose phase lacks " + std::to_string(l.arrivals) + " arrivals and " +
         std::to_string(l.bytes) + " bytes";
}

}  // namespace

std::string describe(const Waiting& waiting) {
  std::string text = "warp " + std::to_string(waiting.warp) + " of CTA " +
                     std::to_string(waiting.cta) + ", lanes 0x";
  constexpr const char* kDigits = "0123456789abcdef";
  for (int k = 28; k >= 0; k -= 4) text += kDigits[waiting.lanes >> k & 15];
  text += ": ";
  const std::string value = std::to_string(waiting.wait.value);
  switch (waiting.wait.what) {
    case WaitFor::nothing:
      return text + "can go on";
    case WaitFor::lanes:
      text += "wait for lanes 0x";
      for (int k = 28; k >= 0; k -= 4) text += kDigits[waiting.wait.value >> k & 15];
      return text + " of their warp";
    case WaitFor::named_barrier:
      text += "wait at barrier " + value;
      return waiting.wait.detail == 0
                 ? text + " for all threads"
                 : text + " for " + std::to_string(waiting.wait.detail) + " threads";
    case WaitFor::cluster_barrier:
      return text + "wait for phase " + value + " of the cluster barrier";
    case WaitFor::registers:
      return text + "wait for registers: " + value + " a thread are wanted";
    case WaitFor::previous_grids:
      return text + "wait for the grids before launch " + value;
    case WaitFor::mbarrier:
      return text + "wait for the mbarrier at shared offset " + value +
             describe_lacking(waiting.wait);
    case WaitFor::memory:
      return text + "wait for " + value + " columns of tensor memory";
    case WaitFor::operation:
      break;
  }
  return text + "wait until at most " + value + " groups of copies are open";
}

}  // namespace cohort::emu
