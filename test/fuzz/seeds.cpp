#include "fuzz/seeds.h"

#include <set>

#include "engine/conformance.h"

namespace cohort::test {

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
    return list;
  }();
  return all;
}

}  // namespace cohort::test
