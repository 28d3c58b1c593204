// Writing the safetensors format: every view is checked before a file is touched.
#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <cohort/safetensors.h>

#include "base/checked.h"
#include "base/diagnostics.h"
#include "base/utf8.h"
#include "io/file.h"
#include "io/header.h"

namespace cohort {

namespace io {

namespace {

std::string_view type_name(DType type) {
  for (const TypeName& t : kFileTypes) {
    if (t.type == type) return t.text;
  }
  return "U8";
}

// Views in the order in which they are written, and what is wrong with them.
class Views {
 public:
  // Throws FindingsError with a finding for each view that a file cannot hold.
  explicit Views(NamedTensors tensors) {
    for (const NamedTensor& t : tensors) {
      if (check_name(t) && check(t)) add(t);
    }
    if (!faults_.empty()) throw base::FindingsError{faults_.take(ErrorKind::mismatch)};
  }
  [[nodiscard]] const std::vector<HeaderEntry>& entries() const { return entries_; }

 private:
  bool refuse(std::string_view code, const NamedTensor& t, std::string_view field,
              std::string wanted, std::string got) {
    std::string message = std::string(field) + ": wanted " + wanted + ", got " + got;
    faults_.add({.code = code,
                 .op = std::string(t.name),
                 .field = std::string(field),
                 .wanted = std::move(wanted),
                 .got = std::move(got),
                 .message = std::move(message)});
    return false;
  }

  bool check_name(const NamedTensor& t) {
    if (t.name == "__metadata__" || !base::is_clean_utf8(t.name)) {
      return refuse("E-NAME", t, "name", "printable UTF-8, and not __metadata__",
                    std::string(t.name));
    }
    return names_.insert(t.name).second ||
           refuse("E-NAME", t, "name", "a name of its own", std::string(t.name));
  }

  bool check(const NamedTensor& t) {
    const TensorView& v = t.view;
    if (v.rank < 0 || v.rank > kMaxRank) {
      return refuse("E-RANK", t, "rank", "0 .. 8 extents", std::to_string(v.rank));
    }
    if (name(v.dtype).empty() || bits(v.dtype) == 6) {
      return refuse("E-DTYPE", t, "dtype", "a type of 4, 8, 16, 32 or 64 bits",
                    name(v.dtype).empty() ? std::to_string(static_cast<int>(v.dtype))
                                          : std::string(name(v.dtype)));
    }
    if (v.device.type != MemoryDevice::Type::cpu) {
      return refuse("E-DEVICE", t, "device", "cpu: a file is written from host memory", "cuda");
    }
    if (v.dtype == DType::e2m1 && (v.rank == 0 || v.shape[v.rank - 1] % 2 != 0)) {
      return refuse("E-SHAPE", t, "shape", "an even last extent: e2m1 is packed in pairs",
                    v.rank == 0 ? "none" : std::to_string(v.shape[v.rank - 1]));
    }
    std::optional<int64_t> step = 1;
    bool is_empty = false;
    for (int d = v.rank - 1; d >= 0; --d) {
      const int64_t extent = v.shape[d];
      if (extent < 0) return refuse("E-SHAPE", t, "shape", "0 or more", std::to_string(extent));
      if (step && extent > 1 && v.strides[d] != *step) {
        return refuse("E-STRIDE", t, "strides", "packed rows: " + std::to_string(*step),
                      std::to_string(v.strides[d]));
      }
      is_empty = is_empty || extent == 0;
      if (step) step = base::checked_mul(*step, std::max<int64_t>(extent, 1));
    }
    if (!step || !base::checked_mul(*step, bits(v.dtype))) {
      return refuse("E-OVERFLOW", t, "shape", "a size below 2^63 bits", "more");
    }
    return is_empty || v.data != nullptr || refuse("E-POINTER", t, "data", "memory", "null");
  }

  void add(const NamedTensor& t) {
    const TensorView& v = t.view;
    HeaderEntry e;
    e.name = t.name;
    e.dtype = type_name(v.dtype);
    e.rank = v.rank;
    std::copy_n(v.shape, e.rank, e.shape);
    int64_t all = bits(v.dtype);
    for (int d = 0; d < v.rank; ++d) all *= v.shape[d];
    if (v.dtype == DType::e2m1) e.shape[e.rank - 1] /= 2;
    e.begin = entries_.empty() ? 0 : entries_.back().end;
    const std::optional<int64_t> end = base::checked_add(e.begin, all / 8);
    if (!end) {
      refuse("E-OVERFLOW", t, "shape", "a file below 2^63 bytes", "more");
      return;
    }
    e.end = *end;
    entries_.push_back(std::move(e));
  }

  base::Diagnostics faults_;
  std::set<std::string_view> names_;
  std::vector<HeaderEntry> entries_;
};

void write_file(std::string_view path, NamedTensors tensors) {
  const Views views(tensors);
  const std::string text = write_header(views.entries());
  const uint64_t size = text.size();
  ReplacementFile file(path);
  file.write(&size, 8);
  file.write(text.data(), static_cast<int64_t>(size));
  size_t i = 0;
  for (const NamedTensor& t : tensors) {
    const HeaderEntry& e = views.entries()[i++];
    file.write(t.view.data, e.end - e.begin);
  }
  file.commit();
}

}  // namespace
}  // namespace io

Status write_safetensors(std::string_view path, NamedTensors tensors) noexcept {
  return base::guarded("writing a tensor file", [&]() -> Status {
    io::write_file(path, tensors);
    return {};
  });
}

}  // namespace cohort
