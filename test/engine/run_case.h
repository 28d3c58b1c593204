// Runs a described case on a plan: what it promised, and that nothing else was written.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "engine/conformance.h"

namespace cohort::test::conformance {

/// A described case, ready to be filled and run.
struct Prepared {
  Prepared(const Entry& e, Situation s) : made(e.op, e.name, s) { e.describe(made); }
  Case made;
};

inline std::vector<Size> sizes_of(const Case& c) {
  if (!c.uses_tokens()) return {};
  return {{"T", c.tokens()->rows}};
}

/// What a test does at the edges of a run.
struct Hooks {
  std::function<void(Tensors&)> prepare{};  ///< After the inputs are there.
  std::function<void(Tensors&)> spoil{};    ///< Before the outputs are looked at.
};

/// Nothing, or what is wrong. `graph` is what c.finish() made.
inline std::string run_case(const Case& c, const Graph& graph, const Plan& plan,
                            const Hooks& hooks = {}) {
  const std::vector<Size> sizes = sizes_of(c);
  Tensors tensors(graph, plan, sizes);
  c.fill(tensors);
  if (hooks.prepare) hooks.prepare(tensors);
  std::map<std::string, std::vector<uint8_t>> before;
  for (int32_t i = 0; i < graph.tensor_count(); ++i) {
    const std::string name(graph.tensor_name(i));
    if (!tensors.infos()[static_cast<size_t>(i)].is_output) before[name] = tensors.raw(name);
  }
  const Result<Execution> execution = plan.bind(graph, sizes, tensors.all());
  if (!execution) return std::string(execution.findings().text());
  Workspace workspace(execution->workspace_bytes());
  const Status status = execution->run(workspace.data());
  if (!status) return std::string(status.findings().text());
  for (const auto& [name, bytes] : before) {
    if (tensors.raw(name) != bytes) return "input " + name + " was written";
  }
  if (!tensors.guards_hold()) return "memory beside the tensors was written";
  if (hooks.spoil) hooks.spoil(tensors);
  return c.check(tensors, graph);
}

}  // namespace cohort::test::conformance
