// What a run of a kernel did wrong, as data: the machine and the race checker report through it.
//
// Instructions are indices and memory is a block number here. Who prints a fault turns them into
// PTX lines and names.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "emu/events.h"

namespace cohort::emu {

/// What is wrong; docs/emulator/rules.md has an entry for each.
enum class FaultCode : uint8_t {
#define COHORT_FAULT(name, code, title) name,
#include "emu/fault.def"
#undef COHORT_FAULT
};
inline constexpr int kFaultCodes = 0
#define COHORT_FAULT(name, code, title) +1
#include "emu/fault.def"
#undef COHORT_FAULT
    ;

/// "K-RACE".
[[nodiscard]] std::string_view code_of(FaultCode code);
/// One line without details.
[[nodiscard]] std::string_view title_of(FaultCode code);

/// What would have ordered two accesses; a report says it in words.
enum class Missing : uint8_t {
  nothing,             ///< The fault is not about an edge.
  edge,                ///< No chain of synchronisation leads from one to the other.
  wider_scope,         ///< There is a chain, and a link of it has too narrow a scope.
  memory_fence,        ///< There is a chain of relaxed operations: a fence, release or acquire.
  async_proxy_fence,   ///< fence.proxy.async between generic and async access.
  tensor_map_release,  ///< fence.proxy.tensormap release by the writer, or cp_fenceproxy.
  tensor_map_acquire,  ///< fence.proxy.tensormap acquire by the reader.
  tensor_before,       ///< tcgen05.fence::before_thread_sync before the release.
  tensor_after,        ///< tcgen05.fence::after_thread_sync after the wait.
  completion,          ///< A wait until the earlier, asynchronous operation is complete.
  full_completion,     ///< The wait covered the operation's reads alone (wait_group.read).
  pipelined_pair,      ///< A commit and a wait: these two do not run in the order of issue.
  mutual_scope,        ///< Both are strong: scopes that include each other.
  same_bytes,          ///< Both are strong: the same size and address.
  same_proxy,          ///< Both are strong: the same proxy.
};

/// Who made an access.
struct Actor {
  bool is_operation = false;  ///< An asynchronous operation; warp and lane are its issuer's.
  Agent agent = Agent::copy;  ///< Of an operation.
  uint32_t cta = 0;
  uint32_t warp = 0;
  uint32_t lanes = 0;  ///< Bit l: lane l.
};

/// One side of a fault.
struct Touch {
  Actor by;
  uint32_t pc = 0;
  Kind kind = Kind::read;
  Proxy proxy = Proxy::generic;
  Scope scope = Scope::weak;
};

/// One fault, or what was folded into it.
struct Fault {
  FaultCode code = FaultCode::race;
  Touch now;  ///< Where it was noticed.
  bool has_earlier = false;
  Touch earlier;  ///< The access before it, in the order of this run.
  bool has_place = false;
  Space space = Space::shared;
  uint32_t block = 0;
  uint64_t offset = 0;  ///< The first byte that both touch.
  uint32_t bytes = 0;
  Missing missing = Missing::nothing;
  int64_t wanted = 0;  ///< Of faults with numbers: what was expected, and what there was.
  int64_t got = 0;
  uint64_t count = 1;  ///< How often, counted in places.
  std::string note;    ///< Which rule is broken, where the code alone does not say it.
};

/// Takes faults as they are found.
class FaultSink {
 public:
  virtual ~FaultSink() = default;
  virtual void fault(const Fault& fault) = 0;
};

/// Keeps one fault of each code, pair of instructions and space, and counts the others into it.
class FaultList : public FaultSink {
 public:
  void fault(const Fault& fault) override;
  /// In the order in which they were found first.
  [[nodiscard]] const std::vector<Fault>& faults() const { return faults_; }

 private:
  std::vector<Fault> faults_;
};

}  // namespace cohort::emu
