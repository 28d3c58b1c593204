#include "validate/unused.h"

#include <algorithm>
#include <string_view>

#include "base/nearest.h"

namespace cohort::validate {

namespace {

// Names of more items are not compared: a hostile graph has a million.
constexpr size_t kMostCompared = 1000;

bool may_mean(const ir::Missed& m, const UnusedItem& u) {
  return (m.roles & u.roles) != 0 && (m.may_be_input || !u.is_input);
}

}  // namespace

void drop_missed(const ir::Graph& graph, const std::vector<ir::Missed>& missed, Unused& items) {
  const bool compares = items.size() <= kMostCompared;
  std::vector<std::string_view> seen;
  for (const ir::Missed& m : missed) {
    // The same wrong name in several places meant one thing.
    if (!m.name.empty() && std::find(seen.begin(), seen.end(), m.name) != seen.end()) continue;
    seen.emplace_back(m.name);
    auto best = std::find_if(items.begin(), items.end(), [&](const UnusedItem& u) {
      return !u.is_input && m.node >= 0 && u.index == static_cast<size_t>(m.node);
    });
    if (best != items.end()) {
      items.erase(best);
      continue;
    }
    size_t least = 0;
    for (auto it = items.begin(); it != items.end(); ++it) {
      if (!may_mean(m, *it)) continue;
      const bool is_named = it->is_input && !m.name.empty();
      size_t d = it->is_input == m.looks_like_node ? 2 * ir::kMaxName : 0;
      if (compares && is_named) d += base::distance(m.name, graph.inputs[it->index].name);
      if (best != items.end() && d >= least) continue;
      best = it;
      least = d;
    }
    if (best != items.end()) items.erase(best);
  }
}

}  // namespace cohort::validate
