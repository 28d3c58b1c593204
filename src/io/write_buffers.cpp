#include "base/diagnostics.h"
#include "io/file.h"
#include "io/header.h"
#include "io/launch_file.h"

namespace cohort::io {

namespace {

std::string_view type_word(ElementType type) {
  switch (type) {
    case ElementType::u32:
    case ElementType::s32:
      return "I32";
    case ElementType::u64:
    case ElementType::s64:
      return "I64";
    case ElementType::f16:
      return "F16";
    case ElementType::bf16:
      return "BF16";
    case ElementType::f32:
      return "F32";
    case ElementType::e4m3:
      return "F8_E4M3";
    case ElementType::e5m2:
      return "F8_E5M2";
    default:
      return "U8";
  }
}

}  // namespace

namespace {

void write(std::string_view path, const LaunchFile& file, const RaceReport& report) {
  std::vector<HeaderEntry> entries;
  int64_t at = 0;
  for (size_t i = 0; i < file.buffers.size(); ++i) {
    const EmulatedBuffer& b = file.buffers[i];
    HeaderEntry e;
    e.name = b.name;
    e.dtype = type_word(b.type);
    for (const int64_t extent : file.shapes[i]) e.shape[e.rank++] = extent;
    if (e.dtype == "U8" && element_bytes(b.type) > 1) {
      if (e.rank == 0) e.shape[e.rank++] = 1;
      e.shape[e.rank - 1] *= element_bytes(b.type);
    }
    e.begin = at;
    at += report.buffer(static_cast<int32_t>(i)).bytes;
    e.end = at;
    entries.push_back(std::move(e));
  }
  const std::string header = write_header(entries);
  const uint64_t size = header.size();
  ReplacementFile out(path);
  out.write(&size, 8);
  out.write(header.data(), static_cast<int64_t>(size));
  for (size_t i = 0; i < entries.size(); ++i) {
    const BufferView b = report.buffer(static_cast<int32_t>(i));
    out.write(b.data, b.bytes);
  }
  out.commit();
}

}  // namespace

Status write_buffers(std::string_view path, const LaunchFile& file, const RaceReport& report) {
  return base::guarded("writing buffers", [&]() -> Status {
    write(path, file, report);
    return {};
  });
}

}  // namespace cohort::io
