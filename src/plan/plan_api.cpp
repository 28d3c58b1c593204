// The public face of devices and plans.
#include <string>
#include <utility>

#include <cohort/plan.h>

#include "arch/arch.h"
#include "base/diagnostics.h"
#include "engine/engine.h"
#include "plan/access.h"
#include "plan/bind.h"
#include "plan/plan_data.h"

namespace cohort {

using detail::Access;
using detail::PlanAccess;

Device Device::cpu() noexcept { return Device(0); }
Device Device::sm90() noexcept { return Device(1); }
Device Device::sm100() noexcept { return Device(2); }
Device Device::sm103() noexcept { return Device(3); }
Device Device::sm107() noexcept { return Device(4); }

int32_t Device::count() noexcept { return static_cast<int32_t>(arch::models().size()); }
Device Device::at(int32_t i) noexcept { return Device(i); }

Result<Device> Device::find(std::string_view name) noexcept {
  return base::guarded("looking a device up", [&]() -> Result<Device> {
    const int32_t model = arch::find_model(name);
    if (model >= 0) return Device(model);
    std::string wanted;
    for (const arch::DeviceModel& m : arch::models()) {
      wanted += (wanted.empty() ? "" : ", ") + std::string(m.name);
    }
    return base::make_findings(
        ErrorKind::unsupported,
        {.code = "E-DEVICE",
         .op = std::string(name),
         .field = "device",
         .wanted = wanted,
         .got = std::string(name),
         .message = "no device model '" + std::string(name) + "'; there are " + wanted});
  });
}

Result<Device> Device::current() noexcept {
  return base::guarded("looking for a GPU", [&]() -> Result<Device> {
    return base::make_findings(
        ErrorKind::environment,
        {.code = "E-ENVIRONMENT",
         .op = "Device::current",
         .wanted = "an engine that runs on a GPU",
         .got = "none in this build",
         .message = "this build has no engine that runs on a GPU, so none was looked for",
         .hint = "plan for a model (Device::sm100()) or for Device::cpu()"});
  });
}

std::string_view Device::name() const noexcept {
  return arch::models()[static_cast<size_t>(model_)].name;
}
std::string_view Device::description() const noexcept {
  return arch::models()[static_cast<size_t>(model_)].description;
}

int32_t engine_count() noexcept { return static_cast<int32_t>(engine::all_engines().size()); }
EngineInfo engine_info(int32_t i) noexcept {
  if (i < 0 || i >= engine_count()) return {};
  const engine::Engine& e = *engine::all_engines()[static_cast<size_t>(i)];
  return {e.name(), e.runs()};
}

Plan::Plan(const plan::PlanData* data) noexcept : data_(data) {}
Plan::Plan(const Plan& other) noexcept : data_(other.data_) { data_->retain(); }
Plan& Plan::operator=(const Plan& other) noexcept {
  Plan copy(other);
  std::swap(data_, copy.data_);
  return *this;
}
Plan::~Plan() { data_->release(); }

std::string_view Plan::engine() const noexcept { return data_->engine; }
Device Plan::device() const noexcept { return PlanAccess::device(data_->device); }
std::string_view Plan::explain() const noexcept { return data_->explanation; }
int32_t Plan::refusal_count() const noexcept {
  return static_cast<int32_t>(data_->refusals.size());
}
Refusal Plan::refusal(int32_t i) const noexcept {
  const plan::RefusalText& r = data_->refusals[static_cast<size_t>(i)];
  return {r.engine, r.reason.constraint, r.reason.wanted, r.reason.got};
}
int64_t Plan::required_group_alignment() const noexcept { return data_->group_alignment; }
int32_t Plan::tensor_count() const noexcept { return static_cast<int32_t>(data_->tensors.size()); }
TensorInfo Plan::tensor(int32_t i) const noexcept { return data_->tensors[static_cast<size_t>(i)]; }
Result<TensorInfo> Plan::tensor(int32_t i, const Graph& graph, Sizes sizes) const noexcept {
  return base::guarded("sizing a tensor", [&]() -> Result<TensorInfo> {
    const ir::Graph& g = *Access::graph(graph);
    plan::want_planned_graph(*data_, g);
    if (i < 0 || static_cast<size_t>(i) >= g.tensors.size()) {
      const std::string wanted = "0 .. " + std::to_string(g.tensors.size() - 1);
      return base::make_findings(ErrorKind::mismatch,
                                 {.code = "E-TENSOR",
                                  .op = "tensor",
                                  .field = "index",
                                  .wanted = wanted,
                                  .got = std::to_string(i),
                                  .message = "wanted " + wanted + ", got " + std::to_string(i)});
    }
    return ir::tensor_info(*data_->graph, i, plan::symbol_sizes(g, sizes));
  });
}
int64_t Plan::workspace_bytes() const noexcept { return data_->workspace_bytes; }
Result<int64_t> Plan::workspace_bytes(const Graph& graph, Sizes sizes) const noexcept {
  return base::guarded("sizing a workspace", [&]() -> Result<int64_t> {
    plan::want_planned_graph(*data_, *Access::graph(graph));
    return data_->executable->workspace_bytes(plan::symbol_sizes(*Access::graph(graph), sizes));
  });
}

}  // namespace cohort
