#include <array>
#include <cstdio>

#include "cli/commands.h"

namespace cohort::cli {

int check(const Common& common) {
  const Graph graph = read_graph(common);
  std::array<char, 40> key;
  const Key k = graph.key();
  std::snprintf(key.data(), key.size(), "%016llx%016llx", static_cast<unsigned long long>(k.high),
                static_cast<unsigned long long>(k.low));
  if (common.json) {
    const Json j{{"ok", true},
                 {"name", graph.name()},
                 {"nodes", graph.node_count()},
                 {"tensors", graph.tensor_count()},
                 {"key", key.data()}};
    print(j.dump(1) + "\n");
  } else {
    print("ok: '" + std::string(graph.name()) + "', " + std::to_string(graph.node_count()) +
          " ops, " + std::to_string(graph.tensor_count()) + " tensors, key " + key.data() + "\n");
  }
  return kOk;
}

}  // namespace cohort::cli
