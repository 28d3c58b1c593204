// Running a plan on memory of the caller.
#pragma once

#include <cstdint>
#include <string_view>

#include <cohort/plan.h>
#include <cohort/status.h>
#include <cohort/tensor.h>

namespace cohort {

namespace plan {
class ExecutionData;
}  // namespace plan

/// Told about the progress of long work: `done` of `total` units. Return false to stop the run,
/// which then fails with E-STOPPED.
using ProgressFunction = bool (*)(int64_t done, int64_t total, void* user);

/// Options of one run.
struct RunOptions {
  ProgressFunction progress = nullptr;  ///< Called now and then from the calling thread.
  void* user = nullptr;                 ///< Handed to `progress`.
};

/// Another pointer for one tensor.
struct Rebinding {
  int32_t index;  ///< Graph::tensor_index.
  void* data;     ///< Memory of the same shape.
};
using Rebindings = ListView<Rebinding>;  ///< Other pointers for several tensors.

/// A plan bound to memory, for one device and one thread at a time. Several executions of one plan
/// run at once.
class COHORT_API Execution {
 public:
  /// Takes the other's binding, whose functions say E-HANDLE from then on.
  Execution(Execution&& other) noexcept : data_(other.data_), copy_failed_(other.copy_failed_) {
    other.data_ = nullptr;
    other.copy_failed_ = false;
  }
  Execution& operator=(Execution&& other) noexcept;  ///< Takes the other's binding.
  /// A second, independent binding. When memory runs out, its functions say E-MEMORY.
  Execution(const Execution& other) noexcept;
  ~Execution();

  /// Runs. `workspace`: workspace_bytes() bytes, 256-byte aligned, any content; null when 0. The
  /// library's own part allocates nothing. The reference engine is synchronous, takes scratch of a
  /// size that does not grow with T from the heap, but for lists of rows and panels, and starts
  /// threads for large work.
  [[nodiscard]] Status run(void* workspace, Stream stream = {},
                           const RunOptions& options = {}) const noexcept;
  /// Another pointer for tensor `index` (Graph::tensor_index), same shape; checked, no allocation.
  [[nodiscard]] Status rebind(int32_t index, void* data) noexcept;
  /// Other pointers for several tensors in one step, checked together: two can change places. A
  /// refusal changes nothing; no allocation.
  [[nodiscard]] Status rebind(Rebindings list) noexcept;
  /// Other actual sizes; strides become packed where they were. Checked, no allocation.
  [[nodiscard]] Status resize(Sizes sizes) noexcept;
  /// Bytes of workspace at the bound sizes.
  [[nodiscard]] int64_t workspace_bytes() const noexcept;

 private:
  friend struct detail::PlanAccess;
  explicit Execution(plan::ExecutionData* data) noexcept : data_(data) {}
  [[nodiscard]] Findings nothing_bound() const noexcept;
  plan::ExecutionData* data_;
  bool copy_failed_ = false;  // memory ran out
};

}  // namespace cohort
