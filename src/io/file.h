// Files written whole or not at all.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/diagnostics.h"

namespace cohort::io {

/// A finding about a file; `what` is "open", "read", "write", "rename". Uses errno.
[[nodiscard]] Findings file_findings(std::string_view path, std::string_view what);

/// A new file beside `path` that takes its place when commit() is called and vanishes otherwise.
/// When `path` is a pipe or a device, that itself.
class ReplacementFile {
 public:
  /// Throws FindingsError.
  explicit ReplacementFile(std::string_view path);
  ReplacementFile(const ReplacementFile&) = delete;
  ReplacementFile& operator=(const ReplacementFile&) = delete;
  ~ReplacementFile();
  /// Throws FindingsError, disk full included.
  void write(const void* data, int64_t bytes);
  /// Flushes and renames. Throws FindingsError.
  void commit();

 private:
  std::string path_;
  std::string temporary_;
  int fd_ = -1;
};

}  // namespace cohort::io
