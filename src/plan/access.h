// The only maker and opener of devices, plans and executions.
#pragma once

#include <cohort/execute.h>
#include <cohort/plan.h>

#include "plan/plan_data.h"

namespace cohort::detail {

struct PlanAccess {
  static Device device(int32_t model) { return Device(model); }
  static int32_t model(const Device& device) { return device.model_; }
  static Plan plan(const plan::PlanData* data) { return Plan(data); }
  static const plan::PlanData& data(const Plan& plan) { return *plan.data_; }
  static Execution execution(plan::ExecutionData* data) { return Execution(data); }
};

}  // namespace cohort::detail
