// Planning for devices that are not here: a device is a row of a table, so a plan, its tensors and
// the reasons of every engine can be had on any machine.
#include <cohort/cohort.h>

#include <cstdio>
#include <string>

using namespace cohort;

namespace {

Result<Graph> describe() {
  Builder g("fc1");
  Dim T = g.dynamic("T", 65536);
  auto x = g.scaled_input("x", {T, 4096}, Format::mxfp8_e4m3);
  auto w = g.scaled_weights("w", {8, 2048, 4096}, Format::mxfp8_e4m3);
  auto ends = g.groups("ends", 8, GroupForm::ends);
  auto y = g.add(GroupedGemm{.a = x, .b = w, .groups = ends})
               .then(ReluSquared{})
               .then(Quantize{.to = Format::mxfp8_e4m3, .axes = Axes::both});
  g.output("y", y.row);
  g.output("y_t", y.col);
  return std::move(g).finish();
}

}  // namespace

int main() {
  const Result<Graph> graph = describe();
  for (const Device& device : {Device::sm90(), Device::sm100(), Device::sm107()}) {
    const Result<Plan> plan = make_plan(graph, device);
    if (!plan) {
      std::printf("%s\n", std::string(plan.findings().text()).c_str());
      return 1;
    }
    std::printf("%s\n", std::string(plan->explain()).c_str());
  }

  // What the plan wants of its caller, at the bound of T and at an actual T.
  const Result<Plan> plan = make_plan(graph, Device::sm100());
  std::printf("%-10s %16s %16s\n", "tensor", "bytes, T=65536", "bytes, T=4096");
  for (int32_t i = 0; i < plan->tensor_count(); ++i) {
    const Result<TensorInfo> actual = plan->tensor(i, *graph, {{"T", 4096}});
    if (!actual) return 1;
    std::printf("%-10s %16lld %16lld\n", std::string(graph->tensor_name(i)).c_str(),
                static_cast<long long>(plan->tensor(i).bytes),
                static_cast<long long>(actual->bytes));
  }

  // An engine that is not in this build is refused with the reason of each that is.
  const Result<Plan> none = make_plan(graph, Device::sm100(), {.engine = "cudnn"});
  if (none) return 1;
  std::printf("\nwith engine cudnn:\n%s\n", std::string(none.findings().text()).c_str());
  // Device::current() never falls back to the CPU.
  const Result<Device> current = Device::current();
  std::printf("\ncurrent device: %s\n", current ? std::string(current->name()).c_str()
                                                : std::string(current.findings().text()).c_str());
  return 0;
}
