#include "io/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include <cohort/safetensors.h>

namespace cohort::io {

Findings file_findings(std::string_view path, std::string_view what) {
  const std::string why = std::strerror(errno);
  return base::make_findings(ErrorKind::file,
                             {.code = "E-FILE",
                              .op = std::string(path),
                              .got = why,
                              .message = "cannot " + std::string(what) + ": " + why});
}

ReplacementFile::ReplacementFile(std::string_view path) : path_(path) {
  struct stat s {};
  if (::stat(path_.c_str(), &s) == 0 && !S_ISREG(s.st_mode)) {
    // A pipe or a device is written to, never replaced by a file; a directory is neither.
    fd_ = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC);
    if (fd_ < 0) throw base::FindingsError{file_findings(path_, "write")};
    return;
  }
  static std::atomic<uint32_t> counter{0};
  temporary_ = path_ + ".tmp." + std::to_string(::getpid()) + "." + std::to_string(counter++);
  fd_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd_ < 0) throw base::FindingsError{file_findings(path_, "write")};
}

ReplacementFile::~ReplacementFile() {
  if (fd_ >= 0) ::close(fd_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void ReplacementFile::write(const void* data, int64_t bytes) {
  const char* p = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t n = ::write(fd_, p, static_cast<size_t>(bytes));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) throw base::FindingsError{file_findings(path_, "write")};
    p += n;
    bytes -= n;
  }
}

void ReplacementFile::commit() {
  const bool flushed = ::fsync(fd_) == 0 || errno == EINVAL;
  const bool closed = ::close(fd_) == 0;
  fd_ = -1;
  if (!flushed || !closed) throw base::FindingsError{file_findings(path_, "write")};
  if (temporary_.empty()) return;
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) {
    throw base::FindingsError{file_findings(path_, "rename")};
  }
  temporary_.clear();
}

}  // namespace cohort::io

namespace cohort {

Status write_text(std::string_view path, std::string_view text) noexcept {
  return base::guarded("writing a file", [&]() -> Status {
    io::ReplacementFile file(path);
    file.write(text.data(), static_cast<int64_t>(text.size()));
    file.commit();
    return {};
  });
}

}  // namespace cohort
