#include "io/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <utility>

#include <cohort/safetensors.h>

namespace cohort::io {

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

Findings file_findings(std::string_view path, std::string_view what) {
  const std::string why = std::strerror(errno);
  return base::make_findings(ErrorKind::file,
                             {.code = "E-FILE",
                              .op = std::string(path),
                              .got = why,
                              .message = "cannot " + std::string(what) + ": " + why});
}

InputFile::InputFile(std::string path) : path_(std::move(path)) {
  // A pipe without a writer must not hold up the reader.
  fd_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd_ < 0) throw base::FindingsError{file_findings(path_, "open")};
  struct stat s {};
  const bool known = ::fstat(fd_, &s) == 0;
  if (known && S_ISREG(s.st_mode)) {
    size_ = s.st_size;
    return;
  }
  const bool is_stream = known && !S_ISDIR(s.st_mode);
  if (known) errno = EISDIR;
  const int error = errno;
  ::close(fd_);
  errno = error;
  if (!is_stream) throw base::FindingsError{file_findings(path_, "read")};
  throw base::FindingsError{base::make_findings(
      ErrorKind::file, {.code = "E-FILE",
                        .op = path_,
                        .wanted = "a regular file",
                        .got = "a pipe or a device",
                        .message = "cannot read: wanted a regular file, got a pipe or a device"})};
}

InputFile::~InputFile() { ::close(fd_); }

void InputFile::read(int64_t offset, void* to, int64_t bytes) const {
  char* p = static_cast<char*>(to);
  while (bytes > 0) {
    const ssize_t n = ::pread(fd_, p, static_cast<size_t>(bytes), offset);
    if (n < 0 && errno == EINTR) continue;
    if (n == 0) errno = EIO;
    if (n <= 0) throw base::FindingsError{file_findings(path_, "read")};
    p += n;
    offset += n;
    bytes -= n;
  }
}

namespace {

// Where a chain of links ends, be there a file or not. 40 links: as many as the kernel follows.
std::string resolved(std::string path) {
  for (int links = 0; links < 40; ++links) {
    std::string target(PATH_MAX, '\0');
    const ssize_t n = ::readlink(path.c_str(), target.data(), target.size());
    if (n <= 0) return path;
    target.resize(static_cast<size_t>(n));
    if (target[0] != '/') target.insert(0, folder_of(path).append("/"));
    path = std::move(target);
  }
  errno = ELOOP;
  throw base::FindingsError{file_findings(path, "write")};
}

}  // namespace

ReplacementFile::ReplacementFile(std::string_view path) : path_(path) {
  struct stat s {};
  if (::stat(path_.c_str(), &s) == 0 && !S_ISREG(s.st_mode)) {
    // A pipe or a device is written to, never replaced by a file; a directory is neither.
    fd_ = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC);
    if (fd_ < 0) throw base::FindingsError{file_findings(path_, "write")};
    return;
  }
  path_ = resolved(path_);
  static std::atomic<uint32_t> counter{0};
  temporary_ = path_ + ".tmp." + std::to_string(::getpid()) + "." + std::to_string(counter++);
  fd_ = ::open(folder_of(path_).c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666);
  is_nameless_ = fd_ >= 0;
  if (!is_nameless_) {
    listed_.emplace(temporary_);
    fd_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  }
  if (fd_ < 0) throw base::FindingsError{file_findings(path_, "write")};
}

// A nameless file cannot replace one directly: it is linked under the temporary name first.
void ReplacementFile::give_name() {
  const std::string self = "/proc/self/fd/" + std::to_string(fd_);
  listed_.emplace(temporary_);
  if (::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, temporary_.c_str(), AT_SYMLINK_FOLLOW) != 0) {
    throw base::FindingsError{file_findings(path_, "write")};
  }
  is_nameless_ = false;
}

ReplacementFile::~ReplacementFile() {
  if (fd_ >= 0) ::close(fd_);
  if (!temporary_.empty() && !is_nameless_) ::unlink(temporary_.c_str());
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
  if (flushed && is_nameless_) give_name();
  const bool closed = ::close(fd_) == 0;
  fd_ = -1;
  if (!flushed || !closed) throw base::FindingsError{file_findings(path_, "write")};
  if (temporary_.empty()) return;
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) {
    throw base::FindingsError{file_findings(path_, "rename")};
  }
  temporary_.clear();
  listed_.reset();
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
