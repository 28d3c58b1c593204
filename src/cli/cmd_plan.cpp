#include "cli/commands.h"

namespace cohort::cli {

int plan(const Common& common, const PlanArguments& a) {
  const Graph graph = read_graph(common);
  const Device device = value_of(Device::find(a.arch));
  PlanOptions options;
  options.engine = a.engine;
  const Plan p = value_of(make_plan(graph, device, options));
  if (common.json) {
    Json refusals = Json::array();
    for (int32_t i = 0; i < p.refusal_count(); ++i) {
      const Refusal r = p.refusal(i);
      refusals.push_back({{"engine", r.engine},
                          {"constraint", r.constraint},
                          {"wanted", r.wanted},
                          {"got", r.got}});
    }
    const Json j{{"ok", true},           {"device", device.name()},
                 {"engine", p.engine()}, {"workspace_bytes", p.workspace_bytes()},
                 {"refusals", refusals}, {"explain", p.explain()}};
    print(j.dump(1) + "\n");
    return kOk;
  }
  if (a.explain) {
    print(p.explain());
    return kOk;
  }
  print("engine " + std::string(p.engine()) + " on " + std::string(device.name()) + ", workspace " +
        std::to_string(p.workspace_bytes()) + " bytes\n");
  return kOk;
}

}  // namespace cohort::cli
