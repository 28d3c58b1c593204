// Asks every engine, keeps every refusal, builds with the cheapest that serves the graph.
#include <algorithm>
#include <array>
#include <cstdio>
#include <limits>
#include <numeric>

#include "base/checked.h"
#include "base/diagnostics.h"
#include "plan/plan_data.h"
#include "plan/unconsumed.h"

namespace cohort::plan {

namespace {

using engine::Claim;
using engine::Engine;
using engine::Reason;
using engine::Request;

void add_options(const Request& request, const Claim& claim, std::vector<Reason>& reasons) {
  const PlanOptions& o = request.options;
  const std::array<std::pair<std::string_view, bool>, 5> asked{{
      {"deterministic", o.deterministic},
      {"batch_invariant", o.batch_invariant},
      {"sm_limit", o.sm_limit != 0},
      {"workspace_limit", o.workspace_limit >= 0},
      {"allow_approx_reciprocal", o.allow_approx_reciprocal},
  }};
  for (const auto& [option, is_set] : asked) {
    if (is_set && !claim.has_option(option)) {
      reasons.push_back({"option " + std::string(option), "not set", "set"});
    }
  }
}

std::vector<Reason> ask(const Engine& engine, const Request& request) {
  const std::string_view only = request.options.engine;
  if (!only.empty() && only != engine.name()) {
    return {{"option engine", std::string(engine.name()), std::string(only)}};
  }
  Claim claim(request.graph);
  engine.supports(request, claim);
  std::vector<Reason> reasons = claim.reasons();
  for (const engine::Erratum& e : engine.errata()) {
    if (!e.applies(request)) continue;
    reasons.push_back({"erratum " + std::string(e.id) + " of " + std::string(e.versions),
                       std::string(e.wanted), std::string(e.got)});
  }
  // What is not consumed only matters for an engine that would otherwise serve.
  if (reasons.empty()) {
    add_unconsumed(request.graph, claim, reasons);
    add_options(request, claim, reasons);
  }
  return reasons;
}

// Which engines there are, when one was asked for that is none of them.
std::string engines_hint(std::string_view wanted, std::span<const Engine* const> engines) {
  std::string names;
  for (const Engine* engine : engines) {
    if (wanted.empty() || engine->name() == wanted) return {};
    names += (names.empty() ? "" : ", ") + std::string(engine->name());
  }
  return names.empty() ? names : "engines of this build: " + names;
}

Findings unsupported(const Request& request, const std::vector<RefusalText>& refusals,
                     std::span<const Engine* const> engines) {
  base::Diagnostics d;
  const std::string hint = engines_hint(request.options.engine, engines);
  for (const RefusalText& r : refusals) {
    d.add({.code = "E-UNSUPPORTED",
           .op = r.engine,
           .field = r.reason.constraint,
           .wanted = r.reason.wanted,
           .got = r.reason.got,
           .message = r.reason.constraint + ": wanted " + r.reason.wanted + ", got " + r.reason.got,
           .hint = hint});
  }
  if (refusals.empty()) {
    d.add({.code = "E-UNSUPPORTED", .message = "this build of the library has no engine"});
  }
  return d.take(ErrorKind::unsupported, request.graph.json());
}

std::string seconds_text(double seconds) {
  std::array<char, 40> text;
  const char* unit = seconds < 1e-3 ? "us" : seconds < 1 ? "ms" : "s";
  const double scale = seconds < 1e-3 ? 1e6 : seconds < 1 ? 1e3 : 1;
  std::snprintf(text.data(), text.size(), "%.3g %s", seconds * scale, unit);
  return text.data();
}

struct Candidate {
  const Engine* engine;
  engine::Estimate estimate;
};

std::string explain(const Request& request, const std::vector<Candidate>& served,
                    const std::vector<RefusalText>& refusals, const engine::Executable& executable,
                    int64_t workspace_bytes) {
  std::string s = "device " + std::string(request.device.name) + " (" +
                  std::string(request.device.description) + ")\n";
  for (size_t i = 0; i < served.size(); ++i) {
    s += (i == 0 ? "chosen: " : "runner-up: ") + std::string(served[i].engine->name()) +
         ", expected " + seconds_text(served[i].estimate.seconds) + " at the bound (" +
         served[i].estimate.basis + ")\n";
  }
  for (const RefusalText& r : refusals) {
    s += "declined: " + r.engine + ", " + r.reason.constraint + ": wanted " + r.reason.wanted +
         ", got " + r.reason.got + "\n";
  }
  s += "workspace: " + std::to_string(workspace_bytes) + " bytes at the bound\n";
  return s + executable.explain();
}

// A multiple of both; past 2^63 no group but an empty one has it.
int64_t common_multiple(int64_t a, int64_t b) {
  return base::checked_mul(a / std::gcd(a, b), b).value_or(std::numeric_limits<int64_t>::max());
}

int64_t group_alignment(const ir::Graph& graph, const engine::Executable& executable) {
  int64_t rows = executable.group_alignment();
  for (const ir::Value& v : graph.values) {
    if (v.role == Role::groups) rows = common_multiple(rows, v.row_alignment);
  }
  return rows;
}

}  // namespace

PlanData* plan_graph(const ir::Graph& graph, int32_t device, const PlanOptions& options,
                     std::span<const Engine* const> engines) {
  const Request request{graph, arch::models()[static_cast<size_t>(device)], options};
  auto data = std::make_unique<PlanData>(&graph);
  std::vector<Candidate> served;
  for (const Engine* engine : engines) {
    std::vector<Reason> reasons = ask(*engine, request);
    if (reasons.empty()) served.push_back({engine, engine->estimate(request)});
    for (Reason& r : reasons) {
      data->refusals.push_back({std::string(engine->name()), std::move(r)});
    }
  }
  std::stable_sort(served.begin(), served.end(), [](const Candidate& a, const Candidate& b) {
    return a.estimate.seconds < b.estimate.seconds;
  });
  data->device = device;
  for (const ir::Symbol& s : graph.symbols) data->bounds.push_back(s.bound);
  for (size_t i = 0; i < graph.tensors.size(); ++i) {
    data->tensors.push_back(ir::tensor_info(graph, static_cast<int32_t>(i), data->bounds));
  }
  while (!served.empty()) {
    const Engine& best = *served.front().engine;
    const std::string name(best.name());
    try {
      data->executable = best.build(request);
      data->workspace_bytes = data->executable->workspace_bytes(data->bounds);
      const int64_t limit = options.workspace_limit;
      if (limit < 0 || data->workspace_bytes <= limit) break;
      data->refusals.push_back({name,
                                {"workspace_limit", std::to_string(limit) + " bytes or less",
                                 std::to_string(data->workspace_bytes) + " bytes"}});
    } catch (const base::FindingsError& e) {
      const std::string_view why = e.findings.size() > 0 ? e.findings[0].message : "";
      data->refusals.push_back({name, {"build", "success", std::string(why)}});
    }
    data->executable.reset();
    served.erase(served.begin());
  }
  if (served.empty()) throw base::FindingsError{unsupported(request, data->refusals, engines)};
  data->engine = served.front().engine->name();
  data->group_alignment = group_alignment(graph, *data->executable);
  data->explanation =
      explain(request, served, data->refusals, *data->executable, data->workspace_bytes);
  return data.release();
}

}  // namespace cohort::plan
