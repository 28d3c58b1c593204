// The bounds of compare() hold: inputs are moved at random within a known slack, and what the
// engine makes of them must lie in the intervals of that slack, for every op of the list.
#include <algorithm>
#include <set>

#include <cohort/compare.h>

#include "engine/conformance.h"
#include "ir/graph.h"
#include "ir/op_record.h"

namespace cohort::detail {

// Stands in src/compare.cpp.
[[nodiscard]] Result<Comparison> compare_within(const Graph& graph, Sizes sizes,
                                                NamedTensors inputs, NamedTensors got,
                                                double slack) noexcept;

}  // namespace cohort::detail

namespace cohort::test::conformance {
namespace {

using Kind = ir::Reference::Kind;

constexpr double kSlack = 0x1p-6;

// Ops that compare() declines (E-UNSUPPORTED). One that gets a bound leaves this list.
constexpr const char* kWithoutBound[] = {""};

bool has_bound(const ir::OpRecord& op) {
  const ir::Reference& r = op.reference;
  return r.kind == Kind::reduce ? r.reduce_bound != nullptr : r.monotone || r.bound != nullptr;
}

bool needs_bound(const ir::OpRecord& op) {
  const bool listed =
      std::find_if(std::begin(kWithoutBound), std::end(kWithoutBound), [&](const char* name) {
        return op.name == std::string_view(name);
      }) != std::end(kWithoutBound);
  return !listed && (op.reference.kind == Kind::map || op.reference.kind == Kind::reduce);
}

bool is_bounded(const ir::Graph& g) {
  for (const ir::Node& n : g.nodes) {
    const bool by_rule = n.op->reference.kind == Kind::map || n.op->reference.kind == Kind::reduce;
    if (by_rule && !has_bound(*n.op)) return false;
  }
  return true;
}

TEST(Bounds, EveryOpHasOne) {
  for (const ir::OpRecord* op : ir::all_ops()) {
    if (!needs_bound(*op)) continue;
    const ir::Reference& r = op->reference;
    const bool has =
        r.kind == Kind::reduce ? r.reduce_bound != nullptr : r.monotone || r.bound != nullptr;
    EXPECT_TRUE(has) << op->name << ": neither monotone nor with a bound (ir/reference.h)";
  }
}

// f32 inputs that only Load reads.
std::vector<std::string> loaded_inputs(const ir::Graph& g) {
  std::set<int32_t> loaded;
  std::set<int32_t> others;
  for (const ir::Node& n : g.nodes) {
    for (size_t f = 0; f < n.op->fields.size(); ++f) {
      const ir::FieldValue& v = g.fields[static_cast<size_t>(n.first_field) + f];
      if (v.kind != ir::FieldValue::Kind::value) continue;
      (n.op->reference.kind == Kind::load ? loaded : others).insert(v.value);
    }
  }
  std::vector<std::string> names;
  for (const ir::Input& i : g.inputs) {
    const ir::Value& v = g.values[static_cast<size_t>(i.value)];
    const bool is_f32 = v.role == Role::tensor && v.dtype == DType::f32;
    if (is_f32 && loaded.count(i.value) != 0 && others.count(i.value) == 0) names.push_back(i.name);
  }
  return names;
}

// Plans and runs; false when the engine declines.
bool run(const Graph& graph, const Plan& plan, ListView<Size> sizes, Tensors& tensors) {
  const Result<Execution> e = plan.bind(graph, sizes, tensors.all());
  EXPECT_TRUE(e) << e.findings().text();
  if (!e) return false;
  Workspace workspace(e->workspace_bytes());
  const Status status = e->run(workspace.data());
  EXPECT_TRUE(status) << status.findings().text();
  return static_cast<bool>(status);
}

struct Tried {
  std::set<std::string> ops;  ///< Seen behind an input that moved, with results that moved.
  int moved = 0;
  int outside_without_slack = 0;
};

void move_inputs(Tensors& tensors, const std::vector<std::string>& names, std::mt19937& random) {
  for (const std::string& name : names) {
    auto* x = tensors.data<float>(name);
    for (int64_t i = 0; i < tensors.bytes(name) / 4; ++i) {
      const double by = (static_cast<double>(random() % 2001) / 1000 - 1) * kSlack * 0.999;
      x[i] = static_cast<float>(static_cast<double>(x[i]) * (1 + by));
    }
  }
}

void try_case(const Entry& entry, Situation situation, std::mt19937& random, Tried& tried) {
  Case c(entry.op, entry.name, situation);
  entry.describe(c);
  if (c.skipped()) return;
  const Graph graph = c.finish();
  const ir::Graph& g = *detail::Access::graph(graph);
  const auto names = loaded_inputs(g);
  if (names.empty() || !is_bounded(g)) return;
  const Plan plan = *make_plan(graph, Device::cpu(), {.engine = "reference"});
  std::vector<Size> sizes;
  if (c.uses_tokens()) sizes.push_back({"T", c.tokens()->rows});
  Tensors first(graph, plan, sizes);
  Tensors moved(graph, plan, sizes);
  c.fill(first);
  c.fill(moved);
  move_inputs(moved, names, random);
  if (!run(graph, plan, sizes, first) || !run(graph, plan, sizes, moved)) return;
  std::vector<NamedTensor> inputs;
  std::vector<NamedTensor> outputs;
  bool differs = false;
  for (int32_t i = 0; i < graph.tensor_count(); ++i) {
    const bool is_output = first.infos()[static_cast<size_t>(i)].is_output;
    const std::string name(graph.tensor_name(i));
    (is_output ? outputs : inputs)
        .push_back((is_output ? moved : first).all()[static_cast<size_t>(i)]);
    differs = differs || (is_output && first.raw(name) != moved.raw(name));
  }
  const Result<Comparison> within = detail::compare_within(graph, sizes, inputs, outputs, kSlack);
  ASSERT_TRUE(within) << within.findings().text();
  EXPECT_TRUE(within->good()) << within->text();
  if (!differs) return;
  ++tried.moved;
  for (const ir::Node& n : g.nodes) tried.ops.insert(n.op->name);
  const Result<Comparison> exact = compare(graph, sizes, inputs, outputs);
  if (exact && !exact->good()) ++tried.outside_without_slack;
}

TEST(Bounds, HoldWhatMovedInputsMake) {
  std::mt19937 random(11);
  Tried tried;
  for (const Entry& e : entries()) {
    for (const Situation s : {Situation::usual, Situation::one_group, Situation::nan}) {
      for (int round = 0; round < 3; ++round) {
        SCOPED_TRACE(e.op + "." + e.name + ", " + std::string(name(s)));
        try_case(e, s, random, tried);
      }
    }
  }
  std::printf("%d runs with moved results, %d of them outside of the bound without slack\n",
              tried.moved, tried.outside_without_slack);
  EXPECT_GT(tried.outside_without_slack, tried.moved * 8 / 10);
  for (const ir::OpRecord* op : ir::all_ops()) {
    if (!needs_bound(*op)) continue;
    EXPECT_EQ(1u, tried.ops.count(op->name)) << op->name << ": no case moves an input of it";
  }
}

}  // namespace
}  // namespace cohort::test::conformance
