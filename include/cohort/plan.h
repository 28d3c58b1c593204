// Planning: which engine serves a graph on a device, and why the others do not.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>

#include <cohort/graph.h>
#include <cohort/status.h>
#include <cohort/tensor.h>
#include <cohort/types.h>

namespace cohort {

namespace detail {
struct PlanAccess;
}  // namespace detail

namespace plan {
class PlanData;
}  // namespace plan

/// A view of consecutive items: a braced list, an array, or any container of them.
template <class T>
class ListView {
 public:
  constexpr ListView() = default;
  /// A braced list; the view lives as long as the call it is an argument of.
  constexpr ListView(std::initializer_list<T> list)  // NOLINT: lives as long as the call
      : size_(static_cast<int64_t>(list.size())) {
    data_ = list.begin();
  }
  constexpr ListView(const T* data, int64_t size) : data_(data), size_(size) {}  ///< An array.
  /// A built-in array.
  template <decltype(sizeof(0)) N>
  constexpr ListView(const T (&array)[N])  // NOLINT: an array stands for its items
      : data_(array), size_(static_cast<int64_t>(N)) {}
  /// Any container with data() and size().
  template <class C>
  requires requires(const C& c) {
    static_cast<const T*>(c.data());
    c.size();
  }
  constexpr ListView(const C& container)  // NOLINT: any container stands for its items
      : data_(container.data()), size_(static_cast<int64_t>(container.size())) {}
  [[nodiscard]] constexpr int64_t size() const { return size_; }          ///< Number of items.
  [[nodiscard]] constexpr const T* begin() const { return data_; }        ///< First item.
  [[nodiscard]] constexpr const T* end() const { return data_ + size_; }  ///< Past the last item.
  /// The i-th item; `i` must lie in [0, size()).
  constexpr const T& operator[](int64_t i) const { return data_[i]; }

 private:
  const T* data_ = nullptr;
  int64_t size_ = 0;
};

/// The actual value of a named extent, 0 .. its bound.
struct Size {
  std::string_view name;  ///< As given to Builder::dynamic.
  int64_t value;          ///< In elements.
};
/// Actual values of the named extents of a graph.
using Sizes = ListView<Size>;

/// Memory for one tensor of a graph, by name ("x", "x.scale", "w", "y.scale").
struct NamedTensor {
  std::string_view name;  ///< Name of an input or output, with its part.
  TensorView view;        ///< The memory.
};
/// Memory for the tensors of a graph.
using NamedTensors = ListView<NamedTensor>;

/// A device to plan for: a model in a table, present here or not.
class COHORT_API Device {
 public:
  static Device cpu() noexcept;    ///< This processor.
  static Device sm90() noexcept;   ///< Hopper (H100, H200).
  static Device sm100() noexcept;  ///< Blackwell (B200).
  static Device sm103() noexcept;  ///< Blackwell Ultra (B300).
  static Device sm107() noexcept;  ///< Rubin.
  /// The model named "cpu", "sm90", "sm100", "sm103" or "sm107"; E-DEVICE otherwise.
  static Result<Device> find(std::string_view name) noexcept;
  /// The GPU of the calling thread's current context; E-ENVIRONMENT without one. Never the CPU.
  static Result<Device> current() noexcept;
  static int32_t count() noexcept;  ///< Number of models.
  /// The i-th model, the CPU first; `i` must lie in [0, count()).
  static Device at(int32_t i) noexcept;
  [[nodiscard]] std::string_view name() const noexcept;         ///< "sm100".
  [[nodiscard]] std::string_view description() const noexcept;  ///< "NVIDIA Blackwell (B200)".

 private:
  friend struct detail::PlanAccess;
  explicit Device(int32_t model) noexcept : model_(model) {}
  int32_t model_;
};

/// What a plan must hold to. An engine honours each option or declines.
struct PlanOptions {
  bool deterministic = false;  ///< Equal bits in every run.
  /// A row's bits do not depend on the other rows, beyond what the graph's formulas say: amax and
  /// d_bias with what takes them, fp8_tensor, column blocks, hadamard along columns, and stochastic
  /// rounding, whose random numbers go by an element's position.
  bool batch_invariant = false;
  int32_t sm_limit = 0;                  ///< Use at most this many SMs (cores); 0: all.
  int64_t workspace_limit = -1;          ///< Bytes of workspace at the bound; -1: any.
  bool allow_approx_reciprocal = false;  ///< Quantize may use norm * rcp.approx.
  int64_t expected_rows = 0;             ///< Hint: rows an expert, tokens * top_k / all experts of
                                         ///< the layer; 0: unknown. May be ignored.
  std::string_view engine{};             ///< Only this engine; empty: the best.
};

/// One engine's "no": the constraint, what it wants and what the graph has.
struct Refusal {
  std::string_view engine;      ///< "native".
  std::string_view constraint;  ///< "glu.limit".
  std::string_view wanted;      ///< "absent".
  std::string_view got;         ///< "7".
};

/// One tensor that a plan wants memory for. Graph::tensor_name gives its name.
struct TensorInfo {
  DType dtype;                ///< Element type.
  int32_t rank;               ///< Rank of the stored tensor.
  int64_t shape[kMaxRank];    ///< Extents, at the sizes asked for.
  int64_t strides[kMaxRank];  ///< Strides in elements that bind expects.
  int64_t bytes;              ///< Bytes from the first to the last element, inclusive.
  int64_t alignment;          ///< Byte alignment that bind demands.
  bool is_output;             ///< Written by the plan.
  bool is_scale;              ///< Scale factors of the tensor before it.
};

class Execution;

/// An immutable plan for one graph (up to names), device model and options. Copies share it; any
/// thread may use it.
class COHORT_API Plan {
 public:
  Plan(const Plan& other) noexcept;             ///< Shares the plan.
  Plan& operator=(const Plan& other) noexcept;  ///< As above.
  ~Plan();

