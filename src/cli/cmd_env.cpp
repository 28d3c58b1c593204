#include <cohort/numerics.h>
#include <cohort/plan.h>

#include <thread>

#include "cli/commands.h"

namespace cohort::cli {

int env(const Common& common) {
  const char* const kDevices[] = {"cpu", "sm90", "sm100", "sm103", "sm107"};
  const Result<Device> current = Device::current();
  const std::string gpu =
      current ? std::string(current->description()) : std::string(current.findings()[0].message);
  const Findings wrong = check_environment().findings();
  const std::string variables = wrong.size() > 0 ? std::string(wrong[0].message) : "";
  if (common.json) {
    Json devices = Json::array();
    for (const char* name : kDevices) {
      devices.push_back({{"name", name}, {"description", Device::find(name)->description()}});
    }
    const Json j{
        {"version", version()},
        {"processors", std::thread::hardware_concurrency()},
        {"isa_level", "x86-64-" + std::string(isa_level())},
        {"variables", variables.empty() ? Json() : Json(variables)},
        {"cache_folder", nullptr},
        {"gpu", gpu},
        {"devices", devices},
        {"engines",
         Json::array({{{"name", "reference"}, {"runs", "on the CPU, for every device model"}}})}};
    print(j.dump(1) + "\n");
    return kOk;
  }
  std::string s = "cohort " + std::string(version()) + "\n";
  s += "processors: " + std::to_string(std::thread::hardware_concurrency()) + ", code for x86-64-" +
       std::string(isa_level()) + "\n";
  s += "variables: " +
       (variables.empty() ? "nothing wrong with COHORT_ISA and COHORT_THREADS"
                          : variables + "; until then no plan is made") +
       "\n";
  s += "GPU: " + gpu + "\n";
  s += "cache folder: none, no engine keeps files\n";
  s += "engines:\n  reference  runs on the CPU, for every device model\n";
  s += "device models to plan for:\n";
  for (const char* name : kDevices) {
    std::string padded(name);
    padded.resize(7, ' ');
    s += "  " + padded + std::string(Device::find(name)->description()) + "\n";
  }
  print(s);
  return kOk;
}

}  // namespace cohort::cli
