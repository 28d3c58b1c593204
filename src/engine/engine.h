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
#include "ir/canonical.h"
#include "ir/graph.h"
#include "ir/parts.h"
#include "ir/traits.h"

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
/// the graph says was consumed: the planner turns what was not into reasons. Inputs and outputs are
/// consumed key by key, by a list that stands in the engine: a key that is new to ir/canonical.h is
/// in none of these lists, so no engine ignores it in silence. What inputs mean beyond their keys
/// are traits, and are consumed one by one as well.
class Claim {
 public:
  explicit Claim(const ir::Graph& graph)
      : inputs_(graph.inputs.size(), 0),
        traits_(graph.inputs.size(), 0),
        outputs_(graph.outputs.size(), 0),
        fields_(graph.fields.size(), false) {}

  void refuse(std::string constraint, std::string wanted, std::string got) {
    reasons_.push_back({std::move(constraint), std::move(wanted), std::move(got)});
  }
  /// The engine honours what stands at this key of an input, whatever it is.
  void consume_input(int32_t input, ir::InputKey key) {
    inputs_[static_cast<size_t>(input)] |= bit(key);
  }
  /// The engine does right by an input that has this trait.
  void consume_input(int32_t input, ir::InputTrait trait) {
    traits_[static_cast<size_t>(input)] |= bit(trait);
  }
  /// The same of an output. Key `value`: the engine writes it.
  void consume_output(int32_t output, ir::OutputKey key) {
    outputs_[static_cast<size_t>(output)] |= bit(key);
  }
  /// The engine honours this field of the node, whatever its value.
  void consume_field(const ir::Node& node, int32_t field) {
    fields_[static_cast<size_t>(node.first_field) + static_cast<size_t>(field)] = true;
  }
  /// All fields of a node.
  void consume_node(const ir::Node& node);
  void consume_option(std::string_view option) { options_.emplace_back(option); }

  [[nodiscard]] const std::vector<Reason>& reasons() const { return reasons_; }
  [[nodiscard]] bool has_input(size_t i, ir::InputKey key) const {
    return (inputs_[i] & bit(key)) != 0;
  }
  [[nodiscard]] bool has_input(size_t i, ir::InputTrait trait) const {
    return (traits_[i] & bit(trait)) != 0;
  }
  [[nodiscard]] bool has_output(size_t i, ir::OutputKey key) const {
    return (outputs_[i] & bit(key)) != 0;
  }
  [[nodiscard]] bool has_field(size_t i) const { return fields_[i]; }
  [[nodiscard]] bool has_option(std::string_view option) const;

 private:
  template <class K>
  static constexpr uint32_t bit(K key) {
    return uint32_t{1} << static_cast<unsigned>(key);
  }

  std::vector<Reason> reasons_;
  std::vector<uint32_t> inputs_;   // a bit a key
  std::vector<uint32_t> traits_;   // a bit a trait
  std::vector<uint32_t> outputs_;  // a bit a key
  std::vector<bool> fields_;
  std::vector<std::string> options_;
};

/// Cost of a run at the bound sizes.
struct Estimate {
  double seconds = 0;
  std::string basis;  ///< What it was computed from, in words.
};

/// What an engine keeps of a binding from run to run: encoded tensor maps, arrays of pointers. One
/// execution owns it; it runs on one thread at a time.
class Prepared {
 public:
  virtual ~Prepared() = default;
};

/// Memory for every tensor, and the actual sizes.
struct Bound {
  /// The graph that the caller bound, which equals the planned one up to names: findings name its
  /// inputs, outputs and symbols, by position. Its values may be numbered otherwise.
  const ir::Graph& named;
  std::span<const TensorView> tensors;  ///< As Graph::tensors.
  ir::SymbolSizes sizes;
};

/// Everything of one run.
struct Launch {
  const ir::Graph& named;               ///< As Bound::named.
  std::span<const TensorView> tensors;  ///< As Graph::tensors.
  ir::SymbolSizes sizes;
  void* workspace = nullptr;
  Stream stream;
  RunOptions options;
  /// What prepare() made of these tensors and sizes. What depends on the workspace, which only a
  /// run knows, may be kept in it by launch().
  Prepared* prepared = nullptr;
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
  /// Makes `kept` all that launch() needs of a binding, so that a run encodes nothing. Called when
  /// tensors are bound, by rebind and by resize; `kept` is null, or what an earlier call made for
  /// other tensors, also one that threw: it is filled anew, without allocating. Throws
  /// FindingsError: what was bound before stays bound.
  virtual void prepare(const Bound& /*bound*/, std::unique_ptr<Prepared>& /*kept*/) const {}
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
  /// Where it runs, for a person: "on the CPU, for every device model".
  [[nodiscard]] virtual std::string_view runs() const = 0;
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
