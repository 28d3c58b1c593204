// From a PTX module to a kernel.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include <cohort/status.h>

#include "emu/kernel.h"
#include "ptx/module.h"

namespace cohort::emu {

class Table;

struct DecodeOptions {
  std::string_view name = "ptx";              ///< Stands before the line in findings.
  int64_t instructions = 4 << 20;             ///< Of the kernel, calls expanded.
  int64_t depth = 64;                         ///< Of calls.
  int64_t local_bytes = int64_t{1} << 20;     ///< Of a thread.
  int64_t shared_bytes = int64_t{1} << 20;    ///< Static ones of a CTA.
  int64_t register_bytes = int64_t{1} << 26;  ///< Of a warp.
  const Table* table = nullptr;  ///< The instructions; those of this processor when null.
};

/// Decodes the entry of that name. Every instruction that is not modelled is a finding of its own
/// (kind `unsupported`); an unknown name is one of kind `mismatch`.
[[nodiscard]] Result<std::shared_ptr<const Kernel>> decode(const ptx::Module& module,
                                                           std::string_view entry,
                                                           const DecodeOptions& options = {});

}  // namespace cohort::emu
