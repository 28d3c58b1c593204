// The engine seam: an engine says whether it serves a graph, what that costs, builds something that
// runs, and runs it. The planner knows nothing else of engines.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <cohort/execute.h>
#include <cohort/plan.h>

#include "arch/arch.h"
#include "ir/graph.h"
#include "ir/parts.h"

namespace cohort::engine {

/// What an engine is asked.
struct Request {
  const ir::Graph& graph;
  const arch::DeviceModel& device;
  const PlanOptions& options;
};

/// One reason for a "no".
struct Reason {
  std::string constraint;
  std::string wanted;
  std::string got;
};

/// An engine's answer. It serves the graph when there is no reason against it and everything that
/// the graph says was consumed: the planner turns what was not into reasons.
class Claim {
 public:
  explicit Claim(const ir::Graph& graph)
      : inputs_(graph.inputs.size(), false), fields_(graph.fields.size(), false) {}

  void refuse(std::string constraint, std::string wanted, std::string got) {
    reasons_.push_back({std::move(constraint), std::move(wanted), std::move(got)});
  }
  void consume_input(int32_t input) { inputs_[static_cast<size_t>(input)] = true; }
  /// The engine honours this field of the node, whatever its value.
  void consume_field(const ir::Node& node, int32_t field) {
    fields_[static_cast<size_t>(node.first_field) + static_cast<size_t>(field)] = true;
  }
  /// All fields of a node.
  void consume_node(const ir::Node& node);
  void consume_option(std::string_view option) { options_.emplace_back(option); }
  void consume_everything(const Request& request);

  [[nodiscard]] const std::vector<Reason>& reasons() const { return reasons_; }
  [[nodiscard]] bool has_input(size_t i) const { return inputs_[i]; }
  [[nodiscard]] bool has_field(size_t i) const { return fields_[i]; }
  [[nodiscard]] bool has_option(std::string_view option) const;

 private:
  std::vector<Reason> reasons_;
  std::vector<bool> inputs_;
  std::vector<bool> fields_;
  std::vector<std::string> options_;
};

/// Cost of a run at the bound sizes.
struct Estimate {
  double seconds = 0;
  std::string basis;  ///< What it was computed from, in words.
};

/// Everything of one run.
struct Launch {
  std::span<const TensorView> tensors;  ///< As Graph::tensors.
  ir::SymbolSizes sizes;
  void* workspace = nullptr;
  Stream stream;
  RunOptions options;
};

/// A graph made ready for a device. Immutable; several launches run at once.
class Executable {
 public:
  virtual ~Executable() = default;
  [[nodiscard]] virtual int64_t workspace_bytes(ir::SymbolSizes sizes) const = 0;
  /// Rows that every group must have a multiple of, beyond what the graph promises.
  [[nodiscard]] virtual int64_t group_alignment() const { return 1; }
  /// Where every tensor must live; bind checks it.
  [[nodiscard]] virtual MemoryDevice::Type memory() const { return MemoryDevice::Type::cpu; }
  /// Throws FindingsError.
  virtual void launch(const Launch& launch) const = 0;
  /// Lines for Plan::explain; no names of the graph.
  [[nodiscard]] virtual std::string explain() const { return {}; }
};

/// A known defect of a library version that an engine stands on.
struct Erratum {
  std::string_view id;        ///< "reference-1".
  std::string_view versions;  ///< Versions that have it, in words.
  std::string_view wanted;    ///< What would avoid it.
  std::string_view got;       ///< What the graph or library has.
  bool (*applies)(const Request& request);
};

class Engine {
 public:
  virtual ~Engine() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;
  /// Says in `claim` what the engine consumes and why it cannot serve.
  virtual void supports(const Request& request, Claim& claim) const = 0;
  [[nodiscard]] virtual Estimate estimate(const Request& request) const = 0;
  /// Called only after a claim without reasons. Throws FindingsError.
  [[nodiscard]] virtual std::unique_ptr<Executable> build(const Request& request) const = 0;
  /// The planner refuses the engine for every erratum that applies.
  [[nodiscard]] virtual std::span<const Erratum> errata() const { return {}; }
};

/// The engines of this process, in order of preference at equal cost. engines.cpp defines it.
[[nodiscard]] std::span<const Engine* const> all_engines();

}  // namespace cohort::engine
