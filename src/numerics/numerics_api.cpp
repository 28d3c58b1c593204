// The public face of the numerics room.
#include <cohort/numerics.h>

#include <cstring>
#include <string>
#include <vector>

#include "base/checked.h"
#include "base/diagnostics.h"
#include "numerics/codec.h"
#include "numerics/layout.h"
#include "numerics/quantize.h"

namespace cohort {

namespace {

Findings bad(std::string_view code, std::string field, std::string wanted, std::string got) {
  std::string message = field + ": wanted " + wanted + ", got " + got;
  return base::make_findings(ErrorKind::invalid_graph, {.code = code,
                                                        .op = "numerics",
                                                        .field = std::move(field),
                                                        .wanted = std::move(wanted),
                                                        .got = std::move(got),
                                                        .message = std::move(message)});
}

}  // namespace

Result<int64_t> scale_bytes(ScaleLayout layout, int64_t rows, int64_t columns,
                            int64_t block) noexcept {
  return base::guarded("sizing scales", [&]() -> Result<int64_t> {
    if (rows < 0 || columns < 0 || block < 1) {
      return bad("E-SHAPE", "extents", "rows, columns >= 0 and block >= 1", "less");
    }
    if (layout != ScaleLayout::linear && layout != ScaleLayout::tiled_128x4) {
      return bad("E-LAYOUT", "layout", "linear or tiled_128x4", std::string(name(layout)));
    }
    const auto bytes = numerics::scale_buffer_bytes(layout, rows, columns, block, 1);
    if (!bytes) return bad("E-OVERFLOW", "extents", "a size below 2^63 bytes", "more");
    return *bytes;
  });
}

Status encode(DType type, const float* values, int64_t count, std::byte* codes) noexcept {
  return base::guarded("encoding", [&]() -> Status {
    if (type != DType::f32 && numerics::find_spec(type) == nullptr) {
      return bad("E-DTYPE", "type", "a floating-point type with a sign", std::string(name(type)));
    }
    if (count < 0) return bad("E-SHAPE", "count", "0 or more", std::to_string(count));
    numerics::encode_row(type, values, 0, count, codes);
    return {};
  });
}

Status decode(DType type, const std::byte* codes, int64_t count, float* values) noexcept {
  return base::guarded("decoding", [&]() -> Status {
    if (bits(type) == 0) return bad("E-DTYPE", "type", "a known type", "another");
    if (count < 0) return bad("E-SHAPE", "count", "0 or more", std::to_string(count));
    numerics::decode_row(type, codes, 0, count, values);
    return {};
  });
}

Status quantize_rows(const QuantizeSpec& spec, const float* values, int64_t rows, int64_t columns,
                     std::byte* codes, std::byte* scales) noexcept {
  return base::guarded("quantising", [&]() -> Status {
    const FormatInfo f = info(spec.format);
    if (f.scale == DType::f32) {
      return bad("E-ATTRIBUTE", "format", "a format with 8-bit scales",
                 std::string(name(spec.format)));
    }
    const Result<int64_t> bytes = scale_bytes(spec.layout, rows, columns, f.block);
    if (!bytes) return bytes.findings();
    const numerics::BlockSpec block{.format = spec.format,
                                    .element = f.element,
                                    .norm = spec.norm,
                                    .qmax = numerics::default_qmax(f.element)};
    const int64_t blocks = base::ceil_div(columns, f.block);
    std::vector<uint8_t> linear(static_cast<size_t>(rows * blocks));
    const auto width = static_cast<uint64_t>(columns);
    numerics::quantize_rows(block, {values, columns, rows, columns, 0, width},
                            {reinterpret_cast<uint8_t*>(codes), columns, false, 0},
                            {linear.data(), nullptr, blocks});
    std::memset(scales, 0, static_cast<size_t>(*bytes));
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t b = 0; b < blocks; ++b) {
        const int64_t at = spec.layout == ScaleLayout::linear
                               ? r * blocks + b
                               : numerics::tiled_offset(r, b, blocks);
        scales[at] = std::byte{linear[static_cast<size_t>(r * blocks + b)]};
      }
    }
    return {};
  });
}

}  // namespace cohort
