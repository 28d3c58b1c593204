#include "fuzz/seeds.h"

#include <set>

#include "engine/conformance.h"

namespace cohort::test {

namespace {

// Scattering is of outputs, which the list of ops does not have.
Seed scattered() {
  Builder g("scattered");
  const Dim t = g.dynamic("T", 64);
  const auto groups = g.groups("ends", 2, GroupForm::ends);
  const auto y = g.add(Load{.x = g.input("x", {t, 32}, DType::f32), .groups = groups})
                     .then(RowGate{.by = g.row_input("p", t)});
  g.output("y", y,
           {.tail = Tail::zero,
            .scatter = g.index("token", t),
            .slot = g.index("slot", t),
            .top_k = 2,
            .rows = Dim(128)});
  g.output("z", y, {.scatter = g.index("row", t), .rows = t});
  const Result<Graph> graph = std::move(g).finish();
  return {"row_gate", "row_gate.scattered", std::string(graph->json())};
}

// Rows of two routings side by side: a damaged name mixes them.
Seed two_routings() {
  Builder g("two_routings");
  const Dim t = g.dynamic("T", 64);
  const auto a = g.groups("a", 2, GroupForm::ends);
  const auto b = g.groups("b", 2, GroupForm::ends);
  const auto x = g.input("x", {t, 32}, DType::f32);
  const auto c = g.add(Load{.x = g.input("c", {t, 32}, DType::f32), .groups = a});
  const auto d = g.add(Load{.x = x, .groups = a})
                     .then(DReluSquared{.c = c, .mode = DReluSquaredMode::recompute});
  g.output("d", d.then(Add{.c = c}).then(Binary{.mode = BinaryMode::mul, .by = c}));
  g.output("dprob", d.dprob);
  const auto z = g.add(Load{.x = x, .groups = b});
  g.output("z", z.then(Binary{.mode = BinaryMode::add, .by = g.add(Load{.x = x, .groups = b})}));
  const Result<Graph> graph = std::move(g).finish();
  return {"d_relu_squared", "d_relu_squared.two_routings", std::string(graph->json())};
}

}  // namespace

const std::vector<Seed>& seeds() {
  static const std::vector<Seed> all = [] {
    std::vector<Seed> list;
    std::set<std::string> seen;
    for (const conformance::Entry& e : conformance::entries()) {
      conformance::Case c(e.op, e.name, conformance::Situation::usual);
      e.describe(c);
      const Graph graph = c.finish();
      std::string json(graph.json());
      if (seen.insert(json).second) list.push_back({e.op, e.op + "." + e.name, std::move(json)});
    }
    list.push_back(scattered());
    list.push_back(two_routings());
    return list;
  }();
  return all;
}

}  // namespace cohort::test
