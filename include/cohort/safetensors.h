// Tensors by name in files: the safetensors format (github.com/huggingface/safetensors).
#pragma once

#include <cstdint>
#include <string_view>

#include <cohort/plan.h>
#include <cohort/status.h>
#include <cohort/tensor.h>

namespace cohort {

namespace io {
struct TensorFileData;
}  // namespace io

/// The tensors of a file: read into memory that this object owns, 64-byte aligned and packed, or
/// left in the file, which stays open. Copies share it.
class COHORT_API TensorFile {
 public:
  TensorFile(const TensorFile& other) noexcept;             ///< Shares the tensors.
  TensorFile& operator=(const TensorFile& other) noexcept;  ///< As above.
  ~TensorFile();

  /// Reads a file. Findings of kind `file` when it cannot be opened or is not of the format: header
  /// length, gaps, overlaps, sizes that do not match shapes, duplicate names.
  static Result<TensorFile> read(std::string_view path) noexcept;
  /// Checks a file in the same way and reads nothing but its header: views have null `data`, and
  /// copy_to reads a tensor. For files of which only a part is wanted, or tensors that have memory
  /// already.
  static Result<TensorFile> open(std::string_view path) noexcept;

  [[nodiscard]] int32_t size() const noexcept;                       ///< Number of tensors.
  [[nodiscard]] std::string_view name(int32_t i) const noexcept;     ///< Name; `i` in [0, size()).
  [[nodiscard]] int32_t find(std::string_view name) const noexcept;  ///< Index, or -1.
  /// The tensor as `dtype`. U8 stands for any 8-bit type and, with twice the last extent, for
  /// e2m1; otherwise a different type is E-DTYPE.
  [[nodiscard]] Result<TensorView> view(int32_t i, DType dtype) const noexcept;
  /// The tensor as the file says; U8 reads as e8m0.
  [[nodiscard]] TensorView view(int32_t i) const noexcept;
  /// Reads tensor `i`, in [0, size()), from the file into `memory`, packed: as many bytes as its
  /// view has. Findings of kind `file` when it cannot be read.
  [[nodiscard]] Status copy_to(int32_t i, void* memory) const noexcept;

 private:
  explicit TensorFile(const io::TensorFileData* data) noexcept : data_(data) {}
  const io::TensorFileData* data_;
};

/// Writes packed CPU tensors: to a temporary name beside `path`, which is then renamed. e2m1 is
/// written as U8 with half the last extent. Findings of kind `mismatch` about each view that a file
/// cannot hold, before it is opened; of kind `file` when writing fails.
[[nodiscard]] COHORT_API Status write_safetensors(std::string_view path,
                                                  NamedTensors tensors) noexcept;

/// Writes a text file the same way.
[[nodiscard]] COHORT_API Status write_text(std::string_view path, std::string_view text) noexcept;

}  // namespace cohort
