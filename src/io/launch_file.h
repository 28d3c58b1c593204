// Launch files: what a kernel is run with, as JSON. docs/emulator/launch.md has the format.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <cohort/emulate.h>
#include <cohort/status.h>

namespace cohort::io {

/// What a file says, with the memory that it needs. Does not move: its parts point to each other.
struct LaunchFile {
  LaunchFile() = default;
  LaunchFile(const LaunchFile&) = delete;
  LaunchFile& operator=(const LaunchFile&) = delete;

  std::vector<EmulatedBuffer> buffers;
  std::vector<std::vector<int64_t>> shapes;  ///< Of the buffers.
  std::vector<KernelLaunch> launches;
  std::vector<ExpectedContents> expected;
  std::deque<std::string> texts;
  std::deque<std::vector<uint8_t>> bytes;
  std::deque<std::vector<KernelArgument>> arguments;
};

/// Reads a launch file. Tensor files that it names are looked for in `folder`. Findings with JSON
/// paths: kind `file` when it is no JSON or a tensor file cannot be read, else `mismatch` or
/// `limit`. Tensors of all buffers take `memory_bytes` at most.
[[nodiscard]] Result<std::unique_ptr<LaunchFile>> read_launch(std::string_view text,
                                                              const std::string& folder,
                                                              int64_t memory_bytes);

/// Writes what buffers hold as safetensors, under the names and with the shapes of the file. u32,
/// s32, u64 and s64 are stored as I32 and I64; types that the format's reader here does not have
/// (u16, s16, f64) and bytes as U8, with the last extent times their size.
[[nodiscard]] Status write_buffers(std::string_view path, const LaunchFile& file,
                                   const RaceReport& report);

}  // namespace cohort::io
