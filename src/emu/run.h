// The door of this room: kernels on buffers, under a schedule.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <cohort/status.h>

#include "emu/decode.h"
#include "emu/machine.h"

namespace cohort::emu {

/// A grid to run. Launches of a run share its buffers and follow each other.
struct Launch {
  std::shared_ptr<const Kernel> kernel;
  Grid3 grid;
  Grid3 cluster;
  Grid3 block;
  uint32_t dynamic_shared = 0;
  std::vector<uint8_t> arguments;  ///< Kernel::parameter_bytes
  bool programmatic = false;       ///< PDL: may begin before the launch before it has ended.
};

struct RunLimits {
  uint32_t resident_ctas = 64;  ///< That run side by side; one cluster always fits.
  uint64_t shared_bytes = 227 * 1024 + kSharedReserved;  ///< Of a CTA.
  uint64_t memory_bytes = uint64_t{4} << 30;             ///< Of registers, local and shared memory.
  uint64_t instructions = UINT64_MAX;                    ///< Of warps; then K-LIVELOCK.
  uint64_t idle_instructions = uint64_t{1} << 26;        ///< Without any effect; then K-LIVELOCK.
};

struct RunInput {
  std::vector<Buffer> buffers;
  std::vector<Launch> launches;
  ScheduleSpec schedule;
  RunLimits limits;
  Rules rules;                  ///< What the profile allows.
  Events* events = nullptr;     ///< May be null.
  FaultSink* faults = nullptr;  ///< May be null.
};

/// What a warp was waiting for when a run could not go on.
struct Waiting {
  uint32_t cta = 0;
  uint32_t warp = 0;  ///< within its CTA
  uint32_t lanes = 0;
  uint32_t launch = 0;
  uint32_t pc = 0;
  Wait wait;
};

struct RunResult {
  bool completed = false;       ///< All threads have ended.
  std::vector<Buffer> buffers;  ///< Those of the input first, then variables of the modules.
  std::string printed;
  uint64_t instructions = 0;       ///< of warps
  uint64_t lane_instructions = 0;  ///< of threads
  std::vector<Waiting> waiting;    ///< After a deadlock or livelock.
  std::vector<uint32_t> choices;   ///< See ScheduleSpec::choices.
};

/// The generic address of buffer i, for arguments.
constexpr uint64_t buffer_address(uint64_t i) { return (i + 1) << kBufferShift; }

/// "warp 3 of CTA 0: lanes 0x1 wait at instruction 17 for named barrier 2 (64 threads)".
[[nodiscard]] std::string describe(const Waiting& waiting);

/// Runs. Failure: a launch that cannot be (kind `mismatch` or `limit`); what kernels do wrong goes
/// to `faults` and ends the run or not, but is a success of this function.
[[nodiscard]] Result<RunResult> run(RunInput input);

}  // namespace cohort::emu
