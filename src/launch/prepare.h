// From what a user describes to what the machine runs, checked.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <cohort/emulate.h>

#include "emu/layout.h"
#include "emu/run.h"
#include "ptx/module.h"

namespace cohort::launch {

/// An output to compare.
struct Expected {
  size_t buffer = 0;  ///< RunInput::buffers.
  std::vector<uint8_t> bytes;
  double absolute = 0;
  double relative = 0;
};

/// Everything that schedules of a run share.
struct Prepared {
  std::shared_ptr<const ptx::Module> module;  ///< Kernels know it by its address.
  emu::RunInput input;                        ///< Without schedule, events and faults.
  std::vector<ElementType> types;             ///< Of the buffers.
  std::vector<Expected> expected;
  std::vector<std::vector<emu::SharedVariable>> shared;  ///< Of each launch.
  std::string module_name;                               ///< Stands before lines.
  uint64_t buffer_bytes = 0;                             ///< Of all buffers.
};

/// Reads the module, decodes its kernels, makes the buffers. Throws base::FindingsError with
/// everything that does not fit.
[[nodiscard]] Prepared prepare(const EmulatedRun& run, const RaceOptions& options);

}  // namespace cohort::launch
