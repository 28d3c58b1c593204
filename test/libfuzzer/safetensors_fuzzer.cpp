// libFuzzer target: any bytes are no safetensors file, or tensors that lie within them and are
// written back as the same tensors.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <cohort/safetensors.h>

namespace {

using cohort::TensorFile;

void demand(bool good, const char* what) {
  if (good) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

// A file in memory, and the path under which this process opens it again.
struct MemoryFile {
  int fd = ::memfd_create("fuzz", 0);
  std::string path = "/proc/self/fd/" + std::to_string(fd);

  void put(const void* data, size_t size) const {
    demand(::ftruncate(fd, 0) == 0, "ftruncate");
    demand(::pwrite(fd, data, size, 0) == static_cast<ssize_t>(size), "pwrite");
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const MemoryFile file;
  file.put(data, size);
  const cohort::Result<TensorFile> read = TensorFile::read(file.path);
  if (!read) {
    demand(read.findings().size() > 0, "refused in silence");
    demand(read.findings().kind() == cohort::ErrorKind::file, "another kind than file");
    return 0;
  }
  size_t bytes = 0;
  for (int32_t i = 0; i < read->size(); ++i) {
    const cohort::TensorView v = read->view(i);
    int64_t n = cohort::bits(v.dtype) / 8;
    for (int d = 0; d < v.rank; ++d) n *= v.shape[d];
    demand(n >= 0 && static_cast<size_t>(n) <= size, "a tensor larger than its file");
    volatile uint8_t sum = 0;
    for (int64_t b = 0; b < n; ++b) {
      sum = static_cast<uint8_t>(sum + static_cast<const uint8_t*>(v.data)[b]);
    }
    bytes += static_cast<size_t>(n);
    demand(read->find(read->name(i)) >= 0, "a name that is not found");
  }
  demand(bytes <= size, "tensors larger than their file");
  return 0;
}
