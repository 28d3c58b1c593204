#include <cohort/numerics.h>
#include <cohort/plan.h>

#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "cli/commands.h"

namespace cohort::cli {

namespace {

std::vector<Device> devices() {
  std::vector<Device> all;
  std::istringstream names(device_names());
  for (std::string name; std::getline(names >> std::ws, name, ',');) {
    all.push_back(value_of(Device::find(name)));
  }
  return all;
}

}  // namespace

// A name that no model has is refused with those that there are.
std::string device_names() {
  const Result<Device> none = Device::find("");
  return std::string(none.findings()[0].wanted);
}

int env(const Common& common) {
  const Result<Device> current = Device::current();
  const std::string gpu =
      current ? std::string(current->description()) : std::string(current.findings()[0].message);
  const Findings wrong = check_environment().findings();
  const std::string variables = wrong.size() > 0 ? std::string(wrong[0].message) : "";
  if (common.json) {
    Json models = Json::array();
    for (const Device& d : devices()) {
      models.push_back({{"name", d.name()}, {"description", d.description()}});
    }
    const Json j{
        {"version", version()},
        {"processors", std::thread::hardware_concurrency()},
        {"isa_level", "x86-64-" + std::string(isa_level())},
        {"variables", variables.empty() ? Json() : Json(variables)},
        {"cache_folder", nullptr},
        {"gpu", gpu},
        {"devices", models},
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
  for (const Device& d : devices()) {
    std::string padded(d.name());
    padded.resize(7, ' ');
    s += "  " + padded + std::string(d.description()) + "\n";
  }
  print(s);
  return kOk;
}

}  // namespace cohort::cli
