// An engine for tests: says and does what it is told.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/diagnostics.h"
#include "engine/engine.h"

namespace cohort::test {

class FakeExecutable : public engine::Executable {
 public:
  FakeExecutable(int64_t workspace, MemoryDevice::Type memory, int64_t rows)
      : workspace_(workspace), memory_(memory), rows_(rows) {}
  int64_t workspace_bytes(ir::SymbolSizes) const override { return workspace_; }
  MemoryDevice::Type memory() const override { return memory_; }
  int64_t group_alignment() const override { return rows_; }
  void launch(const engine::Launch&) const override {}
  std::string explain() const override { return "fake kernel\n"; }

 private:
  int64_t workspace_;
  MemoryDevice::Type memory_;
  int64_t rows_;
};

class FakeEngine : public engine::Engine {
 public:
  explicit FakeEngine(std::string name, double seconds = 1)
      : name_(std::move(name)), seconds_(seconds) {}

  std::string_view name() const override { return name_; }
  void supports(const engine::Request& request, engine::Claim& claim) const override {
    if (answer) return answer(request, claim);
    claim.consume_everything(request);
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
    return std::make_unique<FakeExecutable>(workspace, memory, group_rows);
  }
  std::span<const engine::Erratum> errata() const override { return known_errata; }

  std::function<void(const engine::Request&, engine::Claim&)> answer;  ///< Default: "all of it".
  std::string failure;  ///< What build says instead of building.
  int64_t workspace = 0;
  MemoryDevice::Type memory = MemoryDevice::Type::cpu;
  int64_t group_rows = 1;  ///< Groups must have a multiple of this many.
  std::vector<engine::Erratum> known_errata;
  mutable int builds = 0;

 private:
  std::string name_;
  double seconds_;
};

}  // namespace cohort::test
