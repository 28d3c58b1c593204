#include <cohort/safetensors.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/checked.h"
#include "base/diagnostics.h"
#include "base/utf8.h"
#include "io/file.h"
#include "io/header.h"

namespace cohort {

namespace io {

namespace {

// Longest header that a reader of the format accepts.
constexpr uint64_t kMaxHeader = 100'000'000;
constexpr size_t kAlignment = 64;

struct TypeName {
  std::string_view text;
  DType type;
};
constexpr std::array<TypeName, 8> kTypes{{{"F32", DType::f32},
                                          {"F16", DType::f16},
                                          {"BF16", DType::bf16},
                                          {"F8_E4M3", DType::e4m3},
                                          {"F8_E5M2", DType::e5m2},
                                          {"F8_E8M0", DType::e8m0},
                                          {"I32", DType::i32},
                                          {"I64", DType::i64}}};

struct Free {
  void operator()(void* p) const { std::free(p); }
};
using Buffer = std::unique_ptr<void, Free>;

Buffer allocate(int64_t bytes, const char* what) {
  const size_t size =
      (static_cast<size_t>(std::max<int64_t>(bytes, 1)) + kAlignment - 1) / kAlignment * kAlignment;
  Buffer b(std::aligned_alloc(kAlignment, size));
  if (b == nullptr) throw base::OutOfMemory(bytes, what);
  return b;
}

}  // namespace

struct Entry {
  std::string name;
  bool is_u8 = false;
  TensorView view;
  int64_t begin = 0;
  int64_t end = 0;
  Buffer memory;
};

struct TensorFileData {
  mutable std::atomic<int64_t> references{1};
  std::vector<Entry> entries;
};

namespace {

class File {
 public:
  explicit File(std::string path) : path_(std::move(path)) {
    fd_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd_ < 0) throw base::FindingsError{file_findings(path_, "open")};
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() {
    if (fd_ >= 0) ::close(fd_);
  }

