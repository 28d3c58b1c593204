// An engine for tests: says and does what it is told.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/diagnostics.h"
#include "engine/engine.h"

namespace cohort::test {

/// Every key of one input.
inline void consume_input(const engine::Request& request, engine::Claim& claim, size_t i) {
  const ir::Graph& g = request.graph;
  const ir::Value& v = g.values[static_cast<size_t>(g.inputs[i].value)];
  for (ir::InputKey k : ir::input_keys(v.role)) claim.consume_input(static_cast<int32_t>(i), k);
  for (ir::InputTrait t : ir::input_traits()) claim.consume_input(static_cast<int32_t>(i), t);
}
inline void consume_inputs(const engine::Request& request, engine::Claim& claim) {
  for (size_t i = 0; i < request.graph.inputs.size(); ++i) consume_input(request, claim, i);
}
/// Every key of every output.
inline void consume_outputs(const engine::Request& request, engine::Claim& claim) {
  for (size_t i = 0; i < request.graph.outputs.size(); ++i) {
    for (ir::OutputKey k : ir::output_keys()) claim.consume_output(static_cast<int32_t>(i), k);
  }
}
inline void consume_nodes(const engine::Request& request, engine::Claim& claim) {
  for (const ir::Node& n : request.graph.nodes) claim.consume_node(n);
}
inline void consume_everything(const engine::Request& request, engine::Claim& claim) {
  consume_inputs(request, claim);
  consume_outputs(request, claim);
  consume_nodes(request, claim);
}

/// What a fake kernel would have encoded: the addresses of all tensors, and the sizes.
struct FakePrepared : engine::Prepared {
  std::vector<void*> data;
  std::vector<int64_t> sizes;
};

/// What the executables of an engine were asked for.
struct FakeCalls {
  bool prepares = false;  ///< Whether prepare keeps anything.
  std::string failure;    ///< What prepare says, after it has changed what is kept.
  int prepared = 0;
  int launched = 0;
  FakePrepared last;          ///< What the last launch was given.
  bool was_prepared = false;  ///< Whether the last launch was given anything.
};

class FakeExecutable : public engine::Executable {
 public:
  FakeExecutable(int64_t workspace, MemoryDevice::Type memory, int64_t rows,
                 std::shared_ptr<FakeCalls> calls)
      : workspace_(workspace), memory_(memory), rows_(rows), calls_(std::move(calls)) {}
  int64_t workspace_bytes(ir::SymbolSizes) const override { return workspace_; }
  MemoryDevice::Type memory() const override { return memory_; }
  int64_t group_alignment() const override { return rows_; }
  void prepare(const engine::Bound& bound, std::unique_ptr<engine::Prepared>& kept) const override {
    if (!calls_->prepares) return;
    ++calls_->prepared;
    if (!kept) kept = std::make_unique<FakePrepared>();
    auto& mine = static_cast<FakePrepared&>(*kept);
    mine.data.clear();
    for (const TensorView& v : bound.tensors) mine.data.push_back(v.data);
    mine.sizes.assign(bound.sizes.begin(), bound.sizes.end());
    if (calls_->failure.empty()) return;
    throw base::FindingsError{base::make_findings(
        ErrorKind::environment, {.code = "E-ENVIRONMENT", .message = calls_->failure})};
  }
  void launch(const engine::Launch& launch) const override {
    ++calls_->launched;
    calls_->was_prepared = launch.prepared != nullptr;
    if (calls_->was_prepared) calls_->last = static_cast<const FakePrepared&>(*launch.prepared);
  }
  std::string explain() const override { return "fake kernel\n"; }

 private:
  int64_t workspace_;
  MemoryDevice::Type memory_;
  int64_t rows_;
  std::shared_ptr<FakeCalls> calls_;
};

class FakeEngine : public engine::Engine {
 public:
  explicit FakeEngine(std::string name, double seconds = 1)
      : name_(std::move(name)), seconds_(seconds) {}

  std::string_view name() const override { return name_; }
  std::string_view runs() const override { return "nowhere"; }
  void supports(const engine::Request& request, engine::Claim& claim) const override {
    if (answer) return answer(request, claim);
    consume_everything(request, claim);
  }
  engine::Estimate estimate(const engine::Request&) const override {
    return {seconds_, "a made-up number"};
  }
  std::unique_ptr<engine::Executable> build(const engine::Request&) const override {
    ++builds;
    if (!failure.empty()) {
      throw base::FindingsError{base::make_findings(ErrorKind::environment,
                                                    {.code = "E-ENVIRONMENT", .message = failure})};
    }
    return std::make_unique<FakeExecutable>(workspace, memory, group_rows, calls);
  }
  std::span<const engine::Erratum> errata() const override { return known_errata; }

  std::function<void(const engine::Request&, engine::Claim&)> answer;  ///< Default: "all of it".
  std::string failure;  ///< What build says instead of building.
  int64_t workspace = 0;
  MemoryDevice::Type memory = MemoryDevice::Type::cpu;
  int64_t group_rows = 1;  ///< Groups must have a multiple of this many.
  std::vector<engine::Erratum> known_errata;
  mutable int builds = 0;
  std::shared_ptr<FakeCalls> calls = std::make_shared<FakeCalls>();

 private:
  std::string name_;
  double seconds_;
};

}  // namespace cohort::test
