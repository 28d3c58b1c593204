#include <cohort/safetensors.h>

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/checked.h"
#include "base/diagnostics.h"
#include "io/file.h"
#include "io/header.h"

namespace cohort {

namespace io {

namespace {

// Longest header that a reader of the format accepts.
constexpr uint64_t kMaxHeader = 100'000'000;
constexpr size_t kAlignment = 64;

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
  Buffer memory;  ///< Null for a file that was only opened.
};

struct TensorFileData {
  explicit TensorFileData(std::string_view path) : file(std::string(path)) {}
  mutable std::atomic<int64_t> references{1};
  InputFile file;
  int64_t start = 0;  ///< Of the data, in the file.
  std::vector<Entry> entries;
  std::unordered_map<std::string_view, int32_t> index;  ///< Names are those of entries.
};

namespace {

[[noreturn]] void fail(const InputFile& file, std::string_view tensor, std::string wanted,
                       std::string got) {
  std::string message = tensor.empty() ? "" : "tensor '" + std::string(tensor) + "': ";
  message += "wanted " + wanted + ", got " + got;
  throw base::FindingsError{base::make_findings(ErrorKind::file, {.code = "E-SAFETENSORS",
                                                                  .op = file.path(),
                                                                  .field = std::string(tensor),
                                                                  .wanted = std::move(wanted),
                                                                  .got = std::move(got),
                                                                  .message = std::move(message)})};
}

Entry read_entry(const InputFile& file, HeaderEntry& h, int64_t data_bytes) {
  Entry e;
  e.name = std::move(h.name);
  e.is_u8 = h.dtype == "U8";
  e.view.dtype = DType::e8m0;
  bool known = e.is_u8;
  for (const TypeName& t : kFileTypes) {
    if (t.text != h.dtype) continue;
    e.view.dtype = t.type;
    known = true;
  }
  if (!known) fail(file, e.name, "a dtype that the library has", h.dtype);
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
  if (!bytes || !step) fail(file, e.name, "a size below 2^63 bytes", "more");
  e.view.pack();
  e.begin = h.begin;
  e.end = h.end;
  if (e.begin > e.end || e.end > data_bytes) {
    fail(file, e.name, "offsets within " + std::to_string(data_bytes) + " bytes of data",
         std::to_string(e.begin) + " .. " + std::to_string(e.end));
  }
  if (e.end - e.begin != *bytes) {
    fail(file, e.name, std::to_string(*bytes) + " bytes for its shape",
         std::to_string(e.end - e.begin));
  }
  return e;
}

// Tensors must fill the data exactly: hidden bytes and shared bytes are both refused.
void check_order(const InputFile& file, std::vector<Entry>& entries, int64_t data_bytes) {
  std::vector<const Entry*> order;
  order.reserve(entries.size());
  for (const Entry& e : entries) order.push_back(&e);
  std::sort(order.begin(), order.end(), [](const Entry* a, const Entry* b) {
    return a->begin != b->begin ? a->begin < b->begin : a->end < b->end;
  });
  int64_t at = 0;
  for (const Entry* e : order) {
    if (e->begin != at) {
      fail(file, e->name, "data that begins at " + std::to_string(at), std::to_string(e->begin));
    }
    at = e->end;
  }
  if (at != data_bytes) {
    fail(file, "", std::to_string(at) + " bytes of data", std::to_string(data_bytes));
  }
}

std::unique_ptr<TensorFileData> open_file(std::string_view path) {
  auto data = std::make_unique<TensorFileData>(path);
  const InputFile& file = data->file;
  uint64_t header = 0;
  if (file.size() < 8) fail(file, "", "8 bytes of header length", std::to_string(file.size()));
  file.read(0, &header, 8);
  if (header > kMaxHeader || header > static_cast<uint64_t>(file.size()) - 8) {
    fail(file, "", "a header within the file", std::to_string(header) + " bytes");
  }
  std::string text(header, ' ');
  file.read(8, text.data(), static_cast<int64_t>(header));
  std::vector<HeaderEntry> entries;
  HeaderFault fault;
  if (!read_header(text, entries, fault)) fail(file, fault.tensor, fault.wanted, fault.got);
  data->start = 8 + static_cast<int64_t>(header);
  data->entries.reserve(entries.size());
  for (HeaderEntry& h : entries) {
    data->entries.push_back(read_entry(file, h, file.size() - data->start));
    data->index.emplace(data->entries.back().name, static_cast<int32_t>(data->index.size()));
  }
  check_order(file, data->entries, file.size() - data->start);
  return data;
}

void read_data(TensorFileData& data) {
  // A file may be larger than what stands on the disk, and the kernel grants memory that it does
  // not have: the machine's is the bound.
  const int64_t bytes = data.file.size() - data.start;
  const auto most = static_cast<int64_t>(::sysconf(_SC_PHYS_PAGES)) * ::sysconf(_SC_PAGESIZE);
  if (bytes > most) throw base::OutOfMemory(bytes, "reading a tensor file");
  for (Entry& e : data.entries) {
    e.memory = allocate(e.end - e.begin, "reading a tensor");
    data.file.read(data.start + e.begin, e.memory.get(), e.end - e.begin);
    e.view.data = e.memory.get();
  }
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
    std::unique_ptr<io::TensorFileData> data = io::open_file(path);
    io::read_data(*data);
    return TensorFile(data.release());
  });
}

Result<TensorFile> TensorFile::open(std::string_view path) noexcept {
  return base::guarded("opening a tensor file", [&]() -> Result<TensorFile> {
    return TensorFile(io::open_file(path).release());
  });
}

Status TensorFile::copy_to(int32_t i, void* memory) const noexcept {
  return base::guarded("reading a tensor", [&]() -> Status {
    const io::Entry& e = data_->entries[static_cast<size_t>(i)];
    data_->file.read(data_->start + e.begin, memory, e.end - e.begin);
    return {};
  });
}

int32_t TensorFile::size() const noexcept { return static_cast<int32_t>(data_->entries.size()); }
std::string_view TensorFile::name(int32_t i) const noexcept {
  return data_->entries[static_cast<size_t>(i)].name;
}
int32_t TensorFile::find(std::string_view name) const noexcept {
  const auto it = data_->index.find(name);
  return it == data_->index.end() ? -1 : it->second;
}
TensorView TensorFile::view(int32_t i) const noexcept {
  return data_->entries[static_cast<size_t>(i)].view;
}
Result<TensorView> TensorFile::view(int32_t i, DType dtype) const noexcept {
  return base::guarded("viewing a tensor", [&]() -> Result<TensorView> {
    const io::Entry& e = data_->entries[static_cast<size_t>(i)];
    TensorView v = e.view;
    if (e.is_u8 && bits(dtype) == 8) v.dtype = dtype;
    // Two codes a byte: an extent above 2^62 has no double, so such a tensor stays U8.
    if (e.is_u8 && dtype == DType::e2m1 && v.rank > 0 && v.shape[v.rank - 1] <= INT64_MAX / 2) {
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

}  // namespace cohort
