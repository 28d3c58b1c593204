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

#include <nlohmann/json.hpp>

#include "base/checked.h"
#include "base/diagnostics.h"
#include "io/file.h"

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
    struct stat s {};
    if (::fstat(fd_, &s) != 0) throw base::FindingsError{file_findings(path_, "read")};
    if (!S_ISREG(s.st_mode)) {
      errno = S_ISDIR(s.st_mode) ? EISDIR : EINVAL;
      throw base::FindingsError{file_findings(path_, "read")};
    }
    size_ = s.st_size;
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() {
    if (fd_ >= 0) ::close(fd_);
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

using Json = nlohmann::json;

Json parse_header(const File& file, const std::string& text) {
  std::set<std::string> seen;
  std::string duplicate;
  const auto watch = [&](int depth, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::key && depth == 1) {
      if (!seen.insert(parsed.get<std::string>()).second) duplicate = parsed.get<std::string>();
    }
    return depth <= 8;
  };
  Json j = Json::parse(text, watch, false);
  if (!j.is_object()) file.fail("", "a JSON object as header", "something else");
  if (!duplicate.empty()) file.fail(duplicate, "one tensor of that name", "two");
  return j;
}

int64_t whole(const File& file, const std::string& tensor, const Json& j, const char* what) {
  if (!j.is_number_integer() || (j.is_number_unsigned() && j.get<uint64_t>() > INT64_MAX) ||
      j.get<int64_t>() < 0) {
    file.fail(tensor, std::string(what) + " of 0 or more", j.dump().substr(0, 64));
  }
  return j.get<int64_t>();
}

Entry read_entry(const File& file, const std::string& name, const Json& j, int64_t data_bytes) {
  Entry e;
  e.name = name;
  const bool has_all = j.is_object() && j.contains("dtype") && j["dtype"].is_string() &&
                       j.contains("shape") && j["shape"].is_array() && j.contains("data_offsets") &&
                       j["data_offsets"].is_array() && j["data_offsets"].size() == 2;
  if (!has_all) file.fail(name, "dtype, shape and data_offsets", "something else");
  const auto type = j["dtype"].get<std::string>();
  e.is_u8 = type == "U8";
  e.view.dtype = DType::e8m0;
  bool known = e.is_u8;
  for (const TypeName& t : kTypes) {
    if (t.text != type) continue;
    e.view.dtype = t.type;
    known = true;
  }
  if (!known) file.fail(name, "a dtype that the library has", type.substr(0, 64));
  if (j["shape"].size() > kMaxRank) file.fail(name, "at most 8 extents", "more");
  std::optional<int64_t> bytes = bits(e.view.dtype) / 8;
  for (const Json& extent : j["shape"]) {
    const int64_t x = whole(file, name, extent, "an extent");
    e.view.shape[e.view.rank++] = x;
    if (bytes) bytes = base::checked_mul(*bytes, x);
  }
  if (!bytes) file.fail(name, "a size below 2^63 bytes", "more");
  e.view.pack();
  e.begin = whole(file, name, j["data_offsets"][0], "an offset");
  e.end = whole(file, name, j["data_offsets"][1], "an offset");
  if (e.begin > e.end || e.end > data_bytes) {
    file.fail(name, "offsets within " + std::to_string(data_bytes) + " bytes of data",
              std::to_string(e.begin) + " .. " + std::to_string(e.end));
  }
  if (e.end - e.begin != *bytes) {
    file.fail(name, std::to_string(*bytes) + " bytes for its shape",
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
  const File file{std::string(path)};
  uint64_t header = 0;
  if (file.size() < 8) file.fail("", "8 bytes of header length", std::to_string(file.size()));
  file.read(0, &header, 8);
  if (header > kMaxHeader || header > static_cast<uint64_t>(file.size()) - 8) {
    file.fail("", "a header within the file", std::to_string(header) + " bytes");
  }
  std::string text(header, ' ');
  file.read(8, text.data(), static_cast<int64_t>(header));
  const Json j = parse_header(file, text);
  const int64_t start = 8 + static_cast<int64_t>(header);
  auto data = std::make_unique<TensorFileData>();
  for (const auto& [name, entry] : j.items()) {
    if (name == "__metadata__") continue;
    data->entries.push_back(read_entry(file, name, entry, file.size() - start));
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

int64_t byte_count(const TensorView& v) {
  int64_t elements = 1;
  for (int d = 0; d < v.rank; ++d) elements *= v.shape[d];
  return base::ceil_div(elements * bits(v.dtype), 8);
}

void write_file(std::string_view path, NamedTensors tensors) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  int64_t at = 0;
  for (const NamedTensor& t : tensors) {
    std::vector<int64_t> shape(t.view.shape, t.view.shape + t.view.rank);
    if (t.view.dtype == DType::e2m1) shape.back() = base::ceil_div(shape.back(), 2);
    const int64_t bytes = byte_count(t.view);
    header[std::string(t.name)] = {
        {"dtype", type_name(t.view.dtype)}, {"shape", shape}, {"data_offsets", {at, at + bytes}}};
    at += bytes;
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  const uint64_t size = text.size();
  ReplacementFile file(path);
  file.write(&size, 8);
  file.write(text.data(), static_cast<int64_t>(size));
  for (const NamedTensor& t : tensors) file.write(t.view.data, byte_count(t.view));
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
