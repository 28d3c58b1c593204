// Arguments of kernels in launch files.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "io/launch_file.h"
#include "io/launch_reader.h"

namespace cohort::io {

inline constexpr int64_t kMostBytes = int64_t{1} << 40;

/// The words of ElementType, in its order.
[[nodiscard]] std::vector<std::string_view> type_words();

class ArgumentReader {
 public:
  ArgumentReader(TreeReader& reader, LaunchFile& file) : r_(reader), f_(file) {}
  /// An argument, or a part of a struct; what is wrong is a finding.
  KernelArgument argument(const JsonNode& n, bool is_part);

 private:
  std::string_view keep(std::string text) { return f_.texts.emplace_back(std::move(text)); }
  void number(const JsonNode& n, std::string_view key, KernelArgument& a);
  void bytes(const JsonNode& n, KernelArgument& a);
  void structure(const JsonNode& n, KernelArgument& a);
  template <class T>
  int numbers(const JsonNode& n, int most_entries, int64_t most, T* to);
  template <class T>
  void beside(const JsonNode& map, std::string_view key, int wanted, int64_t most, T* to);
  void map(const JsonNode& n, TensorMapDescription& m);

  TreeReader& r_;
  LaunchFile& f_;
};

}  // namespace cohort::io