  /// Its size; it must be a regular file.
  void find_size() {
    struct stat s {};
    const bool known = ::fstat(fd_, &s) == 0;
    if (known && !S_ISREG(s.st_mode)) errno = S_ISDIR(s.st_mode) ? EISDIR : EINVAL;
    if (!known || !S_ISREG(s.st_mode)) throw base::FindingsError{file_findings(path_, "read")};
    size_ = s.st_size;
  }
  [[nodiscard]] int64_t size() const { return size_; }
  void read(int64_t offset, void* to, int64_t bytes) const {
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
  [[noreturn]] void fail(std::string_view tensor, std::string wanted, std::string got) const {
    std::string message = tensor.empty() ? "" : "tensor '" + std::string(tensor) + "': ";
    message += "wanted " + wanted + ", got " + got;
    throw base::FindingsError{
        base::make_findings(ErrorKind::file, {.code = "E-SAFETENSORS",
                                              .op = path_,
                                              .field = std::string(tensor),
                                              .wanted = std::move(wanted),
                                              .got = std::move(got),
                                              .message = std::move(message)})};
  }

 private:
  std::string path_;
  int fd_ = -1;
  int64_t size_ = 0;
};

Entry read_entry(const File& file, HeaderEntry& h, int64_t data_bytes) {
  Entry e;
  e.name = std::move(h.name);
  e.is_u8 = h.dtype == "U8";
  e.view.dtype = DType::e8m0;
  bool known = e.is_u8;
  for (const TypeName& t : kTypes) {
    if (t.text != h.dtype) continue;
    e.view.dtype = t.type;
    known = true;
  }
  if (!known) file.fail(e.name, "a dtype that the library has", h.dtype);
  std::optional<int64_t> bytes = bits(e.view.dtype) / 8;
  for (int32_t d = 0; d < h.rank; ++d) {
    e.view.shape[e.view.rank++] = h.shape[d];
    if (bytes) bytes = base::checked_mul(*bytes, h.shape[d]);
  }
  // Extents that pass 2^63 before one of 0 brings the product back.
  std::optional<int64_t> step = 1;
  for (int32_t d = 0; d < h.rank && step; ++d) {
    step = base::checked_mul(*step, std::max<int64_t>(h.shape[d], 1));
  }
  if (!bytes || !step) file.fail(e.name, "a size below 2^63 bytes", "more");
  e.view.pack();
  e.begin = h.begin;
  e.end = h.end;
  if (e.begin > e.end || e.end > data_bytes) {
    file.fail(e.name, "offsets within " + std::to_string(data_bytes) + " bytes of data",
              std::to_string(e.begin) + " .. " + std::to_string(e.end));
  }
  if (e.end - e.begin != *bytes) {
    file.fail(e.name, std::to_string(*bytes) + " bytes for its shape",
              std::to_string(e.end - e.begin));
  }
  return e;
}

// Tensors must fill the data exactly: hidden bytes and shared bytes are both refused.
void check_order(const File& file, std::vector<Entry>& entries, int64_t data_bytes) {
  std::vector<const Entry*> order;
  order.reserve(entries.size());
  for (const Entry& e : entries) order.push_back(&e);
  std::sort(order.begin(), order.end(), [](const Entry* a, const Entry* b) {
    return a->begin != b->begin ? a->begin < b->begin : a->end < b->end;
  });
  int64_t at = 0;
  for (const Entry* e : order) {
    if (e->begin != at) {
      file.fail(e->name, "data that begins at " + std::to_string(at), std::to_string(e->begin));
    }
    at = e->end;
  }
  if (at != data_bytes) {
    file.fail("", std::to_string(at) + " bytes of data", std::to_string(data_bytes));
  }
}

std::unique_ptr<TensorFileData> read_file(std::string_view path) {
  File file{std::string(path)};
  file.find_size();
  uint64_t header = 0;
  if (file.size() < 8) file.fail("", "8 bytes of header length", std::to_string(file.size()));
  file.read(0, &header, 8);
  if (header > kMaxHeader || header > static_cast<uint64_t>(file.size()) - 8) {
    file.fail("", "a header within the file", std::to_string(header) + " bytes");
  }
  std::string text(header, ' ');
  file.read(8, text.data(), static_cast<int64_t>(header));
  std::vector<HeaderEntry> entries;
  HeaderFault fault;
  if (!read_header(text, entries, fault)) file.fail(fault.tensor, fault.wanted, fault.got);
  const int64_t start = 8 + static_cast<int64_t>(header);
  auto data = std::make_unique<TensorFileData>();
  for (HeaderEntry& h : entries) {
    data->entries.push_back(read_entry(file, h, file.size() - start));
  }
  check_order(file, data->entries, file.size() - start);
  for (Entry& e : data->entries) {
    e.memory = allocate(e.end - e.begin, "reading a tensor");
    e.view.data = e.memory.get();
    file.read(start + e.begin, e.view.data, e.end - e.begin);
  }
  return data;
}

std::string_view type_name(DType type) {
  for (const TypeName& t : kTypes) {
    if (t.type == type) return t.text;
  }
  return "U8";
}

[[noreturn]] void refuse(std::string_view code, const NamedTensor& t, std::string_view field,
                         std::string wanted, std::string got) {
  std::string message = std::string(field) + ": wanted " + wanted + ", got " + got;
  throw base::FindingsError{
      base::make_findings(ErrorKind::mismatch, {.code = code,
                                                .op = std::string(t.name),
                                                .field = std::string(field),
                                                .wanted = std::move(wanted),
                                                .got = std::move(got),
                                                .message = std::move(message)})};
}

// Bytes of a view, which must be one that a file can hold.
int64_t byte_count(const NamedTensor& t) {
  const TensorView& v = t.view;
  if (v.rank < 0 || v.rank > kMaxRank) {
    refuse("E-RANK", t, "rank", "0 .. 8 extents", std::to_string(v.rank));
  }
  if (name(v.dtype).empty() || bits(v.dtype) == 6) {
    refuse("E-DTYPE", t, "dtype", "a type of 4, 8, 16, 32 or 64 bits", std::string(name(v.dtype)));
  }
  std::optional<int64_t> elements = 1;
  std::optional<int64_t> step = 1;
  for (int d = v.rank - 1; d >= 0; --d) {
    if (v.shape[d] < 0) refuse("E-SHAPE", t, "shape", "0 or more", std::to_string(v.shape[d]));
    if (step && v.shape[d] > 1 && v.strides[d] != *step) {
      refuse("E-STRIDE", t, "strides", "packed rows", std::to_string(v.strides[d]));
    }
    if (elements) elements = base::checked_mul(*elements, v.shape[d]);
    if (step) step = base::checked_mul(*step, std::max<int64_t>(v.shape[d], 1));
  }
  const auto all = elements && step ? base::checked_mul(*elements, bits(v.dtype)) : std::nullopt;
  if (!all) refuse("E-OVERFLOW", t, "shape", "a size below 2^63 bits", "more");
  if (v.dtype == DType::e2m1 && (v.rank == 0 || v.shape[v.rank - 1] % 2 != 0)) {
    refuse("E-SHAPE", t, "shape", "an even last extent: e2m1 is packed in pairs", "an odd one");
  }
  if (*all > 0 && v.data == nullptr) refuse("E-POINTER", t, "data", "memory", "null");
  return base::ceil_div(*all, 8);
}

std::string header_of(NamedTensors tensors, std::vector<int64_t>& sizes) {
  std::vector<HeaderEntry> entries;
  std::set<std::string_view> names;
  int64_t at = 0;
  for (const NamedTensor& t : tensors) {
    if (t.name == "__metadata__" || !base::is_clean_utf8(t.name)) {
      refuse("E-NAME", t, "name", "printable UTF-8, and not __metadata__", std::string(t.name));
    }
    if (!names.insert(t.name).second) {
      refuse("E-NAME", t, "name", "a name of its own", std::string(t.name));
    }
    const int64_t bytes = byte_count(t);
    const auto end = base::checked_add(at, bytes);
    if (!end) refuse("E-OVERFLOW", t, "shape", "a file below 2^63 bytes", "more");
    HeaderEntry e;
    e.name = t.name;
    e.dtype = type_name(t.view.dtype);
    e.rank = t.view.rank;
    std::copy_n(t.view.shape, e.rank, e.shape);
    if (t.view.dtype == DType::e2m1) e.shape[e.rank - 1] /= 2;
    e.begin = at;
    e.end = at = *end;
    entries.push_back(std::move(e));
    sizes.push_back(bytes);
  }
  return write_header(entries);
}

void write_file(std::string_view path, NamedTensors tensors) {
  std::vector<int64_t> sizes;
  const std::string text = header_of(tensors, sizes);
  const uint64_t size = text.size();
  ReplacementFile file(path);
  file.write(&size, 8);
  file.write(text.data(), static_cast<int64_t>(size));
  size_t i = 0;
  for (const NamedTensor& t : tensors) file.write(t.view.data, sizes[i++]);
  file.commit();
}

}  // namespace
}  // namespace io

TensorFile::TensorFile(const TensorFile& other) noexcept : data_(other.data_) {
  data_->references.fetch_add(1, std::memory_order_relaxed);
}
TensorFile& TensorFile::operator=(const TensorFile& other) noexcept {
  TensorFile copy(other);
  std::swap(data_, copy.data_);
  return *this;
}
TensorFile::~TensorFile() {
  if (data_->references.fetch_sub(1, std::memory_order_acq_rel) == 1) delete data_;
}

Result<TensorFile> TensorFile::read(std::string_view path) noexcept {
  return base::guarded("reading a tensor file", [&]() -> Result<TensorFile> {
    return TensorFile(io::read_file(path).release());
  });
}

int32_t TensorFile::size() const noexcept { return static_cast<int32_t>(data_->entries.size()); }
std::string_view TensorFile::name(int32_t i) const noexcept {
  return data_->entries[static_cast<size_t>(i)].name;
}
int32_t TensorFile::find(std::string_view name) const noexcept {
  for (int32_t i = 0; i < size(); ++i) {
    if (this->name(i) == name) return i;
  }
  return -1;
}
TensorView TensorFile::view(int32_t i) const noexcept {
  return data_->entries[static_cast<size_t>(i)].view;
}
Result<TensorView> TensorFile::view(int32_t i, DType dtype) const noexcept {
  return base::guarded("viewing a tensor", [&]() -> Result<TensorView> {
    const io::Entry& e = data_->entries[static_cast<size_t>(i)];
    TensorView v = e.view;
    if (e.is_u8 && bits(dtype) == 8) v.dtype = dtype;
    if (e.is_u8 && dtype == DType::e2m1 && v.rank > 0) {
      v.dtype = dtype;
      v.shape[v.rank - 1] *= 2;
      v.pack();
    }
    if (v.dtype == dtype) return v;
    const std::string got = e.is_u8 ? "U8" : std::string(cohort::name(v.dtype));
    return base::make_findings(
        ErrorKind::mismatch,
        {.code = "E-DTYPE",
         .op = e.name,
         .field = "dtype",
         .wanted = std::string(cohort::name(dtype)),
         .got = got,
         .message = "wanted " + std::string(cohort::name(dtype)) + ", the file has " + got});
  });
}

Status write_safetensors(std::string_view path, NamedTensors tensors) noexcept {
  return base::guarded("writing a tensor file", [&]() -> Status {
    io::write_file(path, tensors);
    return {};
  });
}

}  // namespace cohort
