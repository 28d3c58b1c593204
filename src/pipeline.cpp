// The main path on one page: graph -> validate -> plan -> engine -> execute.
#include <memory>
#include <utility>

#include <cohort/cohort.h>

#include "arch/arch.h"
#include "base/diagnostics.h"
#include "ir/state.h"
#include "json/reader.h"
#include "plan/access.h"
#include "plan/bind.h"
#include "plan/plan_data.h"
#include "validate/validate.h"

namespace cohort {

using detail::Access;
using detail::PlanAccess;

namespace {

// What was recorded, checked as a whole and frozen. From here on it never changes.
Result<Graph> freeze(ir::Recording& recording, Where where) {
  validate::check_whole(recording, where);
  if (!recording.findings().empty()) return recording.findings().take(ErrorKind::invalid_graph);
  recording.graph().freeze();
  return Access::graph(recording.take().release());
}

Findings finished_twice(const detail::State& s, Where where) {
  return base::make_findings(
      ErrorKind::invalid_graph,
      {.code = "E-HANDLE",
       .op = s.name,
       .message = "this builder was finished at " + std::string(s.finished_at.file) + ":" +
                  std::to_string(s.finished_at.line) + " already",
       .where = std::string(where.file) + ":" + std::to_string(where.line)});
}

}  // namespace

// C++ statements become a graph,
Result<Graph> Builder::finish(Where where) && noexcept {
  if (state_ == nullptr) return base::out_of_memory(-1, "making a builder");
  return base::guarded("finishing a graph", [&]() -> Result<Graph> {
    detail::State& s = *state_;
    if (s.finished) return finished_twice(s, where);
    s.finished = true;
    s.finished_at = where;
    if (s.out_of_memory) return base::out_of_memory(-1, "building a graph");
    Result<Graph> graph = freeze(s.recording, where);
    if (graph) {
      s.frozen = Access::graph(*graph);
      s.frozen->retain();
    }
    return graph;
  });
}

// and so does a text.
Result<Graph> parse_json(std::string_view text, const JsonLimits& limits) noexcept {
  return base::guarded("reading a graph", [&]() -> Result<Graph> {
    ir::Recording recording("");
    base::Diagnostics findings;
    ErrorKind kind = ErrorKind::invalid_graph;
    if (!json::read(text, limits, recording, findings, kind)) return findings.take(kind);
    return freeze(recording, {nullptr, 0});
  });
}

// A frozen graph becomes a plan: every engine is asked, the best builds.
Result<Plan> make_plan(const Graph& graph, const Device& device,
                       const PlanOptions& options) noexcept {
  return base::guarded("planning", [&]() -> Result<Plan> {
    return PlanAccess::plan(
        plan::cached_plan(*Access::graph(graph), PlanAccess::model(device), options));
  });
}

Result<Plan> make_plan(const Result<Graph>& graph, const Device& device,
                       const PlanOptions& options) noexcept {
  if (!graph) return graph.findings();
  return make_plan(*graph, device, options);
}

// A plan and the caller's memory become an execution, whose run() launches the engine's executable
// (plan/execution.cpp).
Result<Execution> Plan::bind(const Graph& graph, Sizes sizes, NamedTensors tensors) const noexcept {
  return base::guarded("binding tensors", [&]() -> Result<Execution> {
    return PlanAccess::execution(plan::bind(*data_, *Access::graph(graph), sizes, tensors));
  });
}

}  // namespace cohort
