#include "engine/reference/reference_engine.h"

#include <algorithm>
#include <array>
#include <limits>

#include "base/diagnostics.h"
#include "base/parallel.h"
#include "engine/reference/memory.h"
#include "engine/reference/region_run.h"
#include "engine/reference/schedule.h"
#include "ir/op_record.h"

namespace cohort::engine {

namespace reference {

namespace {

// Products are f64 sums; a core with AVX2 makes about this many multiplications and additions.
constexpr double kFlopsPerThread = 2e10;
// Below this much work a second thread costs more than it brings.
constexpr double kFlopsWorthThreads = 2e7;

// What of inputs and outputs the engine honours. A list, not "all that there is": who adds a key
// looks here at what has to be done for it.
constexpr std::array kInputKeys{
    ir::InputKey::shape,   ir::InputKey::dtype,    ir::InputKey::format,
    ir::InputKey::layout,  ir::InputKey::axis,     ir::InputKey::storage,
    ir::InputKey::major,   ir::InputKey::form,     ir::InputKey::row_alignment,
    ir::InputKey::strides, ir::InputKey::alignment};
constexpr std::array kOutputKeys{ir::OutputKey::value,     ir::OutputKey::dtype,
                                 ir::OutputKey::tail,      ir::OutputKey::strides,
                                 ir::OutputKey::alignment, ir::OutputKey::discrete,
                                 ir::OutputKey::scatter,   ir::OutputKey::slot,
                                 ir::OutputKey::top_k,     ir::OutputKey::rows};

constexpr ir::InputTrait kTraits[] = {ir::InputTrait::whole, ir::InputTrait::rounds};

void consume_all(const ir::Graph& g, Claim& claim) {
  for (size_t i = 0; i < g.inputs.size(); ++i) {
    for (ir::InputKey k : kInputKeys) claim.consume_input(static_cast<int32_t>(i), k);
    for (ir::InputTrait t : kTraits) claim.consume_input(static_cast<int32_t>(i), t);
  }
  for (size_t o = 0; o < g.outputs.size(); ++o) {
    for (ir::OutputKey k : kOutputKeys) claim.consume_output(static_cast<int32_t>(o), k);
  }
  for (const ir::Node& n : g.nodes) claim.consume_node(n);
}

// Multiplications and additions of all products, and one a panel element of the other ops.
double work(const ir::Graph& g, ir::SymbolSizes sizes) {
  double total = 0;
  for (const ir::Node& n : g.nodes) {
    const ir::Value& y = g.values[static_cast<size_t>(n.first_result)];
    double elements = 1;
    for (int d = 0; d < y.shape.rank; ++d) {
      elements *= static_cast<double>(ir::extent_at(y.shape[d], sizes));
    }
    double each = 2;
    if (n.op->reference.kind == ir::Reference::Kind::product) {
      const ir::Value& a = g.values[static_cast<size_t>(g.operand(n, "a"))];
      each = 2 * static_cast<double>(ir::extent_at(a.shape[1], sizes));
    }
    if (n.op->reference.kind == ir::Reference::Kind::wgrad) {  // rows shared among the groups
      const ir::Value& b = g.values[static_cast<size_t>(g.operand(n, "b"))];
      each = 2 * static_cast<double>(ir::extent_at(b.shape[0], sizes)) /
             static_cast<double>(std::max<int64_t>(y.shape[0].bound, 1));
    }
    total += elements * each;
  }
  return total;
}

class ReferenceExecutable : public Executable {
 public:
  explicit ReferenceExecutable(const Request& request)
      : graph_(&request.graph), schedule_(request.graph), sm_limit_(request.options.sm_limit) {}

  int64_t workspace_bytes(ir::SymbolSizes sizes) const override {
    int64_t total = 0;  // each is below 2^63, so the sum may not wrap before it is looked at
    for (size_t v = 0; v < graph_->values.size(); ++v) {
      total += schedule_.kept_bytes(*graph_, static_cast<int32_t>(v), sizes);
      if (total > std::numeric_limits<int64_t>::max() / 4) {
        throw base::FindingsError{
            base::make_findings(ErrorKind::limit, {.code = "E-OVERFLOW",
                                                   .op = "workspace",
                                                   .wanted = "a size below 2^61 bytes",
                                                   .got = "more"})};
      }
    }
    return total;
  }

  int64_t group_alignment() const override {
    int64_t rows = 1;
    for (const ir::Node& n : graph_->nodes) {
      const auto unit = n.op->reference.row_unit;
      if (unit != nullptr) rows = std::max(rows, unit(*graph_, n));
    }
    // Multiples of this make every group that follows another begin where it must: powers of two.
    for (const GroupNeeds& need : schedule_.needs) {
      rows = std::max(rows, std::max<int64_t>(need.begin, need.pairs ? 2 : 1));
    }
    return rows;
  }

  void launch(const Launch& launch) const override {
    const Memory memory(*graph_, schedule_, launch);
    const bool small = work(*graph_, launch.sizes) < kFlopsWorthThreads;
    const int threads = small ? 1 : base::thread_count(sm_limit_);
    int64_t total = 0;
    if (launch.options.progress != nullptr) {
      for (const Region& r : schedule_.regions) total += panel_count(memory, r);
    }
    int64_t before = 0;
    for (const Region& r : schedule_.regions) {
      const auto progress = [&](int64_t done) {
        return launch.options.progress == nullptr ||
               launch.options.progress(before + done, total, launch.options.user);
      };
      if (!run_region(memory, r, schedule_, threads, progress)) {
        throw base::FindingsError{base::make_findings(
            ErrorKind::environment,
            {.code = "E-STOPPED", .message = "the run was stopped by its progress callback"})};
      }
      if (launch.options.progress != nullptr) before += panel_count(memory, r);
    }
  }

  std::string explain() const override { return schedule_.explain(*graph_); }

 private:
  ir::GraphRef graph_;
  Schedule schedule_;
  int32_t sm_limit_;
};

class ReferenceEngine : public Engine {
 public:
  std::string_view name() const override { return "reference"; }
  std::string_view runs() const override { return "on the CPU, for every device model"; }

  void supports(const Request& request, Claim& claim) const override {
    for (const ir::Node& n : request.graph.nodes) {
      if (n.op->reference.kind == ir::Reference::Kind::none) {
        claim.refuse("op " + std::string(n.op->name), "an op with a reference", "none yet");
      }
    }
    consume_all(request.graph, claim);
    // Sums and reductions have one order whatever the threads; rows of a tile are padded so that a
    // row's bits do not depend on its neighbours.
    for (const char* option : {"deterministic", "batch_invariant", "sm_limit", "workspace_limit",
                               "allow_approx_reciprocal"}) {
      claim.consume_option(option);
    }
  }

  Estimate estimate(const Request& request) const override {
    std::vector<int64_t> bounds;
    for (const ir::Symbol& s : request.graph.symbols) bounds.push_back(s.bound);
    const int threads = base::thread_count(request.options.sm_limit);
    return {work(request.graph, bounds) / (kFlopsPerThread * threads),
            "f64 on " + std::to_string(threads) + " CPU threads, host memory"};
  }

  std::unique_ptr<Executable> build(const Request& request) const override {
    return std::make_unique<ReferenceExecutable>(request);
  }
};

}  // namespace

}  // namespace reference

const Engine& reference_engine() {
  static const reference::ReferenceEngine engine;
  return engine;
}

}  // namespace cohort::engine
