#include <string>

#include <cohort/cohort.h>

std::string plan_text(const cohort::Graph& graph) {
  const auto plan = cohort::make_plan(graph, cohort::Device::cpu());
  if (!plan) return {};
  return std::string(cohort::version()) + ": " + std::string(plan->explain());
}
