// The JSON header of a safetensors file, read by events: a DOM of a hostile header would take many
// times its size, and cannot be destroyed when memory has run out.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <cohort/tensor.h>

namespace cohort::io {

/// Element types and their words in the format. U8, which stands for the others, is not listed.
struct TypeName {
  std::string_view text;
  DType type;
};
inline constexpr std::array<TypeName, 8> kFileTypes{{{"F32", DType::f32},
                                                     {"F16", DType::f16},
                                                     {"BF16", DType::bf16},
                                                     {"F8_E4M3", DType::e4m3},
                                                     {"F8_E5M2", DType::e5m2},
                                                     {"F8_E8M0", DType::e8m0},
                                                     {"I32", DType::i32},
                                                     {"I64", DType::i64}}};

/// One tensor as the header has it; nothing is checked but the kinds of JSON values.
struct HeaderEntry {
  std::string name;
  std::string dtype;
  int32_t rank = 0;
  int64_t shape[kMaxRank] = {};
  int64_t begin = 0;
  int64_t end = 0;
};

/// What is wrong with a header.
struct HeaderFault {
  std::string tensor;
  std::string wanted;
  std::string got;
};

/// Reads a header. False, with a fault, when it is none.
[[nodiscard]] bool read_header(std::string_view text, std::vector<HeaderEntry>& entries,
                               HeaderFault& fault);

/// The header of tensors that stand packed one after another, padded to a multiple of 8 bytes.
[[nodiscard]] std::string write_header(const std::vector<HeaderEntry>& entries);

}  // namespace cohort::io
