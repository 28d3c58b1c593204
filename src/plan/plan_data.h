// What a plan and a bound execution are inside.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <cohort/plan.h>

#include "engine/engine.h"
#include "ir/graph.h"

namespace cohort::plan {

/// One engine's refusal, owned.
struct RefusalText {
  std::string engine;
  engine::Reason reason;
};

class PlanData {
 public:
  explicit PlanData(const ir::Graph* planned) : graph(planned) {}

  ir::GraphRef graph;  ///< The graph that was planned; its names are not used.
  int32_t device = 0;
  std::string engine;
  std::string explanation;
  std::vector<RefusalText> refusals;
  std::unique_ptr<engine::Executable> executable;
  std::vector<TensorInfo> tensors;  ///< At the bounds.
  std::vector<int64_t> bounds;      ///< By symbol.
  int64_t workspace_bytes = 0;
  int64_t group_alignment = 1;  ///< Rows that every group has a multiple of.

  void retain() const { references_.fetch_add(1, std::memory_order_relaxed); }
  void release() const {
    if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

 private:
  mutable std::atomic<int64_t> references_{1};
};

/// Shared ownership of a plan inside the library.
class PlanRef {
 public:
  explicit PlanRef(const PlanData* data) : data_(data) { data_->retain(); }
  PlanRef(const PlanRef& other) : PlanRef(other.data_) {}
  PlanRef& operator=(const PlanRef&) = delete;
  ~PlanRef() { data_->release(); }
  const PlanData& operator*() const { return *data_; }
  const PlanData* operator->() const { return data_; }
  [[nodiscard]] const PlanData* get() const { return data_; }

 private:
  const PlanData* data_;
};

/// Memory for every tensor at some sizes.
struct Binding {
  std::vector<int64_t> sizes;     ///< By symbol.
  std::vector<TensorView> views;  ///< As Graph::tensors.
  std::vector<TensorInfo> infos;  ///< At `sizes`.
  int64_t workspace_bytes = 0;
};

/// Memory of the search for overlaps, so that it allocates once.
struct OverlapScratch {
  std::vector<int32_t> order;    ///< Tensors by address.
  std::vector<int32_t> inputs;   ///< Those that have begun.
  std::vector<int32_t> outputs;  ///< The same.
  void fit(size_t tensors) {
    for (std::vector<int32_t>* v : {&order, &inputs, &outputs}) v->resize(tensors);
  }
};

/// A plan with its memory.
class ExecutionData {
 public:
  ExecutionData(const PlanData* plan_data, const ir::Graph* named)
      : plan(plan_data), graph(named) {}
  /// Another execution on the same memory. The engine prepares for it anew: throws FindingsError.
  ExecutionData(const ExecutionData& other)
      : plan(other.plan),
        graph(other.graph),
        bound(other.bound),
        next(other.next),
        overlaps(other.overlaps) {
    prepare_first();
  }
  ExecutionData& operator=(const ExecutionData&) = delete;

  PlanRef plan;
  ir::GraphRef graph;  ///< Gives the names.
  Binding bound;
  Binding next;  ///< As large: other sizes are tried here, so that a wrong one changes nothing.
  OverlapScratch overlaps;
  std::unique_ptr<engine::Prepared> prepared;       ///< Of `bound`, by the engine; may be null.
  std::unique_ptr<engine::Prepared> prepared_next;  ///< As large: what is prepared anew.

  /// Both, of `bound`, so that nothing is allocated later.
  void prepare_first() {
    plan->executable->prepare({*graph, bound.views, bound.sizes}, prepared);
    if (prepared) prepare_next(bound);
  }
  /// Of `binding`; in force once `prepared` and `prepared_next` have changed places.
  void prepare_next(const Binding& binding) {
    plan->executable->prepare({*graph, binding.views, binding.sizes}, prepared_next);
  }
};

/// Makes a plan. Throws FindingsError when no engine serves the graph. Returned with one reference.
[[nodiscard]] PlanData* plan_graph(const ir::Graph& graph, int32_t device,
                                   const PlanOptions& options,
                                   std::span<const engine::Engine* const> engines);
/// As plan_graph with all engines, through the process-wide cache.
[[nodiscard]] PlanData* cached_plan(const ir::Graph& graph, int32_t device,
                                    const PlanOptions& options);

}  // namespace cohort::plan
