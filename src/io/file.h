// Files written whole or not at all.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/diagnostics.h"
#include "io/temporaries.h"

namespace cohort::io {

/// The folder in which a path lies: "." for a name alone.
[[nodiscard]] std::string folder_of(const std::string& path);

/// A finding about a file; `what` is "open", "read", "write", "rename". Uses errno.
[[nodiscard]] Findings file_findings(std::string_view path, std::string_view what);

/// A regular file that is open for reading.
class InputFile {
 public:
  /// Throws FindingsError.
  explicit InputFile(std::string path);
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;
  ~InputFile();
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] int64_t size() const { return size_; }  ///< In bytes, when it was opened.
  /// Reads `bytes` bytes. Throws FindingsError, an early end included.
  void read(int64_t offset, void* to, int64_t bytes) const;

 private:
  std::string path_;
  int fd_ = -1;
  int64_t size_ = 0;
};

/// A new file that takes the place of `path` when commit() is called and vanishes otherwise. Where
/// the file system can, it has no name until then, so that a killed process leaves nothing; else
/// remove_temporaries() knows it. When `path` is a link, what it points to; when a pipe or a
/// device, that itself.
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
  void give_name();

  std::string path_;
  std::string temporary_;
  std::optional<Temporary> listed_;  ///< While temporary_ is, or is about to be, in its folder.
  int fd_ = -1;
  bool is_nameless_ = false;
};

}  // namespace cohort::io
