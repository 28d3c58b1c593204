// Arguments of a kernel as the bytes that it reads.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <cohort/emulate.h>

#include "base/diagnostics.h"
#include "emu/kernel.h"
#include "ptx/module.h"

namespace cohort::launch {

/// The buffers that arguments may name, by index of the run.
struct Names {
  std::vector<std::string_view> names;
  std::vector<uint64_t> bytes;
  /// -1: there is none of that name.
  [[nodiscard]] int find(std::string_view name) const;
  /// "did you mean 'x'?", or all names when there are few, or nothing.
  [[nodiscard]] std::string hint(std::string_view name) const;
};

/// The argument block of a launch. Findings at `where` ("/launches/0") for what does not fit the
/// parameters of `entry`.
[[nodiscard]] std::vector<uint8_t> encode_arguments(const ptx::Function& entry,
                                                    const emu::Kernel& kernel,
                                                    const KernelLaunch& launch, const Names& names,
                                                    const std::string& where,
                                                    base::Diagnostics& found);

}  // namespace cohort::launch