  [[nodiscard]] std::string_view engine() const noexcept;  ///< Name of the engine, "reference".
  [[nodiscard]] Device device() const noexcept;            ///< The model it was planned for.
  /// Why this engine and why not the others, for a person: a few lines of text.
  [[nodiscard]] std::string_view explain() const noexcept;
  [[nodiscard]] int32_t refusal_count() const noexcept;  ///< Number of refusals kept.
  /// The i-th refusal; `i` must lie in [0, refusal_count()).
  [[nodiscard]] Refusal refusal(int32_t i) const noexcept;

  /// Every group must have a multiple of this many rows when the plan runs: what the engine needs,
  /// what ops need, and what row_alignment of the groups promised. 1: any number of rows.
  [[nodiscard]] int64_t required_group_alignment() const noexcept;

  [[nodiscard]] int32_t tensor_count() const noexcept;  ///< Tensors that bind wants.
  /// The i-th tensor at the bound of every named extent.
  [[nodiscard]] TensorInfo tensor(int32_t i) const noexcept;
  /// The i-th tensor at actual sizes; E-SIZE when a size is unknown, missing or above its bound.
  [[nodiscard]] Result<TensorInfo> tensor(int32_t i, const Graph& graph,
                                          Sizes sizes) const noexcept;
  /// Bytes of workspace at the bound; 256-byte aligned memory of the caller.
  [[nodiscard]] int64_t workspace_bytes() const noexcept;
  /// Bytes of workspace at actual sizes.
  [[nodiscard]] Result<int64_t> workspace_bytes(const Graph& graph, Sizes sizes) const noexcept;

  /// Checks every tensor (name, dtype, shape, strides, alignment, overlap) and makes the plan ready
  /// to run. `graph` gives the names: any graph with the key that was planned. Findings of kind
  /// mismatch otherwise.
  [[nodiscard]] Result<Execution> bind(const Graph& graph, Sizes sizes,
                                       NamedTensors tensors) const noexcept;

 private:
  friend struct detail::PlanAccess;
  explicit Plan(const plan::PlanData* data) noexcept;
  const plan::PlanData* data_;
};

/// Plans a graph for a device; nothing of the device is needed. Findings of kind unsupported name
/// each engine and its reasons, and carry the graph's JSON.
[[nodiscard]] COHORT_API Result<Plan> make_plan(const Graph& graph, const Device& device,
                                                const PlanOptions& options = {}) noexcept;
/// As above; passes the findings of a graph that failed on.
[[nodiscard]] COHORT_API Result<Plan> make_plan(const Result<Graph>& graph, const Device& device,
                                                const PlanOptions& options = {}) noexcept;

/// An engine of this build.
struct EngineInfo {
  std::string_view name;  ///< "reference", as PlanOptions::engine takes it.
  std::string_view runs;  ///< Where it runs, for a person: "on the CPU, for every device model".
};
/// Number of engines of this build.
[[nodiscard]] COHORT_API int32_t engine_count() noexcept;
/// The i-th engine, in order of preference at equal cost; empty when `i` is out of range.
[[nodiscard]] COHORT_API EngineInfo engine_info(int32_t i) noexcept;

/// An environment variable that this library reads.
struct EnvironmentVariable {
  std::string_view name;   ///< "COHORT_THREADS".
  std::string_view value;  ///< As it was when the library read it, once; empty: not set.
};
/// Number of environment variables that this library reads.
[[nodiscard]] COHORT_API int32_t environment_count() noexcept;
/// The i-th of them; empty when `i` is out of range, or memory ran out while they were read.
[[nodiscard]] COHORT_API EnvironmentVariable environment_variable(int32_t i) noexcept;
/// Whether plans can be made in this process, as make_plan would say: E-ENVIRONMENT when COHORT_ISA
/// or COHORT_THREADS has a value that it cannot have. Both are read once.
[[nodiscard]] COHORT_API Status check_environment() noexcept;

/// Counters of the process-wide plan cache.
struct PlanCacheStats {
  int64_t hits;      ///< Plans found.
  int64_t misses;    ///< Plans made.
  int64_t evicted;   ///< Plans dropped to stay within the bound.
  int64_t size;      ///< Plans kept now.
  int64_t capacity;  ///< Plans kept at most.
};
/// Counters of the process-wide plan cache.
[[nodiscard]] COHORT_API PlanCacheStats plan_cache_stats() noexcept;
/// Drops every cached plan; plans in use live on.
COHORT_API void clear_plan_cache() noexcept;

}  // namespace cohort
